"""The body of a `ted.compute` -> a scalar expression over positional dims.

A guarded read means 0 outside its guard, which an expression says with a `select`. Where the body
uses the value only inside the guard anyway, the select is left out, so that turning equations into
ops and back adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.dialects.ted import ComputeOp
from ted.domain.budget import bounded
from ted.domain.sizes import Extent
from ted.ir import scalar
from ted.ir.affine import is_affine, where_possible
from ted.ir.affine_attributes import conjunction_to_expr, constraints_from_mlir, mlir_to_expr
from ted.ir.dtypes import BY_MLIR, DType
from ted.ir.equations import Tensor, identity
from ted.ir.expressions import Expr
from ted.ir.from_scalars import constant_of, operation
from ted.ir.paths import conjuncts, path_conditions
from ted.ir.scalar import TRUE
from ted.ir.symbols import NONE, Symbols
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.records import dataclass

TensorOf = Callable[[ir.Value], Tensor]


@dataclass(frozen=True)
class Body:
    """What a body yields: the value, and the subscripts of the write."""

    value: Expr
    write: tuple[Expr, ...]


@dataclass(frozen=True)
class _Guarded:
    """A read that is 0 outside a condition."""

    node: Expr
    condition: Expr
    guard: Any  # isl set for an affine guard, None for a predicate on data

    @property
    def value(self) -> Expr:
        """The read as a select."""
        return scalar.select(self.condition, self.node, scalar.const(0, self.node.dtype))


def read_body(op: ComputeOp, domain: Any, tensor_of: TensorOf, symbols: Symbols = NONE) -> Body:
    """The expressions of a body, reading the tensors that `tensor_of` gives for values.

    Raises: VerifyError for an op that equations have no word for.
    """
    reader = _Reader(op, domain, tensor_of, symbols)
    body = reader.body()
    if not reader.guarded:
        return body  # most have none
    paths = path_conditions(body.value, *body.write)
    bare = {
        read.value: read.value.args.index(read.node)
        for read in reader.guarded
        if _is_implied(read, paths, domain)
    }

    def read_alone(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        return args[bare[node]] if node in bare else None

    value, *write = scalar.rewrite([body.value, *body.write], read_alone)
    return Body(value, tuple(write))


def _is_implied(read: _Guarded, paths: dict[Expr, Expr], domain: Any) -> bool:
    """Whether the select of a guarded read is used only where its condition holds.

    What implies it are selects above it, so that leaving out all the implied ones at once is right.
    """
    path = paths.get(read.value)
    if path is None or read.value.op != "select":
        return False  # the condition is decided, and the body was simplified around it
    if read.guard is None:
        return set(conjuncts(read.condition)) <= set(conjuncts(path))
    used = where_possible(path, domain)
    return bounded(lambda: used.is_subset(read.guard)) is True


class _Reader:
    """One walk over a body; guarded reads become selects."""

    def __init__(
        self,
        op: ComputeOp,
        domain: Any,
        tensor_of: TensorOf,
        symbols: Symbols,
    ) -> None:
        self.op = op
        self.domain = domain
        self.tensor_of = tensor_of
        self.symbols = symbols
        self.guarded: list[_Guarded] = []
        self.known: dict[ir.Value, Expr] = {}

    def body(self) -> Body:
        block = self.op.body_block
        reads = zip(block.arguments, self.op.inputs, strict=True)
        maps = zip(self.op.read_maps, self.op.guard_sets, strict=True)
        for (argument, tensor), (access, guard) in zip(reads, maps, strict=True):
            self.known[argument] = self._read(tensor, access, guard)
        operations = list(block.operations)
        for inner in operations[:-1]:
            self.known[inner.operation.results[0]] = self._operation(inner.operation)
        value, *data = [self._value(v) for v in operations[-1].operands]
        value = scalar.cast(value, _element_of(self.op, value))
        mode = self.op.write_mode
        if mode == "unchecked":
            data = self._trusted(data)
        write = tuple(mlir_to_expr(e, data, self.symbols) for e in self.op.write_map.results)
        return self._within(value, write) if mode in ("clip", "drop") else Body(value, write)

    def _within(self, value: Expr, write: tuple[Expr, ...]) -> Body:
        """A write that clips or drops, said in expressions: what is dropped adds nothing."""
        shape = self.symbols.shape(ir.RankedTensorType(self.op.results[0].type))
        places = list(write)
        inside = TRUE
        for k, (place, extent) in enumerate(zip(write, shape, strict=True)):
            if not is_affine(place, self.domain):
                inside = scalar.land(inside, _inside(place, extent))
                places[k] = _clipped(place, extent)
        if self.op.write_mode == "drop":
            neutral = scalar.const(identity(self.op.combiner_name, value.dtype), value.dtype)
            value = scalar.select(inside, value, neutral)
        return Body(value, tuple(places))

    def _trusted(self, places: Sequence[Expr]) -> list[Expr]:
        """Indices that the user vouches for, where isl cannot judge them."""
        return [p if is_affine(p, self.domain) else scalar.unchecked(p) for p in places]

    def _read(self, tensor: ir.Value, access: ir.AffineMap, guard: ir.IntegerSet) -> Expr:
        at = [mlir_to_expr(e, (), self.symbols) for e in access.results]
        node = scalar.load(self.tensor_of(tensor), at)
        constraints = constraints_from_mlir(guard, self.symbols)
        if not constraints:
            return node
        from ted.domain.conversion import from_conjunctions

        points = from_conjunctions(guard.n_dims, [constraints])
        return self._guard(_Guarded(node, conjunction_to_expr(constraints), points))

    def _guard(self, read: _Guarded) -> Expr:
        self.guarded.append(read)
        return read.value

    def _value(self, value: ir.Value) -> Expr:
        if value in self.known:
            return self.known[value]
        op = defining(value)
        assert op is not None, "the verifier lets only constants and sizes in from outside"
        return self._operation(op)  # moved out of the body by canonicalisation

    def _operation(self, op: ir.Operation) -> Expr:
        if op.name == "arith.constant":
            return constant_of(op)
        if op.name == "ted.index":
            return scalar.dim(ir.IntegerAttr(op.attributes["dim"]).value)
        if op.name == "ted.size":
            (size,) = self.symbols.evaluated(ir.AffineMapAttr(op.attributes["value"]).value)
            return scalar.index(size)
        if op.name == "ted.load":
            return self._load(op)
        return operation(op, [self._value(v) for v in op.operands])

    def _load(self, op: ir.Operation) -> Expr:
        source, predicate, *indices = op.operands
        tensor, condition = self.tensor_of(source), self._value(predicate)
        places = [self._value(i) for i in indices]
        mode = ir.StringAttr(op.attributes["mode"]).value
        if mode == "unchecked":
            places = self._trusted(places)
        if "checked" in op.attributes:
            checked = set(ir.DenseI64ArrayAttr(op.attributes["checked"]))
            trusted = self._trusted(places)
            places = [p if k in checked else trusted[k] for k, p in enumerate(places)]
        if mode == "clip":
            places = [_clipped(p, n) for p, n in zip(places, tensor.shape, strict=True)]
        if mode == "drop":
            for place, extent in zip(places, tensor.shape, strict=True):
                condition = scalar.land(condition, _inside(place, extent))
        node = scalar.load(tensor, places)
        return node if condition is TRUE else self._guard(_Guarded(node, condition, None))


def _element_of(op: ComputeOp, value: Expr) -> DType:
    """The type of what an op writes, where its sign is all that the value does not say."""
    element = BY_MLIR[str(ir.RankedTensorType(op.results[0].type).element_type)]
    return element if value.dtype.kind == element.kind == "int" else value.dtype


def _clipped(place: Expr, extent: Extent) -> Expr:
    low = scalar.apply("maximum", place, scalar.index(0))
    return scalar.apply("minimum", low, scalar.index(extent - 1))


def _inside(place: Expr, extent: Extent) -> Expr:
    low = scalar.compare("le", scalar.index(0), place)
    return scalar.land(low, scalar.compare("lt", place, scalar.index(extent)))
