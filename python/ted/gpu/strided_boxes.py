"""The part of a memory that the points of a box meet: a start, a step and an extent for each dim.

Before: a view of `memref<57x57xf32>`, with offsets, strides and fewer dims, and a map into it
After: rows 1, 3, 5, .. and all columns of that memory, and the dim of the box that counts each
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod

from ted.gpu.bodies import Operand
from ted.gpu.flat_views import flat_view_of
from ted.linalg.contractions import element_strides
from ted.mlir import ir
from ted.records import dataclass


@dataclass(frozen=True)
class Side:
    """Places `start`, `start + step`, .. of a dim of the memory; `dim` of the box counts them."""

    start: int
    step: int = 1
    extent: int = 1
    dim: int | None = None

    def meets(self, other: Side) -> bool:
        """Whether two sides may have a place in common."""
        if self.last < other.start or other.last < self.start:
            return False
        steps = [side.step for side in (self, other) if side.extent > 1]
        common = gcd(*steps)
        return (self.start - other.start) % common == 0 if common else self.start == other.start

    @property
    def last(self) -> int:
        """The last place."""
        return self.start + (self.extent - 1) * self.step


@dataclass(frozen=True)
class Region:
    """The sides along each dim of a memory that is longer than one element."""

    memory: ir.Value
    shape: tuple[int, ...]
    sides: tuple[Side, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(side.extent for side in self.sides)

    @property
    def is_whole(self) -> bool:
        """Whether that is all of the memory."""
        return self.size == prod(self.shape)

    def meets(self, other: Region) -> bool:
        """Whether two regions may have an element in common."""
        sides = zip(self.sides, other.sides, strict=True)
        return self.memory == other.memory and all(a.meets(b) for a, b in sides)


def region_of(operand: Operand, extents: tuple[int, ...]) -> Region | None:
    """Where the points of a box write, no two the same element; None where no region says it."""
    flat = flat_view_of(operand.value) if operand.amap is not None else None
    address = None if flat is None else operand.address
    if flat is None or address is None or flat.start.terms:
        return None
    kind = ir.MemRefType(flat.value.type)
    strides = element_strides(kind)
    if strides is None or isinstance(kind.layout, ir.StridedLayoutAttr):
        return None
    long = [(e, s) for e, s in zip(kind.shape, strides, strict=True) if e > 1]
    if not long:
        return None
    sides = [Side(0)] * len(long)
    rest = flat.start.constant + address.constant
    for k, (_, stride) in enumerate(long):
        sides[k], rest = Side(rest // stride), rest % stride
    for dim, extent in enumerate(extents):
        step = address[dim]
        if extent == 1 or step == 0:
            continue
        k = next((k for k, (_, s) in enumerate(long) if step >= s and step % s == 0), None)
        if k is None or sides[k].dim is not None:
            return None
        sides[k] = replace(sides[k], step=step // long[k][1], extent=extent, dim=dim)
    if any(not 0 <= side.last < e for side, (e, _) in zip(sides, long, strict=True)):
        return None
    return Region(flat.value, tuple(e for e, _ in long), tuple(sides))
