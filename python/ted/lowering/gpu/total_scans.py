"""Running totals -> kernels in which many threads share the time of a point.

Before: a thread for each point p, which goes through all times: `h[t + 1, p] = h[t, p] + x[t, p]`
After: the threads of a block take a few neighbouring times each. They total them, join the totals
of the threads before them by shuffles, and go through their times again from there. With few
points, time is cut into chunks: one kernel makes their totals, the next starts from them.

Where points lie side by side and times do not, a thread takes a point and a chunk of time alone.
The order of what is joined depends on shapes only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ted.lowering.gpu.launching import Launch, launch, only_if
from ted.lowering.gpu.maps import THREADS, linear_thread
from ted.lowering.gpu.points import below, delinearized, plus, times
from ted.lowering.gpu.reductions import is_zero
from ted.lowering.gpu.running_totals import RunningTotal, running_total_of
from ted.lowering.gpu.teams import WARP, Team, shuffled
from ted.lowering.scalars import conditional
from ted.mlir import arith, gpu, ir, memref
from ted.schedules.emit import carried_loop, constant

LEAST = 64  # steps; fewer are made by one thread
ENOUGH = 1 << 14  # points that keep a device busy, with a thread each
BLOCKS = 1 << 9  # that keep a device busy
AT_ONCE = 4  # neighbouring times of a thread
LEAST_CHUNK = 32  # times of a thread that has a chunk alone
Values = list[ir.Value]


@dataclass(frozen=True)
class Plan:
    """Threads on one point and chunk of time (1: alone), and the times of a chunk."""

    threads: int
    chunks: int
    length: int


def plan_of(total: RunningTotal) -> Plan | None:
    """How to share time among threads; None where a thread for each point is as good."""
    steps, points = total.steps, prod(total.extents)
    if steps < LEAST or not points:
        return None
    across = min((abs(total.address.step(c.value)) for c in total.points), default=0)
    along = abs(total.address.step(total.time.value))
    if along > 1 and points >= ENOUGH:
        return None
    if along > 1 and across == 1 and points >= WARP:
        chunks = min(THREADS, -(-ENOUGH // points), steps // LEAST_CHUNK)
        return _cut(1, chunks, steps, 1) if chunks > 1 else None
    threads = WARP
    while threads < THREADS and threads * AT_ONCE < steps:
        threads *= 2
    tile = threads * AT_ONCE
    return _cut(threads, max(1, min(THREADS, BLOCKS // points, steps // (4 * tile))), steps, tile)


def _cut(threads: int, chunks: int, steps: int, tile: int) -> Plan:
    length = -(-steps // (chunks * tile)) * tile
    return Plan(threads, -(-steps // length), length)


def map_running_total(nest: Sequence[ir.Operation], temporaries: Sequence[ir.Value] = ()) -> bool:
    """Build the kernels of a nest at the insertion point, if it is a running total of that size.

    Nothing but the nest uses the `temporaries`, and no step those of another.
    """
    total = running_total_of(nest, temporaries)
    plan = None if total is None else plan_of(total)
    if total is None or plan is None:
        return False
    _map(total, plan)
    return True


def _map(total: RunningTotal, plan: Plan) -> None:
    kind = total.combiner.kind
    memory = None
    if plan.chunks > 1:
        shape = ir.MemRefType.get([plan.chunks, prod(total.extents)], kind)
        memory = memref.AllocOp(shape, [], []).result
    make = _Alone if plan.threads == 1 else _Shared
    if memory is not None:
        make(total, plan, memory).totals()
    make(total, plan, memory).steps()


@dataclass
class _Chunks:
    """What both ways to share time have in common; `memory` has the totals of chunks."""

    total: RunningTotal
    plan: Plan
    memory: ir.Value | None

    @property
    def points(self) -> int:
        return prod(self.total.extents)

    def _times(self, chunk: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first time of a chunk, and the one behind its last; both count from 0."""
        begin = times(chunk, self.plan.length)
        end = plus(begin, self.plan.length)
        return begin, arith.MinUIOp(end, constant(self.total.steps)).result

    def _dims(self, point: ir.Value) -> Values:
        total = self.total
        numbers = delinearized(point, total.extents)
        return [plus(n, c.range[0]) for n, c in zip(numbers, total.points, strict=True)]

    def _time(self, number: ir.Value) -> ir.Value:
        return plus(number, self.total.time.range[0])

    def _start(self, dims: Values) -> ir.Value:
        return self.total.start(dims, constant(self.total.time.range[0]))

    def _summed(
        self, first: ir.Value, end: ir.Value, step: int, value: Callable[[ir.Value], ir.Value]
    ) -> ir.Value:
        """The total of some values, from that of none."""
        join, nothing = self.total.combiner.join, self.total.combiner.identity()
        return carried_loop(
            first, end, step, [nothing], lambda k, carried: [join(carried[0], value(k))]
        )[0]

    def _put(self, value: ir.Value, chunk: ir.Value, point: ir.Value) -> None:
        assert self.memory is not None, "several chunks"
        memref.StoreOp(value, self.memory, [chunk, point])

    def _get(self, chunk: ir.Value, point: ir.Value) -> ir.Value:
        assert self.memory is not None, "several chunks"
        return memref.LoadOp(self.memory, [chunk, point]).result


