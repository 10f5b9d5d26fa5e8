"""Operations over the same points -> one, which computes all of them at each point.

Before: `%t = f(%x)` and `%z = g(%x, %t)` over one box
After: one `linalg.generic` with both results: `%x` is read once, and the second body takes the
value of `%t` from the first one. A result that nothing else reads is not stored.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import field

from ted.gpu.bodies import Operand, Work, copied
from ted.gpu.collapsing import collapsed
from ted.gpu.strided_footprints import Footprint, footprint_of
from ted.mlir import ir, linalg
from ted.mlir.aliasing import root
from ted.mlir.generic import empty_generic
from ted.records import dataclass


@dataclass(frozen=True)
class Access:
    """What the points of a box read or write through an operand."""

    operand: Operand
    footprint: Footprint | None

    @property
    def memory(self) -> ir.Value:
        """The allocation or argument; a scalar is its own."""
        return root(self.operand.value)

    @property
    def key(self) -> Hashable:
        """Equal for accesses that meet the same element at each point."""
        return self.footprint or (self.operand.value, self.operand.amap)


@dataclass(frozen=True)
class Points:
    """The work of an operation, and where it meets memory."""

    work: Work
    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]

    @property
    def reads(self) -> list[Access]:
        """The inputs that the body uses."""
        return [a for k, a in enumerate(self.inputs) if self.work.uses(k)]

    @property
    def body(self) -> ir.Block:
        """The code of a point."""
        assert self.work.body is not None, "copies and fills are not merged"
        return self.work.body

    def asks_before(self, k: int) -> bool:
        """Whether the body uses what result k holds before."""
        return bool(list(self.body.arguments[len(self.inputs) + k].uses))


def points_of(work: Work) -> Points:
    """The accesses of a work."""
    found = [Access(o, footprint_of(o, work.extents)) for o in (*work.inputs, *work.outputs)]
    count = len(work.inputs)
    return Points(work, tuple(found[:count]), tuple(found[count:]))


def merge(parts: Sequence[Points], unwanted: Collection[ir.Value]) -> ir.Operation:
    """Make one operation of the parts, in this order, at the insertion point.

    Results in memory that is `unwanted` are only values of the body.
    """
    if len({p.work.extents for p in parts}) > 1:
        parts = [points_of(collapsed(p.work)) for p in parts]
    made = _Merged()
    for part in parts:
        made.take(part, unwanted)
    return made.build(parts)


@dataclass
class _Merged:
    inputs: dict[Hashable, Operand] = field(default_factory=dict)
    outputs: dict[Hashable, Operand] = field(default_factory=dict)
    written: set[Hashable] = field(default_factory=set)

    def take(self, part: Points, unwanted: Collection[ir.Value]) -> None:
        """Add the operands of a part that those before it do not make."""
        for access in part.inputs:
            if access.key not in self.written:
                self.inputs.setdefault(access.key, access.operand)
        for k, access in enumerate(part.outputs):
            is_asked = part.asks_before(k) and access.key not in self.written
            if access.memory not in unwanted or is_asked:
                self.outputs.setdefault(access.key, access.operand)
        self.written.update(a.key for a in part.outputs)

    def build(self, parts: Sequence[Points]) -> ir.Operation:
        """The operation with the bodies of the parts, one behind the other."""
        made = self._empty(parts[0].work)
        block = made.regions[0].blocks[0]
        arguments = iter(block.arguments)
        read = dict(zip(self.inputs, arguments, strict=False))
        held = dict(zip(self.outputs, arguments, strict=False))
        with ir.InsertionPoint(block), made.location:
            dims = [linalg.IndexOp(k).result for k in range(len(parts[0].work.extents))]
            written: dict[Hashable, ir.Value] = {}
            for part in parts:
                values = [{**read, **written}.get(a.key) for a in part.inputs]
                values += [{**held, **written}.get(a.key) for a in part.outputs]
                known: dict[ir.Value, ir.Value] = {}
                given = zip(part.body.arguments, values, strict=True)
                known.update((a, v) for a, v in given if v is not None)
                results = copied(part.body, known, dims)
                written.update(zip((a.key for a in part.outputs), results, strict=True))
            linalg.YieldOp([written[key] for key in self.outputs])
        for dim in dims:
            if not list(dim.uses):
                dim.owner.operation.erase()  # pyright: ignore[reportAttributeAccessIssue]
        return made

    def _empty(self, like: Work) -> ir.Operation:
        """The operation with arguments of its body only."""
        operands = [*self.inputs.values(), *self.outputs.values()]
        scalar = ir.AffineMap.get(len(like.extents), 0, [])
        return empty_generic(
            [o.value for o in self.inputs.values()],
            [o.value for o in self.outputs.values()],
            [o.amap or scalar for o in operands],
            [not is_parallel for is_parallel in like.parallel],
        )
