"""Accumulators that are written in parts -> parts that each start from zero, and end on their own.

Before: a fill of `%t`; contractions into disjoint strided parts of it, the residue classes of the
gradient of a strided convolution; then perhaps element-wise work on all of `%t`
After: a fill of each part before its contraction, where it costs nothing, and of `%t` only if the
parts leave something out; each part is a buffer with element-wise work of its own, which its kernel
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.gpu.contractions import LEAST_PRODUCTS
from ted.gpu.epilogues import MOST_OPERATIONS
from ted.gpu.strided_boxes import Side
from ted.gpu.wide_products import contraction_of
from ted.linalg.contractions import MARK
from ted.mlir import ir, memref
from ted.mlir.aliasing import root
from ted.mlir.dependences import Dependences
from ted.mlir.generic import Generic
from ted.mlir.queries import defining, functions, operations, position
from ted.records import dataclass

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Part:
    """A contraction with the part of the accumulator that it writes."""

    op: ir.Operation
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def target(self) -> ir.Value:
        """What the contraction writes."""
        return self.op.operands[-1]

    @property
    def sides(self) -> list[Side]:
        """The elements along each dim of the accumulator."""
        parts = zip(self.offsets, self.strides, self.sizes, strict=True)
        return [Side(offset, stride, size) for offset, stride, size in parts]

    def is_beside(self, other: Part) -> bool:
        """Whether the parts share no element."""
        return not all(a.meets(b) for a, b in zip(self.sides, other.sides, strict=True))


@dataclass(frozen=True)
class TedSplitAccumulators:
    """Start and finish each part of an accumulator by itself."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown(module.context):
            for function in functions(module):
                for fill in operations(function, "linalg.fill"):
                    known = Dependences(fill.block)
                    parts = _parts(fill, known)
                    if parts:
                        _split(fill, parts, known)


def _parts(fill: ir.Operation, known: Dependences) -> list[Part]:
    """The contractions that next touch the filled memory, if they write disjoint parts of it."""
    accumulator = fill.operands[1]
    if root(accumulator) != accumulator or isinstance(fill.operands[0].type, ir.MemRefType):
        return []
    parts: list[Part] = []
    for op in known.behind(fill, known.effects[fill].writes):
        part = _part(op, accumulator)
        if part is None:
            break
        if not all(part.is_beside(other) for other in parts):
            return []
        parts.append(part)
    return parts


def _part(op: ir.Operation, accumulator: ir.Value) -> Part | None:
    """An operation as a sum into a part of an accumulator, which it does not read otherwise."""
    found = contraction_of(op) if op.name == "linalg.generic" else None
    if found is None or not found.writes_all or root(op.operands[-1]) != accumulator:
        return None
    view = defining(op.operands[-1], "memref.subview")
    if view is None or len(view.operands) != 1:
        return None
    factors = [v for v in list(op.operands)[:-1] if isinstance(v.type, ir.MemRefType)]
    if any(root(v) == accumulator for v in factors) or view.operands[0] != accumulator:
        return None
    # Small sums and slices of a point are no kernels of templates, and keep their common start.
    if ir.MemRefType(accumulator.type).rank != ir.MemRefType(op.operands[-1].type).rank:
        return None
    if MARK not in op.attributes or not _is_large(op):
        return None
    lists = (view.attributes[f"static_{name}"] for name in ("offsets", "sizes", "strides"))
    part = Part(op, *(tuple(ir.DenseI64ArrayAttr(a)) for a in lists))
    return None if DYNAMIC in (*part.offsets, *part.sizes, *part.strides) else part


def _split(fill: ir.Operation, parts: Sequence[Part], known: Dependences) -> None:
    accumulator = fill.operands[1]
    left = prod(ir.MemRefType(accumulator.type).shape) - sum(prod(part.sizes) for part in parts)
    consumer = _consumer(fill, parts, known) if left == 0 else None
    unused = (
        [] if consumer is None else [*(defining(p.target) for p in parts), defining(accumulator)]
    )
    if consumer is not None:
        for part in parts:
            _finish(part, consumer, accumulator)
        consumer.erase()
    for part in parts:
        with ir.InsertionPoint(part.op), part.op.location:
            fill.clone().operation.operands[1] = part.target
    if left == 0:
        fill.erase()
    for op in unused:
        assert op is not None, "views and buffers are made by operations"
        op.erase()


def _consumer(fill: ir.Operation, parts: Sequence[Part], known: Dependences) -> ir.Operation | None:
    """The element-wise operation that alone reads an accumulator, if kernels of parts can do it."""
    accumulator = fill.operands[1]
    owner = defining(accumulator, "memref.alloc")
    if owner is None:
        return None
    views = {defining(part.target) for part in parts}
    users = {use.owner.operation for use in accumulator.uses} - views - {fill}
    if len(users) != 1 or any(len(list(part.target.uses)) != 1 for part in parts):
        return None
    consumer = users.pop()
    if consumer.name != "linalg.generic" or consumer.block != fill.block:
        return None
    read = {m for op in (consumer, *(p.op for p in parts)) for m in known.effects[op].reads}
    if read & known.effects[consumer].writes:  # no kernel of a part may do it
        return None
    return consumer if _is_element_wise(consumer, accumulator) else None


def _is_large(op: ir.Operation) -> bool:
    found = contraction_of(op)
    return found is not None and prod(found.extents) >= LEAST_PRODUCTS


def _is_element_wise(op: ir.Operation, accumulator: ir.Value) -> bool:
    """Whether an operation can be cut like the accumulator that it reads once."""
    generic = Generic(op)
    if (
        generic.operands.count(accumulator) != 1
        or generic.operands[-1] == accumulator
        or not generic.is_map
    ):
        return False
    *steps, end = generic.code
    return (
        generic.dims is not None
        and generic.maps[generic.operands.index(accumulator)].is_permutation
        and len(end.operands) == 1
        and len(steps) <= MOST_OPERATIONS
        and all(step.name.startswith("arith.") for step in steps)
    )


def _finish(part: Part, consumer: ir.Operation, accumulator: ir.Value) -> None:
    """Give a part a buffer of its own, and the consumer's work on it."""
    kind = ir.MemRefType(accumulator.type)
    with ir.InsertionPoint(part.op), part.op.location:
        made = memref.AllocOp(ir.MemRefType.get(part.sizes, kind.element_type), [], []).result
    part.op.operands[len(part.op.operands) - 1] = made
    maps = Generic(consumer).maps
    own = maps[list(consumer.operands).index(accumulator)]
    places = [position(e) for e in own.results]
    with ir.InsertionPoint(consumer), consumer.location:
        operands = [
            made if operand == accumulator else _cut(operand, map_, part, places)
            for operand, map_ in zip(consumer.operands, maps, strict=True)
        ]
        copy = consumer.clone().operation
    for k, operand in enumerate(operands):
        copy.operands[k] = operand


def _cut(value: ir.Value, map_: ir.AffineMap, part: Part, places: Sequence[int]) -> ir.Value:
    """What an operand of the consumer is for the points of a part; `places` are its dims' dims."""
    if not isinstance(value.type, ir.MemRefType):
        return value
    found = [places.index(position(e)) for e in map_.results]
    sides = (part.offsets, part.sizes, part.strides)
    return memref.subview(value, *([side[k] for k in found] for side in sides))
