"""Operands as the tensor memory accelerator sees them: boxes of a strided tensor, copied at once.

The accelerator copies a box of up to five dims into shared memory, swizzled, and writes zeros for
what lies outside the tensor. It asks for a contiguous innermost dim and for all other strides in
multiples of 16 bytes; an operand that is not like that has no map.
"""

from __future__ import annotations

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Number
from ted.gpu.templates.problem import Gemm, Layout, Operand
from ted.gpu.templates.warpgroups import LINE_BYTES, Side
from ted.records import dataclass

STRIDE_BYTES = 16
MOST_DIMS = 5
LARGEST_BOX = 256


@dataclass(frozen=True)
class TensorMap:
    """A kernel argument: how the driver encodes the map of an operand ('a' or 'b').

    Dims and box are innermost first, in elements; `strides` are bytes of all dims but the first;
    the map starts `offset` bytes behind the operand's base pointer. Outside is zero.
    """

    operand: str
    element: str
    offset: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str = "128B"


@dataclass(frozen=True)
class Boxes:
    """How one operand's tile arrives: in the boxes of the tile's side, one after the other."""

    map: TensorMap
    side: Side
    batch: Layout

    def coordinates(self, number: int, row: Number, k: Number, batch: Number) -> list[Number]:
        """Where a box of the tile at (row, k) starts, innermost first."""
        inside = [k, row]
        if not self.side.along_k:
            inside = [integers.add(row, number * self.side.line), k]
        outer: list[Number] = []
        for extent, stride in reversed(self.batch.groups):
            if stride:
                outer.append(integers.remainder(batch, extent))
            batch = integers.divide(batch, extent)
        return inside + outer


def boxes(gemm: Gemm, side: str, name: str, rows: int, depth: int) -> Boxes | None:
    """The boxes of an operand, if the accelerator can read it; `name` is the caller's for it."""
    memory: Operand = getattr(gemm, side)
    batch, first, second = gemm.layouts(side)
    outer, reduction = (first, second) if side == "a" else (second, first)
    if len(outer.groups) != 1 or len(reduction.groups) != 1 or gemm.coordinates(side):
        return None
    along_k = reduction.contiguous
    fast, slow = (reduction, outer) if along_k else (outer, reduction)
    moving = [group for group in reversed(batch.groups) if group[1]]
    strides = tuple(stride * memory.bytes for _, stride in (*slow.groups, *moving))
    if not fast.contiguous or any(s <= 0 or s % STRIDE_BYTES for s in strides):
        return None
    offset = memory.offset * memory.bytes
    if offset % STRIDE_BYTES or memory.alignment % STRIDE_BYTES or len(moving) > MOST_DIMS - 2:
        return None
    line = LINE_BYTES // memory.bytes
    if rows > LARGEST_BOX or rows % line or depth != line:
        return None
    dims = tuple(extent for extent, _ in (*fast.groups, *slow.groups, *moving))
    box = (line, rows if along_k else depth, *(1 for _ in moving))
    return Boxes(
        TensorMap(name, memory.element, offset, dims, strides, box),
        Side(rows, depth, memory.bytes, along_k),
        batch,
    )  # fmt: skip
