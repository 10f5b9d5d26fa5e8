"""Maps that read across rows -> square tiles in shared memory, so that both sides are in order.

Before: `b[i, j] = f(a[j, i])`: neighbouring threads write side by side, and read a row apart
After: a block takes 32 x 32 points. It reads `a` along its rows into a tile, waits, and writes `b`
along its rows from the tile's columns; rows of the tile are 33 long, against conflicts of banks.
A side that is short is one of a tile that is as much longer along the other one: 4 x 256 points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

from ted.gpu.bodies import Operand, Values, Work, steps_along
from ted.gpu.cooperative_groups import Team
from ted.gpu.launching import Launch, launch, only_if
from ted.gpu.points import below, delinearized, plus, times
from ted.machine import SECTOR_BYTES, STATIC_SHARED_BYTES
from ted.mlir import arith, ir, memref
from ted.mlir.scalars import byte_width
from ted.records import dataclass

TILE = 32
POINTS = TILE * TILE  # of any tile
THREADS = 256
LEAST = 16  # shorter dims fill too little of a square tile
LONGEST = 256  # side of a tile


@dataclass(frozen=True)
class Turn:
    """Inputs, by position, that are contiguous along dim `across` and not along the last one."""

    across: int
    inputs: tuple[int, ...]


def turn_of(work: Work) -> Turn | None:
    """What a map reads across its rows; None if all is read in order."""
    rank = len(work.extents)
    last = rank - 1
    if work.reductions or rank < 2 or work.extents[last] < 2:
        return None
    if any(steps_along(o, last) != 1 for o in work.outputs):
        return None
    found: dict[int, list[int]] = {}
    for k, operand in enumerate(work.inputs):
        across = _contiguous(work, operand) if work.uses(k) else None
        if across is not None and across != last and _helps(work, operand, across):
            found.setdefault(across, []).append(k)
    if not found:
        return None
    across = max(found, key=lambda d: (len(found[d]), d))
    return Turn(across, _fitting(work, across, found[across]))


def _helps(work: Work, operand: Operand, across: int) -> bool:
    """Whether tiles are full, and what they move along either side is no part of a sector."""
    rank = len(work.extents)
    down, right = _sides(work, across)
    if down * right < THREADS:
        return False
    ways = [(operand, across, rank - 1), *((o, rank - 1, across) for o in work.outputs)]
    return all(
        work.extents[along] >= LEAST
        or work.extents[along] * byte_width(o.element) >= SECTOR_BYTES
        or steps_along(o, next_one) == work.extents[along]
        for o, along, next_one in ways
    )


def _sides(work: Work, across: int) -> tuple[int, int]:
    """Points of a tile along the memory of its inputs, and of its results."""
    whole = [work.extents[d] for d in (across, len(work.extents) - 1)]
    down, right = (TILE if e >= LEAST else 1 << (e - 1).bit_length() for e in whole)
    if right < TILE:
        down = min(POINTS // right, LONGEST, 1 << (whole[0] - 1).bit_length())
    elif down < TILE:
        right = min(POINTS // down, LONGEST, 1 << (whole[1] - 1).bit_length())
    return down, right


def _row(down: int, right: int) -> int:
    """Elements of a row of a tile; those that threads take together are in different banks."""
    return down + max(1, TILE // right)


def _fitting(work: Work, across: int, inputs: Sequence[int]) -> tuple[int, ...]:
    """The first inputs whose tiles fit beside each other; others are read a row apart."""
    down, right = _sides(work, across)
    chosen, room = [], STATIC_SHARED_BYTES
    for k in inputs:
        size = right * _row(down, right) * byte_width(work.inputs[k].element)
        if size <= room:
            chosen.append(k)
            room -= size
    return tuple(chosen)


def _contiguous(work: Work, operand: Operand) -> int | None:
    """The dim along which an operand lies side by side, if it jumps along the last one."""
    rank = len(work.extents)
    if operand.amap is None or abs(steps_along(operand, rank - 1)) <= 1:
        return None
    steps = [steps_along(operand, d) for d in range(rank)]
    return steps.index(1) if 1 in steps else None


def map_turned(work: Work, turn: Turn) -> None:
    """Build the kernel of a map that reads across its rows."""
    extents = list(work.extents)
    last = len(extents) - 1
    size = _sides(work, turn.across)
    tiles = [-(-extents[d] // side) for d, side in zip((turn.across, last), size, strict=True)]
    others = [d for d in range(len(extents)) if d not in (turn.across, last)]
    counts = [*(extents[d] for d in others), *tiles]
    with launch(prod(counts), THREADS) as kernel:
        *outer, down, right = delinearized(kernel.block, counts)
        fixed = dict(zip(others, outer, strict=True))
        first = times(down, size[0]), times(right, size[1])
        _Tile(work, turn, kernel, fixed, *first, *size).build()


@dataclass
class _Tile:
    work: Work
    turn: Turn
    kernel: Launch
    fixed: dict[int, ir.Value]
    across: ir.Value  # where the tile begins
    along: ir.Value
    down: int  # its sides
    right: int

    def build(self) -> None:
        team = Team(self.kernel)
        kinds = [self.work.inputs[k].element for k in self.turn.inputs]
        shape = [self.right, _row(self.down, self.right)]
        tiles = [team.shared(shape, kind) for kind in kinds]
        steps = range(self.down * self.right // self.kernel.threads)
        items = [plus(self.kernel.thread, k * self.kernel.threads) for k in steps]
        for item in items:  # along the memory of the inputs
            row, fast = delinearized(item, [self.right, self.down])
            with self._point(fast, row) as dims:
                for k, tile in zip(self.turn.inputs, tiles, strict=True):
                    memref.StoreOp(self.work.inputs[k].load(dims), tile, [row, fast])
        team.wait()
        for item in items:  # along the memory of the results
            row, fast = delinearized(item, [self.down, self.right])
            with self._point(row, fast) as dims:
                self._compute(dims, tiles, [fast, row])

    @contextmanager
    def _point(self, down: ir.Value, right: ir.Value) -> Iterator[Values]:
        """Build for a point of the tile, where it is a point of the box."""
        extents, last = self.work.extents, len(self.work.extents) - 1
        across, along = plus(self.across, down), plus(self.along, right)
        tests = [
            below(value, extents[d])
            for value, d, side in ((across, self.turn.across, self.down), (along, last, self.right))
            if extents[d] % side
        ]
        inside = None
        for test in tests:
            inside = test if inside is None else arith.AndIOp(inside, test).result
        known = {**self.fixed, self.turn.across: across, last: along}
        with only_if(inside):
            yield [known[d] for d in range(len(extents))]

    def _compute(self, dims: Values, tiles: list[ir.Value], place: Values) -> None:
        work = self.work
        turned = dict(zip(self.turn.inputs, tiles, strict=True))
        loaded = [
            memref.LoadOp(turned[k], place).result
            if k in turned
            else (o.load(dims) if work.uses(k) else o.value)
            for k, o in enumerate(work.inputs)
        ]
        values = work.values(dims, loaded, work.before(dims))
        for output, value in zip(work.outputs, values, strict=True):
            output.store(value, dims)
