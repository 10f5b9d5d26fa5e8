"""Prefix scans: sums and linear recurrences -> kernels in which threads share the time of a point.

Before: a thread for each point p, which goes through all times: `h[t + 1, p] = h[t, p] + x[t, p]`
After: the threads of a block take a few neighbouring times each. They reduce them, join what
the threads before them have by shuffles, and go through their times again from there. With few
points, time is cut into chunks: one kernel makes their summaries, the next starts from them.

Where points lie side by side and times do not, a thread takes a point and a chunk of time alone.
The order of what is joined depends on shapes only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from ted.gpu.cooperative_groups import Team, shuffled
from ted.gpu.launching import Launch, launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.points import below, delinearized, plus, times
from ted.gpu.prefix_scans import PrefixScan
from ted.gpu.reductions import is_zero
from ted.gpu.segment_summaries import Segments
from ted.machine import BUSY_BLOCKS, BUSY_THREADS, WARP
from ted.mlir import arith, gpu, ir, memref
from ted.mlir.building import carried_loop, constant
from ted.mlir.scalars import conditional
from ted.records import dataclass

LEAST = 64  # steps; fewer are made by one thread
AT_ONCE = 4  # neighbouring times of a thread
LEAST_CHUNK = 32  # times of a thread that has a chunk alone
Values = list[ir.Value]
_Time = tuple[ir.Value, ir.Value]  # a time, and whether it is a step


@dataclass(frozen=True)
class Plan:
    """Threads on one point and chunk of time (1: alone), and the times of a chunk."""

    threads: int
    chunks: int
    length: int


def plan_of(scan: PrefixScan) -> Plan | None:
    """How to share time among threads; None where a thread for each point is as good."""
    steps, points = scan.steps, prod(scan.extents)
    if steps < LEAST or not points:
        return None
    across = min((abs(scan.layout.offset[c.value]) for c in scan.points), default=0)
    along = abs(scan.layout.offset[scan.time.value])
    if along > 1 and points >= BUSY_THREADS:
        return None
    if along > 1 and across == 1 and points >= WARP:
        chunks = min(THREADS, -(-BUSY_THREADS // points), steps // LEAST_CHUNK)
        return _cut(1, chunks, steps, 1) if chunks > 1 else None
    threads = WARP
    while threads < THREADS and threads * AT_ONCE < steps:
        threads *= 2
    tile = threads * AT_ONCE
    return _cut(
        threads, max(1, min(THREADS, BUSY_BLOCKS // points, steps // (4 * tile))), steps, tile
    )


def _cut(threads: int, chunks: int, steps: int, tile: int) -> Plan:
    length = -(-steps // (chunks * tile)) * tile
    return Plan(threads, -(-steps // length), length)


def map_prefix_scan(scan: PrefixScan, plan: Plan) -> None:
    """Build the kernels at the insertion point."""
    memories: Values = []
    if plan.chunks > 1:
        points = prod(scan.extents)
        kinds = [scan.segments.kind, *scan.segments.kinds]
        shapes = [[1, points], *[[plan.chunks, points]] * (len(kinds) - 1)]
        memories = [
            memref.AllocOp(ir.MemRefType.get(shape, kind), [], []).result
            for shape, kind in zip(shapes, kinds, strict=True)
        ]
    make = _Alone if plan.threads == 1 else _Shared
    if memories:
        make(scan, plan, memories).summaries()
    make(scan, plan, memories).steps()


@dataclass
class _Chunks:
    """What both ways to share time have in common.

    `memories` are where states start from, which the last step may overwrite, and then the values
    of the chunks; none if there is one chunk.
    """

    scan: PrefixScan
    plan: Plan
    memories: Values

    @property
    def points(self) -> int:
        return prod(self.scan.extents)

    def _times(self, chunk: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first time of a chunk, and the one behind its last; both count from 0."""
        begin = times(chunk, self.plan.length)
        end = plus(begin, self.plan.length)
        return begin, arith.MinUIOp(end, constant(self.scan.steps)).result

    def _dims(self, point: ir.Value) -> Values:
        scan = self.scan
        numbers = delinearized(point, scan.extents)
        return [plus(n, c.range[0]) for n, c in zip(numbers, scan.points, strict=True)]

    def _time(self, number: ir.Value) -> ir.Value:
        return plus(number, self.scan.time.range[0])

    def _start(self, dims: Values, point: ir.Value) -> ir.Value:
        if not self.memories:
            return self.scan.start(dims)
        return memref.LoadOp(self.memories[0], [constant(0), point]).result

    def _put(self, segment: Values, chunk: ir.Value, point: ir.Value) -> None:
        for value, memory in zip(segment, self.memories[1:], strict=True):
            memref.StoreOp(value, memory, [chunk, point])
        with only_if(is_zero(chunk)):
            start = self.scan.start(self._dims(point))
            memref.StoreOp(start, self.memories[0], [constant(0), point])

    def _get(self, chunk: ir.Value, point: ir.Value) -> Values:
        return [memref.LoadOp(m, [chunk, point]).result for m in self.memories[1:]]


