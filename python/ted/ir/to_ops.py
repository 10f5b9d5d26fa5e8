"""Systems -> MLIR: one function per system, one `ted.compute` per equation.

Before: C[i, j] += A[i, r] * B[r, j]   After: %C = "ted.compute"(%A, %B, %zero) ({...}) {...}

A tensor is a chain of computes through their inits, started by a fill.  Reads become operands with
affine maps and guards (see `ted.ir.reads`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.dialects.ted.ops import ComputeOp
from ted.domain import conversion, sets
from ted.domain.affine import Constraint
from ted.ir.affine import NotAffine, single_piece
from ted.ir.affine_attributes import NEVER, aff_to_mlir, constraints_to_mlir
from ted.ir.bodies import BodyBuilder
from ted.ir.dtypes import INT64, DType
from ted.ir.equations import Equation, System, Tensor, identity
from ted.ir.locations import mlir_location
from ted.ir.reads import Access, accesses, without_guarded_selects
from ted.ir.scalar import Expr, Number
from ted.ir.spelling import constant, tensor_type
from ted.mlir import func, ir, linalg, tensor

EXTREMUM = {"argmax": "max", "argmin": "min"}


def system_to_module(system: System) -> ir.Module:
    """A module whose one function is the system, in the current context."""
    module = ir.Module.create()
    append_function(module, system)
    return module


def append_function(module: ir.Module, system: System) -> func.FuncOp:
    """Append the system to the module as a function of its name."""
    types = [tensor_type(t.shape, t.dtype) for t in system.inputs]
    results = [tensor_type(t.shape, t.dtype) for t in system.outputs]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(system.name, (types, results))
    places = [mlir_location(t.location, t.name) for t in system.inputs]
    block = function.body.blocks.append(*types, arg_locs=places)
    builder = _FunctionBuilder(dict(zip(system.inputs, block.arguments, strict=True)))
    with ir.InsertionPoint(block):
        for node in system.tensors():
            builder.define(node)
        func.ReturnOp([builder.values[t] for t in system.outputs])
    return function


class _FunctionBuilder:
    """The values of the tensors that were built so far."""

    def __init__(self, values: dict[Tensor, ir.Value]) -> None:
        self.values = values
        self.searches: dict[tuple[object, ...], tuple[ir.Value, ir.Value]] = {}

    def define(self, node: Tensor) -> None:
        """Build the ops of one tensor, whose operands exist."""
        if node in self.values:
            return
        place = mlir_location(node.location, node.name)
        search = self._extremum_search(node, place)
        if search is not None:
            self.values[node] = search
            return
        value = self._start(node, place)
        for equation in node.equations:
            where = mlir_location(equation.location or node.location, node.name)
            value = self._compute(equation, [value], where)[0]
        self.values[node] = value

    def _start(self, node: Tensor, place: ir.Location) -> ir.Value:
        """The value before the first equation: nothing when that writes every element."""
        first = node.equations[0] if node.equations else None
        covered = first is not None and first.combiner == "set" and first.covers(node.shape)
        if covered or node.fill is None:
            return _empty(node.shape, node.dtype, place)
        return _filled(node.shape, node.dtype, node.fill, place)

    def _extremum_search(self, node: Tensor, place: ir.Location) -> ir.Value | None:
        """The op of an argmax; a max over the same points comes from the same op."""
        if len(node.equations) != 1:
            return None
        (equation,) = node.equations
        kind = equation.combiner
        if kind in EXTREMUM:
            return self._search(node, equation, place)[1]
        return None

    def _search(
        self, node: Tensor, equation: Equation, place: ir.Location
    ) -> tuple[ir.Value, ir.Value]:
        value_type = equation.body.dtype
        start = identity(EXTREMUM[equation.combiner], value_type)
        inits = [
            _filled(node.shape, value_type, start, place),
            _filled(node.shape, INT64, -1, place),
        ]
        value, position = self._compute(equation, inits, place)
        return value, position

    def _compute(
        self, equation: Equation, inits: list[ir.Value], place: ir.Location
    ) -> list[ir.Value]:
        found = accesses(equation)
        body = without_guarded_selects(equation, found)
        rank = equation.rank
        operands = [o for access in found.values() for o in access.operands]
        write, symbols = _write_map(equation)
        with place:
            op = ComputeOp.build(
                [self.values[o.read.attr] for o in operands],
                inits,
                extents=equation.extents,
                reads=[ir.AffineMap.get(rank, 0, [aff_to_mlir(a) for a in o.index]) for o in operands],
                guards=[constraints_to_mlir(rank, o.guard) for o in operands],
                domain=constraints_to_mlir(rank, _beyond_box(equation)),
                write=write,
                iterators=["parallel"] * equation.parallel
                + ["reduction"] * (rank - equation.parallel),
                combiner=equation.combiner,
                body=lambda *scalars: BodyBuilder(self.values, place).build(
                    [body, *symbols], _reads(found, scalars), found
                ),
                loc=place,
            )
        return list(op.results)


def _reads(
    found: dict[Expr, Access], scalars: Sequence[ir.Value]
) -> dict[Expr, list[ir.Value]]:
    """The block arguments of each affine read."""
    rest = iter(scalars)
    return {r: [next(rest) for _ in access.operands] for r, access in found.items()}


def _beyond_box(equation: Equation) -> tuple[Constraint, ...]:
    """What the domain demands beyond the box, one conjunction."""
    rest = equation.domain.gist(sets.box(equation.extents)).coalesce()
    parts = conversion.conjunctions(rest)
    assert len(parts) <= 1, f"an equation over a union of domains is split before, got {rest}"
    return parts[0] if parts else NEVER


def _write_map(equation: Equation) -> tuple[ir.AffineMap, list[Expr]]:
    """The write as an affine map; subscripts that are data become symbols."""
    results: list[ir.AffineExpr] = []
    symbols: list[Expr] = []
    for subscript in equation.write:
        try:
            aff = single_piece(subscript, equation.domain)
        except NotAffine:
            aff = None
        if aff is None:
            results.append(ir.AffineSymbolExpr.get(len(symbols)))
            symbols.append(subscript)
        else:
            results.append(aff_to_mlir(aff))
    return ir.AffineMap.get(equation.rank, len(symbols), results), symbols


def _empty(shape: tuple[int, ...], dtype: DType, place: ir.Location) -> ir.Value:
    element = tensor_type(shape, dtype).element_type
    return tensor.EmptyOp(list(shape), element, loc=place).result


def _filled(
    shape: tuple[int, ...], dtype: DType, value: Number, place: ir.Location
) -> ir.Value:
    with place:
        scalar = constant(value, dtype)
        return linalg.fill(scalar, outs=[_empty(shape, dtype, place)])
