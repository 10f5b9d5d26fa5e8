"""A `System` of equations -> `func.func` of ted ops.

Before: `C[i, j] += A[i, r] * B[r, j]`   After: `%1 = "ted.compute"(%A, %B, %0) ({...}) {...}`

A tensor starts from `tensor.empty`, from `linalg.fill`, or from the tensor that its first equation
copies; a constant that is no input is `arith.constant`; each equation is one `ted.compute` whose
init is what was there before. A domain that is a union of convex sets becomes one op per disjoint
part. A recurrence becomes one `ted.scan`, whose body holds the equations of its tensors in the
order of a step, and a `ted.scan` for each recurrence inside of a step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ted import dialects
from ted.dialects.ted import MAX_RUNS, ComputeOp, IndexOp, LoadOp, ScanOp, SizeOp
from ted.domain import conversion, parameters
from ted.domain.affine import Constraint
from ted.domain.sizes import Extent, numbers, symbolic
from ted.errors import VerifyError
from ted.ir.accesses import (
    Accesses,
    AffineRead,
    affine_subscripts,
    checked_dims,
    emission_order,
    plan_accesses,
)
from ted.ir.affine_attributes import NEVER, aff_to_mlir, constraints_to_mlir
from ted.ir.dtypes import INT64, DType
from ted.ir.equations import Equation, System, Tensor, identity, is_recurrence
from ted.ir.expressions import Expr, Number
from ted.ir.joined_loops import join_loops
from ted.ir.recurrences import ONE_LOOP, Nest, step_count, step_order
from ted.ir.saved_values import saved_arguments
from ted.ir.scalar import TRUE, dim
from ted.ir.specialising import sizes_of
from ted.ir.spelling import as_elements, constant, dense, element_type, mlir_type, spell
from ted.ir.symbols import ATTRIBUTE as SIZES
from ted.ir.symbols import Symbols
from ted.ir.tensor_order import tensor_order
from ted.mlir import func, ir
from ted.mlir.filling import build_fill
from ted.mlir.locations import mlir_location, with_dim_names
from ted.records import dataclass

_ARG_VALUE = {"argmax": "max", "argmin": "min"}
_SCATTER = ("add", "max", "min")


def to_module(system: System, context: ir.Context | None = None) -> ir.Module:
    """A module with one function, in the given, the current or a new context.

    Raises: VerifyError if an equation cannot be said in ops.
    """
    made_for = context or _current_context() or dialects.make_context(threading=False)
    dialects.load(made_for)
    with made_for, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            build_function(system)
        return module


def system_to_module(system: System) -> ir.Module:
    """A module with one function; the same as `to_module`."""
    return to_module(system)


def _current_context() -> ir.Context | None:
    try:
        return ir.Context.current
    except ValueError:
        return None


def build_function(system: System, groups: Sequence[list[Tensor]] | None = None) -> func.FuncOp:
    """Insert the function of a system here, in the order of `groups` if they are given.

    Raises: VerifyError for an input that is not listed, or a combiner that cannot write at computed
    indices.
    """
    symbols = Symbols(sizes_of(system))
    function = func.FuncOp(system.name, function_type(system))
    if symbols.sizes:
        function.attributes[SIZES] = symbols.attribute()
    locations = [mlir_location(t.location, t.name) for t in system.inputs]
    block = function.add_entry_block(locations)
    values = Values(dict(zip(system.inputs, block.arguments, strict=True)), symbols)
    groups = join_loops(groups or tensor_order(system))
    arguments = saved_arguments(group[0] for group in groups if not is_recurrence(group))
    extrema = {argument: extremum for extremum, argument in arguments.items()}
    kept = {t for group in system.together for t in group}
    with ir.InsertionPoint(block):
        for group in groups:
            node = group[0]
            if is_recurrence(group):
                scan = _define_recurrence(group, values)
                if node in kept:
                    scan.attributes[ONE_LOOP] = ir.UnitAttr.get()
            elif node in arguments or node in extrema:
                extremum = extrema.get(node, node)
                if extremum not in values:
                    _define_both(extremum, arguments[extremum], values)
            elif node not in values:
                values[node] = _define(node, values)
        func.ReturnOp([values[t] for t in system.outputs])
    return function


def function_type(system: System) -> ir.FunctionType:
    """The type of the function of a system."""
    symbols = Symbols(sizes_of(system))
    inputs, outputs = (
        [symbols.tensor_type(t.shape, element_type(t.dtype)) for t in tensors]
        for tensors in (system.inputs, system.outputs)
    )
    return ir.FunctionType.get(inputs, outputs)


class Values(dict[Tensor, ir.Value]):
    """The value of each tensor that was inserted, and the symbolic sizes of the function."""

    def __init__(self, known: Mapping[Tensor, ir.Value], symbols: Symbols) -> None:
        super().__init__(known)
        self.symbols = symbols


# ------------------------------------------------------------------ one tensor


def _define(node: Tensor, values: Values) -> ir.Value:
    held = node.constant
    if node.is_input and held is None:
        raise VerifyError(f"system: every input must be listed, got {node}", node.location)
    with mlir_location(node.location, node.name):
        if held is not None:
            return dense(held)
        total, equations = _start(node, values)
        writer = _Writer(node, values, total)
        for equation in equations:
            writer.apply(equation)
    return writer.total


def _define_both(extremum: Tensor, argument: Tensor, values: Values) -> None:
    """Insert one op that gives a maximum and its index."""
    with mlir_location(extremum.location, extremum.name):
        total, (equation,) = _start(argument, values)
        writer = _Writer(replace(argument, name=extremum.name), values, total)
        writer.apply(equation)
    assert writer.best is not None, "a search has two results"
    values[extremum], values[argument] = writer.best, writer.total


def _define_recurrence(group: Sequence[Tensor], values: Values) -> ir.Operation:
    """Insert the scan of tensors that read each other, or are together."""
    nest = Nest(step_count(group), group[0].reverse, tuple(step_order(group)))
    starts: dict[Tensor, tuple[ir.Value, Sequence[Equation]]] = {}
    for node in nest.tensors():
        with mlir_location(node.location, node.name):
            starts[node] = _start(node, values)
    values.update({node: total for node, (total, _) in starts.items()})
    return _define_nest(nest, 0, values, {node: rest for node, (_, rest) in starts.items()})


def _define_nest(
    nest: Nest,
    level: int,
    values: Values,
    equations: Mapping[Tensor, Sequence[Equation]],
    outside: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """Insert the scan of a recurrence, or of one inside of a step, over what its tensors are."""
    nodes, steps = _grouped(nest.tensors(), _type_of), nest.steps
    locations = [mlir_location(node.location, node.name) for node in nodes]

    def body(*histories: ir.Value) -> list[ir.Value]:
        block: Any = histories[0].owner
        before = outside or ir.InsertionPoint(block.owner)
        inner = Values({**values, **dict(zip(nodes, histories, strict=True))}, values.symbols)
        for node in nest.order:
            if isinstance(node, Nest):
                _define_nest(node, level + 1, inner, equations, before)
                continue
            with mlir_location(node.location, node.name):
                writer = _Writer(node, inner, inner[node], before)
                for equation in equations[node]:
                    writer.apply(equation)
            inner[node] = writer.total
        return [inner[node] for node in nodes]

    scan = ScanOp.build(
        [values[node] for node in nodes],
        times=[node.time_dims[level] for node in nodes],
        steps=steps if isinstance(steps, int) else values.symbols.extents([steps]),
        reverse=nest.reverse,
        body=body,
        locations=locations,
        loc=locations[0] if len(nodes) == 1 else ir.Location.fused(locations),
    )
    values.update(zip(nodes, scan.operation.results, strict=True))
    return scan.operation


def _start(node: Tensor, values: Values) -> tuple[ir.Value, Sequence[Equation]]:
    """What a tensor starts from, and the equations that it does not cover."""
    copied = _copied(node)
    if copied is not None and copied in values:  # not so for one of the same recurrence
        return values[copied], node.equations[1:]
    return _started(node, values.symbols), node.equations


def _started(node: Tensor, symbols: Symbols) -> ir.Value:
    first = node.equations[0] if node.equations else None
    overwritten = first is not None and first.combiner == "set" and first.covers(node.shape)
    if node.fill is None or overwritten:
        return _empty(node.shape, element_type(node.dtype), symbols)
    return _filled(node.shape, node.fill, node.dtype, symbols)


def _filled(shape: Sequence[Extent], value: Number, dtype: DType, symbols: Symbols) -> ir.Value:
    empty = _empty(shape, mlir_type(dtype), symbols)
    filled = build_fill(constant(value, dtype), empty)
    assert filled is not None, "of a tensor"
    return as_elements(filled, dtype)


def _empty(shape: Sequence[Extent], element: ir.Type, symbols: Symbols) -> Any:
    kind = symbols.tensor_type(shape, element)
    dynamic = [
        SizeOp.build(symbols.extents([n])).operation.results[0]
        for n in shape
        if not isinstance(n, int)
    ]
    made = ir.Operation.create("tensor.empty", results=[kind], operands=dynamic)
    return made.results[0]


def _copied(node: Tensor) -> Tensor | None:
    """The tensor that the first of several equations copies as a whole."""
    if len(node.equations) < 2:
        return None
    first = node.equations[0]
    body = first.body
    if first.combiner != "set" or body.op != "load" or not first.covers(node.shape):
        return None
    same = body.args == tuple(dim(k) for k in range(first.rank))
    return body.attr if same and body.attr.shape == node.shape else None


@dataclass
class _Writer:
    """Apply equations to the running value of a tensor."""

    node: Tensor
    values: Values
    total: ir.Value
    outside: ir.InsertionPoint | None = None  # of a scan's body: where its constants go
    best: ir.Value | None = None  # of argmax: the value at the index that `total` holds

    def apply(self, equation: Equation) -> None:
        plan = plan_accesses(equation)
        location = mlir_location(equation.location or self.node.location, self.node.name)
        for part in self._parts(equation):
            self._compute(equation, plan, part, location)

    def _parts(self, equation: Equation) -> Sequence[tuple[Constraint, ...]]:
        rest = parameters.beyond_box(equation.domain, equation.extents)
        parts = conversion.conjunctions(rest)
        if len(parts) < 2:
            return parts or (NEVER,)
        return conversion.conjunctions(rest, disjoint=True)

    def _compute(
        self,
        equation: Equation,
        plan: Accesses,
        part: tuple[Constraint, ...],
        location: ir.Location,
    ) -> None:
        rank, sizes = equation.rank, self.values.symbols
        reads = _grouped(list(plan.affine.values()), lambda read: _type_of(read.node.attr))
        write, symbols = self._write(equation, plan)
        op = ComputeOp.build(
            [self.values[read.node.attr] for read in reads],
            self._inits(equation),
            extents=sizes.extents(equation.extents) if sizes.sizes else numbers(equation.extents),
            iterators=["parallel"] * equation.parallel + ["reduction"] * (rank - equation.parallel),
            domain=constraints_to_mlir(rank, part, sizes),
            reads=[_map(rank, r, sizes) for r in reads],
            guards=[constraints_to_mlir(rank, r.guard, sizes) for r in reads],
            write=write,
            combiner=equation.combiner,
            body=lambda *scalars: _emit(plan, [plan.body, *symbols], reads, scalars, self.values),
            loc=with_dim_names(location, equation.dim_names),
        )
        if equation.ties != "first":
            op.operation.attributes["ted.ties"] = ir.StringAttr.get(equation.ties)
        if symbols and not self._may_leave(plan.write, symbols, equation.domain):
            op.operation.attributes["mode"] = ir.StringAttr.get("unchecked")
        if equation.recomputed:
            op.operation.attributes["ted.recomputed"] = _recomputed(equation.recomputed)
        if equation.scatter_reason:
            reason = ir.StringAttr.get(equation.scatter_reason)
            op.operation.attributes["ted.scatter_reason"] = reason
        for name, text in equation.wishes:
            op.operation.attributes[name] = ir.Attribute.parse(text)
        results = list(op.operation.results)
        self.total = results[-1]
        self.best = results[0] if len(results) > 1 else None

    def _may_leave(self, write: Sequence[Expr], symbols: Sequence[Expr], domain: Any) -> bool:
        """Whether a write at indices that are data has to be checked."""
        data = [(e, n) for e, n in zip(write, self.node.shape, strict=True) if e in symbols]
        indices, extents = zip(*data, strict=True)
        return bool(checked_dims(indices, extents, TRUE, domain))

    def _inits(self, equation: Equation) -> list[ir.Value]:
        if equation.combiner not in _ARG_VALUE:
            return [self.total]
        assert self.node.dtype == INT64, f"{self.node}: an index is an int64"
        if self.best is not None:
            return [self.best, self.total]
        dtype = equation.body.dtype
        worst = identity(_ARG_VALUE[equation.combiner], dtype)
        with self.outside or contextlib.nullcontext():
            start = _filled(self.node.shape, worst, dtype, self.values.symbols)
            return [start, self.total]

    def _write(self, equation: Equation, plan: Accesses) -> tuple[ir.AffineMap, list[Expr]]:
        """The map of the write, and the expressions whose values are its symbols."""
        exprs: list[ir.AffineExpr] = []
        symbols: list[Expr] = []
        sizes = self.values.symbols
        for e in plan.write:
            found = affine_subscripts([e], equation.domain)
            if found is not None:
                exprs.append(aff_to_mlir(found[0], sizes))
                continue
            exprs.append(ir.AffineExpr.get_symbol(len(sizes) + len(symbols)))
            symbols.append(e)
        if symbols and equation.combiner not in _SCATTER:
            raise VerifyError(
                f"{self.node}: a write at computed indices wants a combiner of "
                f"{', '.join(_SCATTER)}, got '{equation.combiner}'",
                equation.location,
            )
        return ir.AffineMap.get(equation.rank, len(sizes) + len(symbols), exprs), symbols


def _recomputed(order: int) -> ir.Attribute:
    kind = ir.IntegerType.get_signless(64)
    return ir.UnitAttr.get() if order == 1 else ir.IntegerAttr.get(kind, order)


def _map(rank: int, read: AffineRead, sizes: Symbols) -> ir.AffineMap:
    return ir.AffineMap.get(rank, len(sizes), [aff_to_mlir(a, sizes) for a in read.subscripts])


Item = TypeVar("Item")


def _grouped(items: Sequence[Item], type_of: Callable[[Item], Hashable]) -> Sequence[Item]:
    # An op holds any number of operands, in a limited number of runs of equal type.
    if len(items) <= MAX_RUNS // 2:
        return items
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(type_of(item), []).append(item)
    return [item for group in groups.values() for item in group]


def _type_of(node: Tensor) -> Hashable:
    return node.dtype.name, node.shape


# ------------------------------------------------------------------ bodies


def _emit(
    plan: Accesses,
    roots: Sequence[Expr],
    reads: Sequence[AffineRead],
    scalars: Sequence[ir.Value],
    values: Values,
) -> list[ir.Value]:
    """Insert the ops of a body; returns what it yields."""
    known: dict[Expr, ir.Value] = dict(zip((r.node for r in reads), scalars, strict=True))
    for node in emission_order(roots, {**plan.affine, **plan.data}):
        if node in known:
            continue
        args = [known[a] for a in node.args]
        if node.op == "const":
            known[node] = constant(node.attr, node.dtype)
        elif node.op == "size":
            size = values.symbols.extents([symbolic(node.attr)])
            known[node] = SizeOp.build(size).operation.results[0]
        elif node.op == "dim":
            known[node] = IndexOp.build(node.attr).operation.results[0]
        elif node.op == "load":
            read = plan.data[node]
            mode = {"checked": read.checked} if read.checked else {"mode": "unchecked"}
            op = LoadOp.build(values[node.attr], known[read.predicate], args, **mode)
            known[node] = op.operation.results[0]
        else:
            known[node] = spell(node, args)
    return [known[root] for root in roots]
