"""A structured operation on memrefs as a box of points: what is read, computed and written at one.

Before: `linalg.generic`, `linalg.fill`, `linalg.copy` or `memref.copy`      After: a `Work`, whose
`values(dims, accumulators)` builds the scalar code of a point anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.domain.linear import Form
from ted.gpu.points import apply
from ted.linalg.contractions import address_in
from ted.mlir import ir, memref
from ted.mlir.generic import Generic, generic_of
from ted.mlir.queries import copied_with
from ted.records import dataclass

FAR = 1 << 30  # a step that is not known, or not the same everywhere

Values = list[ir.Value]


@dataclass(frozen=True)
class Operand:
    """A memref and where a point meets it; a scalar has no map."""

    value: ir.Value
    amap: ir.AffineMap | None

    @property
    def address(self) -> Form[int] | None:
        """Where a point lies, from the start of the view, in elements; None if it is not linear."""
        assert self.amap is not None, "a scalar is not in memory"
        return address_in(self.value.type, self.amap)

    def subscripts(self, dims: Sequence[ir.Value]) -> Values:
        """The subscripts at a point."""
        assert self.amap is not None, "a scalar has no subscripts"
        return [apply(e, dims) for e in self.amap.results]

    def load(self, dims: Sequence[ir.Value]) -> ir.Value:
        """The element at a point."""
        if self.amap is None:
            return self.value
        return memref.LoadOp(self.value, self.subscripts(dims)).result

    def store(self, value: ir.Value, dims: Sequence[ir.Value]) -> None:
        """Put a value at a point."""
        memref.StoreOp(value, self.value, self.subscripts(dims))

    @property
    def element(self) -> ir.Type:
        """Element type."""
        return ir.ShapedType(self.value.type).element_type if self.amap else self.value.type


@dataclass(frozen=True)
class Work:
    """A box of points; `body` is None for a copy of the first input."""

    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    body: ir.Block | None
    starts: tuple[ir.Value | None, ...] = ()  # what a result holds before, where that is known

    @property
    def reductions(self) -> list[int]:
        """The dims summed over."""
        return [k for k, p in enumerate(self.parallel) if not p]

    @property
    def outer(self) -> list[int]:
        """The dims that the results move along."""
        return [k for k, p in enumerate(self.parallel) if p]

    def before(self, dims: Sequence[ir.Value]) -> Values:
        """What the results hold at a point before this work, where the body asks for it."""
        if self.body is None:
            return []
        arguments = list(self.body.arguments)[len(self.inputs) :]
        starts = self.starts or (None,) * len(self.outputs)
        return [
            start or (output.load(dims) if list(argument.uses) else output.value)
            for start, output, argument in zip(starts, self.outputs, arguments, strict=True)
        ]

    def writes_all(self, k: int) -> bool:
        """Whether every element of result k is written."""
        amap = self.outputs[k].amap
        assert amap is not None, "results are memory"
        results = [e.maybe_downcast() for e in amap.results]
        dims = [e.position for e in results if isinstance(e, ir.AffineDimExpr)]
        shape = ir.MemRefType(self.outputs[k].value.type).shape
        return len(dims) == len(shape) == len(set(dims)) and all(
            self.extents[d] == e for d, e in zip(dims, shape, strict=True)
        )

    def loads(self, dims: Sequence[ir.Value]) -> Values:
        """The inputs at a point that the body uses."""
        return [o.load(dims) if self.uses(k) else o.value for k, o in enumerate(self.inputs)]

    def uses(self, k: int) -> bool:
        """Whether the body uses input k."""
        return self.body is None or bool(list(self.body.arguments[k].uses))

    def values(self, dims: Values, loaded: Values, accumulators: Values) -> Values:
        """The new values of the results at a point."""
        if self.body is None:
            return loaded[:1]
        known: dict[ir.Value, ir.Value] = {}
        known.update(zip(self.body.arguments, [*loaded, *accumulators], strict=True))
        return copied(self.body, known, dims)


def copied(body: ir.Block, known: dict[ir.Value, ir.Value], dims: Sequence[ir.Value]) -> Values:
    """Copy a block here; returns what its terminator gives."""
    *operations, end = [o.operation for o in body.operations]
    for op in operations:
        if op.name == "linalg.index":
            known[op.results[0]] = dims[ir.IntegerAttr(op.attributes["dim"]).value]
            continue
        copied_with(op, known)
    return [known.get(v, v) for v in end.operands]


# ---- reading operations --------------------------------------------------------------------------


def work_of(op: ir.Operation) -> Work | None:
    """The work of an operation; None if it has another form."""
    generic = generic_of(op)
    if generic is not None:
        return _generic(generic)
    if op.name in ("linalg.fill", "linalg.copy", "memref.copy"):
        return _copy(op)
    return None


def _generic(generic: Generic) -> Work | None:
    if generic.extents is None:
        return None
    operands = tuple(
        Operand(v, m if isinstance(v.type, ir.MemRefType) else None)
        for v, m in zip(generic.operands, generic.maps, strict=True)
    )
    inputs, outputs = operands[: generic.count_inputs], operands[generic.count_inputs :]
    parallel = tuple(not is_summed for is_summed in generic.reductions)
    return Work(generic.extents, parallel, inputs, outputs, generic.body)


def _copy(op: ir.Operation) -> Work:
    source, target = op.operands
    shape = tuple(ir.MemRefType(target.type).shape)
    identity = ir.AffineMap.get_identity(len(shape))
    is_memory = isinstance(source.type, ir.MemRefType)
    given = Operand(source, identity if is_memory else None)
    return Work(shape, (True,) * len(shape), (given,), (Operand(target, identity),), None)


def steps_along(operand: Operand, dim: int) -> int:
    """By how many elements an access moves when a dim advances; FAR when it depends."""
    address = operand.address
    return FAR if address is None else address[dim]