class _Alone(_Chunks):
    """A thread for each chunk and point."""

    def summaries(self) -> None:
        """What all chunks but the last do to the state."""
        segments = self.scan.segments

        def make(chunk: ir.Value, point: ir.Value) -> None:
            dims, (begin, end) = self._dims(point), self._times(chunk)

            def join(k: ir.Value, carried: Sequence[ir.Value]) -> Values:
                return segments.joined(list(carried), self.scan.segment(dims, self._time(k)))

            self._put(carried_loop(begin, end, 1, segments.identity(), join), chunk, point)

        self._launch(self.plan.chunks - 1, make)

    def steps(self) -> None:
        """The steps, from the state behind the chunks before."""

        def make(chunk: ir.Value, point: ir.Value) -> None:
            dims, (begin, end) = self._dims(point), self._times(chunk)
            (start,) = carried_loop(
                0, chunk, 1, [self._start(dims, point)],
                lambda k, carried: [self.scan.segments.applied(carried[0], self._get(k, point))],
            )  # fmt: skip
            carried_loop(
                begin, end, 1, [self.scan.narrowed(start)],
                lambda k, carried: [self.scan.step(dims, self._time(k), carried[0])],
            )  # fmt: skip

        self._launch(self.plan.chunks, make)

    def _launch(self, chunks: int, make: Callable[[ir.Value, ir.Value], None]) -> None:
        count = chunks * self.points
        blocks = -(-count // THREADS)
        with launch(blocks, THREADS) as kernel:
            item = linear_thread(kernel)
            with only_if(None if count == blocks * THREADS else below(item, count)):
                chunk, point = delinearized(item, [chunks, self.points])
                make(chunk, point)


class _Shared(_Chunks):
    """A block for each chunk and point."""

    def summaries(self) -> None:
        """What all chunks but the last do to the state."""
        chunks, segments = self.plan.chunks - 1, self.scan.segments
        with launch(chunks * self.points, self.plan.threads) as kernel:
            point, chunk = delinearized(kernel.block, [self.points, chunks])
            begin, end = self._times(chunk)
            dims, in_block = self._dims(point), _BlockScan(kernel, segments)

            def tile(first: ir.Value, carried: Sequence[ir.Value]) -> Values:
                mine = self._mine(dims, self._own_times(kernel, first, end))
                return in_block.behind(mine, list(carried))

            step = self.plan.threads * AT_ONCE
            whole = carried_loop(begin, end, step, segments.identity(), tile)
            with only_if(is_zero(kernel.thread)):
                self._put(whole, chunk, point)

    def steps(self) -> None:
        """The steps, from the state behind the chunks before."""
        scan = self.scan
        with launch(self.plan.chunks * self.points, self.plan.threads) as kernel:
            point, chunk = delinearized(kernel.block, [self.points, self.plan.chunks])
            begin, end = self._times(chunk)
            dims, in_block = self._dims(point), _BlockScan(kernel, scan.segments)
            start = self._start(dims, point)
            if self.memories:
                start = scan.segments.applied(start, self._before(in_block, chunk, point))

            def tile(first: ir.Value, carried: Sequence[ir.Value]) -> Values:
                own = self._own_times(kernel, first, end)
                before, after = in_block.around(self._mine(dims, own), carried[0])
                self._steps(dims, own, scan.narrowed(before))
                return [after]

            carried_loop(begin, end, self.plan.threads * AT_ONCE, [start], tile)

    def _before(self, in_block: _BlockScan, chunk: ir.Value, point: ir.Value) -> Values:
        """What the chunks before do to the state: each thread takes one of them."""
        segments, thread = self.scan.segments, in_block.kernel.thread
        mine = conditional(
            _under(thread, chunk), segments.kinds, lambda: self._get(thread, point),
            segments.identity,
        )  # fmt: skip
        return in_block.behind(mine, segments.identity())

    def _own_times(self, kernel: Launch, first: ir.Value, end: ir.Value) -> list[_Time]:
        """The times that a thread takes at once, and whether they are in the chunk."""
        mine = plus(first, times(kernel.thread, AT_ONCE))
        own = [plus(mine, k) for k in range(AT_ONCE)]
        return [(self._time(time), _under(time, end)) for time in own]

    def _mine(self, dims: Values, own: Sequence[_Time]) -> Values:
        """What the steps of a thread do to the state."""
        segments = self.scan.segments
        found = [
            conditional(
                inside, segments.kinds, lambda at=time: self.scan.segment(dims, at),
                segments.identity,
            )
            for time, inside in own
        ]  # fmt: skip
        return reduce(segments.joined, found)

    def _steps(self, dims: Values, own: Sequence[_Time], state: ir.Value) -> None:
        for time, inside in own:
            (state,) = conditional(
                inside, [state.type],
                lambda at=time, now=state: [self.scan.step(dims, at, now)],
                lambda now=state: [now],
            )  # fmt: skip


class _BlockScan:
    """What the threads before each thread of a block do to a state."""

    def __init__(self, kernel: Launch, segments: Segments) -> None:
        self.kernel, self.segments = kernel, segments
        self.warps = kernel.threads // WARP
        self.memories = [Team(kernel).shared([self.warps], k) for k in segments.kinds]
        self.lane = arith.RemUIOp(kernel.thread, constant(WARP)).result
        self.warp = arith.DivUIOp(kernel.thread, constant(WARP)).result

    def behind(self, mine: Values, carried: Values) -> Values:
        """What was carried and all threads do together."""
        for whole in self._shared(mine)[1]:
            carried = self.segments.joined(carried, whole)
        gpu.BarrierOp()  # the next ones write there again
        return carried

    def around(self, mine: Values, carried: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The state behind the threads before this one, and that behind all threads."""
        mine, wholes = self._shared(mine)
        before = after = carried
        for k, whole in enumerate(wholes):
            after = self.segments.applied(after, whole)
            is_before = _under(constant(k), self.warp)
            before = arith.SelectOp(is_before, after, before).result
        gpu.BarrierOp()  # the next ones write there again
        lower = [shuffled(m, 1, up=True) for m in mine]
        own = self.segments.applied(before, lower)
        return arith.SelectOp(is_zero(self.lane), before, own).result, after

    def _shared(self, mine: Values) -> tuple[Values, list[Values]]:
        """What the lanes up to each lane do, and what each warp does."""
        offset = 1
        while offset < WARP:
            others = [shuffled(m, offset, up=True) for m in mine]
            is_first = below(self.lane, offset)
            mine = [
                arith.SelectOp(is_first, m, o).result
                for m, o in zip(mine, self.segments.joined(others, mine), strict=True)
            ]
            offset *= 2
        with only_if(is_zero(arith.SubIOp(self.lane, constant(WARP - 1)).result)):
            for value, memory in zip(mine, self.memories, strict=True):
                memref.StoreOp(value, memory, [self.warp])
        gpu.BarrierOp()
        wholes: list[Values] = [
            [memref.LoadOp(m, [constant(k)]).result for m in self.memories]
            for k in range(self.warps)
        ]
        return mine, wholes


def _under(value: ir.Value, bound: ir.Value) -> ir.Value:
    return arith.CmpIOp(arith.CmpIPredicate.ult, value, bound).result
