"""Lanes that lie a few elements apart in memory: whole registers and shuffles in place of gathers.

Before: a register of `A[2 * i]`, one access to memory for each lane. After: two registers of
neighbours and a shuffle that takes every second element; a store shuffles lanes to every second
place of two registers and writes them under masks that leave the elements between as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ted.mlir import arith, ir, vector

# From this distance on, a register of neighbours holds too few of the lanes.
MOST_INTERLEAVED = 4


def is_interleaved(stride: int) -> bool:
    """Whether lanes so far apart are worth whole registers."""
    return 1 < stride <= MOST_INTERLEAVED


def register_starts(width: int, stride: int, count: int) -> list[int]:
    """Where registers begin that hold `count` lanes `stride` apart, the first of them at 0.

    The last one ends with the last lane where all lanes exist, so it reads nothing past that.
    """
    reach = (count - 1) * stride + 1
    starts = list(range(0, reach, width))
    if count == width:
        starts[-1] = reach - width
    return starts


def every(registers: Sequence[ir.Value], starts: Sequence[int], stride: int) -> ir.Value:
    """Each `stride`-th element of registers that begin at `starts`; past them what is there."""
    width = ir.VectorType(registers[0].type).shape[0]
    places = [lane * stride for lane in range(width)]
    found = registers[0]
    for r, (register, start) in enumerate(zip(registers, starts, strict=True)):
        # The lanes that this register holds, and no earlier one; the others stay as they are.
        kept = range(width) if r else [min(place, width - 1) for place in places]
        first = starts[r - 1] + width if r else width
        picks = [
            width + min(place - start, width - 1) if r and place >= first else lane
            for place, lane in zip(places, kept, strict=True)
        ]
        found = vector.ShuffleOp(found, register, picks).result
    return found


def spread(value: ir.Value, stride: int, count: int) -> list[tuple[int, ir.Value, ir.Value]]:
    """(start, register, mask) that write `count` lanes of a register `stride` apart."""
    width = ir.VectorType(value.type).shape[0]
    parts: list[tuple[int, ir.Value, ir.Value]] = []
    for start in range(0, (count - 1) * stride + 1, width):
        places = range(start, start + width)
        register = vector.ShuffleOp(value, value, [place // stride for place in places]).result
        held = [place % stride == 0 and place // stride < count for place in places]
        parts.append((start, register, _mask(held)))
    return parts


def _mask(held: Sequence[bool]) -> ir.Value:
    bit = ir.IntegerType.get_signless(1)
    kind = ir.VectorType.get([len(held)], bit)
    values = ir.DenseElementsAttr.get([ir.IntegerAttr.get(bit, int(h)) for h in held], kind)
    return arith.ConstantOp(kind, cast(Any, values)).result
