"""Tiles on their way from an operand to shared memory, a run of elements per thread and step.

Before: the tile A[m0 .. m0+rows, k0 .. k0+depth] of an operand anywhere in memory. After: the same
tile in shared memory, dense but for a padding, with zeros where k is past its end. Rows past the
end repeat the last ones: what they add to is never stored. So every access is in bounds without a
branch. Where an operand has bounds (a padding that is not in memory), a run that is out of them is
zero as well, and what is accessed for it is the first run.
"""

from __future__ import annotations

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Condition, Number, offset
from ted.gpu.templates.kernels import Memory, masked, slice_of
from ted.gpu.templates.problem import Layout
from ted.mlir import ir
from ted.records import dataclass


@dataclass(frozen=True)
class Limit:
    """A coordinate of the runs of one batch: `base` plus a part of the row and a part of k.

    Runs whose coordinate is not in [0, extent) are zero.
    """

    base: Number
    rows: Layout
    reduction: Layout
    extent: int


@dataclass(frozen=True)
class Source:
    """An operand's memory with its layouts along the outer index (m or n) and along k.

    `overshoots`: tiles are asked for that lie behind the end of k altogether; they are zeros.
    """

    memory: Memory
    base: Number
    rows: Layout
    reduction: Layout
    row_count: int
    depth_count: int
    overshoots: bool = False
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class TileShape:
    """`rows` x `depth` elements that `threads` fetch in runs of `width`, along k or along rows."""

    rows: int
    depth: int
    width: int
    along_k: bool
    threads: int

    @property
    def steps(self) -> int:
        """Runs per thread."""
        return max(1, self.rows * self.depth // (self.width * self.threads))

    @property
    def runs(self) -> int:
        """Runs of the whole tile; with fewer than threads, the last threads repeat the first."""
        return self.rows * self.depth // self.width

    def places(self, thread: Number) -> list[tuple[Number, Number]]:
        """(row, k) in the tile of each run of one thread."""
        per_line = (self.depth if self.along_k else self.rows) // self.width
        found = []
        first = thread if self.runs >= self.threads else integers.remainder(thread, self.runs)
        fast0 = integers.remainder(first, min(per_line, self.threads))
        slow0 = integers.divide(first, per_line) if per_line < self.threads else 0
        for step in range(self.steps):
            number = step * self.threads
            fast = integers.add(fast0, number % per_line)
            slow = integers.add(slow0, number // per_line)
            fast = integers.scale(fast, self.width)
            found.append((slow, fast) if self.along_k else (fast, slow))
        return found


class Fetch:
    """The runs of one thread: positions that do not change with k are computed once."""

    def __init__(self, source: Source, shape: TileShape, first_row: Number, thread: Number):
        self.source = source
        self.shape = shape
        self.places = shape.places(thread)
        bound = source.row_count - (1 if shape.along_k else shape.width)
        ragged = source.row_count % shape.rows != 0
        cache: dict[object, list[Number]] = {}
        self.row_positions: list[Number] = []
        self.row_coordinates: list[list[Number]] = []
        for row, _ in self.places:
            if row not in cache:
                number = integers.add(first_row, row)
                number = integers.minimum(number, bound) if ragged else number
                cache[row] = [
                    integers.add(moving.base, offset(number, moving.rows))
                    for moving in (source, *source.limits)
                ]
            position, *coordinates = cache[row]
            self.row_positions.append(position)
            self.row_coordinates.append(coordinates)

    def positions(self, first_k: Number) -> list[tuple[Number, Condition]]:
        """Where each run of the tile at `first_k` lies, and whether it is there at all."""
        found: dict[object, tuple[list[Number], Condition]] = {}
        result = []
        rows = zip(self.places, self.row_positions, self.row_coordinates, strict=True)
        for (_, k), row_position, row_coordinates in rows:
            if k not in found:
                found[k] = self._along_k(integers.add(first_k, k))
            (position, *coordinates), inside = found[k]
            position = integers.add(row_position, position)
            if self.source.limits:
                sums = map(integers.add, row_coordinates, coordinates)
                for limit, coordinate in zip(self.source.limits, sums, strict=True):
                    inside = integers.both(inside, integers.less(coordinate, limit.extent))
                position = integers.choose_number(inside, position, 0)
            result.append((position, inside))
        return result

    def _along_k(self, k: Number) -> tuple[list[Number], Condition]:
        """What k adds to the position and to each coordinate, and whether it is before its end."""
        source, shape = self.source, self.shape
        inside: Condition = True
        if source.depth_count % shape.depth != 0 or source.overshoots:
            bound = source.depth_count - (shape.width if shape.along_k else 1)
            inside = integers.less(k, source.depth_count)
            k = integers.minimum(k, bound)
        return [offset(k, moving.reduction) for moving in (source, *source.limits)], inside

    def load(self, first_k: Number) -> list[ir.Value]:
        """The runs of the tile at `first_k` in registers."""
        return [
            masked(inside, self.source.memory.load(position, self.shape.width))
            for position, inside in self.positions(first_k)
        ]


def put_runs(
    fetch: Fetch, runs: list[ir.Value], target: Memory, first: Number, strides: tuple[int, int]
) -> None:
    """Write fetched runs to shared memory, where `strides` are of a row and of a step of k."""
    shape = fetch.shape
    row_stride, k_stride = strides
    run_stride = k_stride if shape.along_k else row_stride
    for (row, k), run in zip(fetch.places, runs, strict=True):
        position = integers.total(
            first, integers.scale(row, row_stride), integers.scale(k, k_stride)
        )
        if run_stride == 1:
            target.store(run, position)
            continue
        for place in range(shape.width):
            at = integers.add(position, place * run_stride)
            target.store(slice_of(run, place, 1), at)