class _Alone(_Chunks):
    """A thread for each chunk and point."""

    def totals(self) -> None:
        """The totals of all chunks but the last."""

        def make(chunk: ir.Value, point: ir.Value) -> None:
            self._put(self._of_times(*self._times(chunk), self._dims(point)), chunk, point)

        self._launch(self.plan.chunks - 1, make)

    def steps(self) -> None:
        """The steps, from the totals of the chunks before."""

        def make(chunk: ir.Value, point: ir.Value) -> None:
            dims = self._dims(point)
            before = self._summed(constant(0), chunk, 1, lambda k: self._get(k, point))
            begin, end = self._times(chunk)
            start = self.total.combiner.join(self._start(dims), before)
            carried_loop(
                begin, end, 1, [self.total.narrowed(start)],
                lambda k, carried: [self.total.step(dims, self._time(k), carried[0])],
            )  # fmt: skip

        self._launch(self.plan.chunks, make)

    def _of_times(self, begin: ir.Value, end: ir.Value, dims: Values) -> ir.Value:
        return self._summed(begin, end, 1, lambda k: self.total.value(dims, self._time(k)))

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

    def totals(self) -> None:
        """The totals of all chunks but the last."""
        chunks, threads = self.plan.chunks - 1, self.plan.threads
        with launch(chunks * self.points, threads) as kernel:
            point, chunk = delinearized(kernel.block, [self.points, chunks])
            begin, end = self._times(chunk)
            dims = self._dims(point)
            mine = self._summed(
                plus(begin, kernel.thread), end, threads,
                lambda k: self.total.value(dims, self._time(k)),
            )  # fmt: skip
            (whole,) = Team(kernel).joined([mine], [self.total.combiner])
            with only_if(is_zero(kernel.thread)):
                self._put(whole, chunk, point)

    def steps(self) -> None:
        """The steps, from the totals of the chunks before."""
        tile = self.plan.threads * AT_ONCE
        with launch(self.plan.chunks * self.points, self.plan.threads) as kernel:
            point, chunk = delinearized(kernel.block, [self.points, self.plan.chunks])
            dims = self._dims(point)
            begin, end = self._times(chunk)
            start = self._start(dims)
            if self.plan.chunks > 1:
                start = self.total.combiner.join(start, self._before(kernel, chunk, point))
            scan = _Scan(kernel, self.total)
            carried_loop(
                begin, end, tile, [start],
                lambda k, carried: [self._tile(scan, dims, (k, end), carried[0])],
            )  # fmt: skip

    def _before(self, kernel: Launch, chunk: ir.Value, point: ir.Value) -> ir.Value:
        """The total of the chunks before, by all threads."""
        combiner = self.total.combiner
        mine = self._summed(kernel.thread, chunk, self.plan.threads, lambda k: self._get(k, point))
        return Team(kernel).joined([mine], [combiner])[0]

    def _tile(
        self, scan: _Scan, dims: Values, between: tuple[ir.Value, ir.Value], carried: ir.Value
    ) -> ir.Value:
        """The steps of the times that the threads take at once; returns the total behind them."""
        total, combiner = self.total, self.total.combiner
        first = plus(between[0], times(scan.kernel.thread, AT_ONCE))
        places = [plus(first, k) for k in range(AT_ONCE)]
        insides = [_under(place, between[1]) for place in places]
        mine: ir.Value | None = None
        for place, inside in zip(places, insides, strict=True):
            (value,) = conditional(
                inside,
                [combiner.kind],
                lambda at=place: [total.value(dims, self._time(at))],
                lambda: [combiner.identity()],
            )
            mine = value if mine is None else combiner.join(mine, value)
        assert mine is not None, "some times"
        before, after = scan.before_and_after(mine, carried)
        now = total.narrowed(before)
        for place, inside in zip(places, insides, strict=True):
            (now,) = conditional(
                inside,
                [now.type],
                lambda at=place, so_far=now: [total.step(dims, self._time(at), so_far)],
                lambda so_far=now: [so_far],
            )
        return after


class _Scan:
    """Totals of the threads before each thread of a block."""

    def __init__(self, kernel: Launch, total: RunningTotal) -> None:
        self.kernel, self.combiner = kernel, total.combiner
        self.warps = kernel.threads // WARP
        self.memory = Team(kernel).shared([self.warps], total.combiner.kind)
        self.lane = arith.RemUIOp(kernel.thread, constant(WARP)).result
        self.warp = arith.DivUIOp(kernel.thread, constant(WARP)).result

    def before_and_after(self, mine: ir.Value, carried: ir.Value) -> tuple[ir.Value, ir.Value]:
        """What was carried, with all threads before this one; and with all threads."""
        join = self.combiner.join
        offset = 1
        while offset < WARP:
            other = join(shuffled(mine, offset, up=True), mine)
            mine = arith.SelectOp(below(self.lane, offset), mine, other).result
            offset *= 2
        with only_if(is_zero(arith.SubIOp(self.lane, constant(WARP - 1)).result)):
            memref.StoreOp(mine, self.memory, [self.warp])
        gpu.BarrierOp()
        before = after = carried
        for k in range(self.warps):
            whole = join(after, memref.LoadOp(self.memory, [constant(k)]).result)
            is_before = arith.CmpIOp(arith.CmpIPredicate.ult, constant(k), self.warp).result
            before = arith.SelectOp(is_before, whole, before).result
            after = whole
        gpu.BarrierOp()  # the next tile writes there again
        lower = shuffled(mine, 1, up=True)
        own = arith.SelectOp(is_zero(self.lane), before, join(before, lower)).result
        return own, after


def _under(value: ir.Value, bound: ir.Value) -> ir.Value:
    return arith.CmpIOp(arith.CmpIPredicate.ult, value, bound).result
