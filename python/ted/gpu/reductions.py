"""Reductions -> kernels whose order of summation depends on shapes only.

A result belongs to a team of lanes or a whole block that walks along the row together; where
neighbouring results lie side by side in the operands (sums over columns), to a column of threads of
a block. Few results of many points are made in two kernels: partial results of chunks, then theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ted.gpu.bodies import Values, Work, steps_along
from ted.gpu.cooperative_groups import Team, joined_in_warp
from ted.gpu.launching import launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.points import below, delinearized, plus, times
from ted.gpu.strided_loops import strided_loop
from ted.gpu.vector_runs import lanes_along, loads_of_run, moved
from ted.machine import FULL_THREADS, WARP
from ted.mlir import arith, ir, memref
from ted.mlir.building import carried_loop, constant
from ted.mlir.combining import Combiner, combiners
from ted.mlir.scalars import conditional
from ted.records import dataclass

SHORT_ROW = 16  # points that one thread takes even if its neighbours then read far apart
LONG_ROW = 1024  # points from which a block works on one result
RUN_POINTS = 4  # of a lane: from here on it loads vectors
LEAST_CHUNK = 32  # points of a chunk for each thread of its team


@dataclass(frozen=True)
class Plan:
    """Threads on one result, and chunks of its points that are summed apart.

    With `columns` the threads on a result are in as many rows of a block, those next to each other
    work on neighbouring results.
    """

    team: int = 1
    chunks: int = 1
    columns: int = 0


@dataclass(frozen=True)
class Sum:
    """`results` sums over `points` each, whatever they are of."""

    results: int
    points: int
    start: Callable[[], Values]
    step: Callable[
        [ir.Value, ir.Value, Values], Values
    ]  # (result, point, accumulators) -> accumulators
    epilogue: Callable[[ir.Value, Values], None]
    combiners: Sequence[Combiner]
    run: int = 1  # points that a step takes, from the given one on


def map_reduction(work: Work, plan: Plan | None = None) -> None:
    """Build the kernels of a reduction, as `choose` says where no plan is given."""
    plan, found = plan or choose(work), combiners(work)
    if found is None or (plan.team == 1 and not plan.columns):
        one_thread_each(work)
        return
    whole = whole_sum(work, found)
    if plan.chunks > 1:
        _in_chunks(whole, plan)
    elif plan.columns:
        _columns(
            whole,
            plan,
            whole.points,
            lambda _, result, accumulators: whole.epilogue(result, accumulators),
        )
    else:
        _teams(whole, plan.team)


def choose(work: Work) -> Plan:
    """How many threads and chunks; a function of shapes and layouts."""
    results, points = counts(work)
    is_by_columns = results > 1 and _is_by_columns(work)
    if points <= SHORT_ROW or (is_by_columns and results >= FULL_THREADS):
        return Plan()
    return by_columns(work) if is_by_columns else by_teams(work)


def counts(work: Work) -> tuple[int, int]:
    """Results, and the points of each."""
    dims = work.outer, work.reductions
    results, points = (prod(work.extents[d] for d in part) for part in dims)
    return results, points


def by_columns(work: Work) -> Plan:
    """Blocks for some neighbouring results each."""
    results, points = counts(work)
    columns = min(WARP, 1 << (results - 1).bit_length())
    team, groups = THREADS // columns, -(-results // columns)
    chunks = min(FULL_THREADS // (groups * THREADS), points // (team * LEAST_CHUNK))
    return Plan(team, max(1, chunks), columns)


def by_teams(work: Work) -> Plan:
    """Lanes or a block for each result."""
    results, points = counts(work)
    team = WARP if points < LONG_ROW else THREADS
    while team > points:
        team //= 2
    chunks = min(FULL_THREADS // (results * team), points // (team * LEAST_CHUNK))
    return Plan(team, max(1, chunks))


def _is_by_columns(work: Work) -> bool:
    """Whether neighbouring results read neighbouring elements, more so than points in a row."""
    across, along = work.outer[-1], work.reductions[-1]
    operands = [o for o in work.inputs if o.amap is not None]
    score = 0
    for operand in operands:
        right, down = (steps_along(operand, d) for d in (across, along))
        score += int(right in (0, 1)) - int(down in (0, 1))
    return score > 0 or (score == 0 and work.extents[across] >= WARP > work.extents[along])


# ---- one thread each -----------------------------------------------------------------------------


def one_thread_each(work: Work) -> None:
    """One thread for each result, which sums in the order of the loops."""
    extents = [work.extents[d] for d in work.outer]
    total = prod(extents)
    threads = min(THREADS, max(WARP, -(-total // WARP) * WARP))
    blocks = -(-total // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        with only_if(None if total == blocks * threads else below(item, total)):
            one_result(work, delinearized(item, extents))


def one_result(work: Work, outer: Values) -> None:
    """Sum one result in the order of the loops, and put it away."""
    dims = placed(work, outer, [])
    for output, value in zip(work.outputs, sums_at(work, dims), strict=True):
        output.store(value, dims)


def sums_at(work: Work, dims: Values) -> Values:
    """The sums at a point, made in the order of the loops; without reductions, its values."""
    return _serial(work, dims, work.reductions, work.before(dims))


def placed(work: Work, outer: Values, inner: Values) -> Values:
    """All dims of a point; without `inner`, for what does not depend on them."""
    dims: list[ir.Value | None] = [None] * len(work.extents)
    for dim, value in zip(work.outer, outer, strict=True):
        dims[dim] = value
    for dim, value in zip(work.reductions, inner, strict=False):
        dims[dim] = value
    zero = None if all(d is not None for d in dims) else constant(0)
    return [d if d is not None else zero for d in dims]  # pyright: ignore[reportReturnType]


def _serial(work: Work, dims: Values, left: list[int], accumulators: Values) -> Values:
    """Loops over the dims that are left, around the body."""
    if not left:
        return work.values(dims, work.loads(dims), accumulators)
    dim, *inner = left

    def body(index: ir.Value, carried: Sequence[ir.Value]) -> Values:
        here = [*dims[:dim], index, *dims[dim + 1 :]]
        return _serial(work, here, inner, list(carried))

    return carried_loop(0, work.extents[dim], 1, accumulators, body)


# ---- teams ---------------------------------------------------------------------------------------


def whole_sum(work: Work, found: Sequence[Combiner], run: int | None = None) -> Sum:
    """The reduction with results and points as numbers; `run` is chosen where it is not given."""
    outer = [work.extents[d] for d in work.outer]
    inner = [work.extents[d] for d in work.reductions]
    points = prod(inner)

    def dims_of(result: ir.Value, point: ir.Value | None) -> Values:
        rest = [] if point is None else delinearized(point, inner)
        return placed(work, delinearized(result, outer), rest)

    last = work.reductions[-1]
    if run is None:
        run = lanes_along(work, last) if points >= WARP * RUN_POINTS else 1

    def step(result: ir.Value, point: ir.Value, accumulators: Values) -> Values:
        dims = dims_of(result, point)
        for k, loaded in enumerate(loads_of_run(work, dims, last, run)):
            accumulators = work.values(moved(dims, last, k), loaded, accumulators)
        return accumulators

    def epilogue(result: ir.Value, accumulators: Values) -> None:
        dims = dims_of(result, None)
        old = work.before(dims)
        for k, output in enumerate(work.outputs):
            output.store(found[k].join(old[k], accumulators[k]), dims)

    def start() -> Values:
        return [c.identity() for c in found]

    return Sum(prod(outer), points, start, step, epilogue, found, run)


def _teams(whole: Sum, team: int) -> None:
    """A kernel with `team` threads on each result."""
    many = min(THREADS, -(-whole.results * team // WARP) * WARP)
    threads = team if team > WARP else max(team, many)
    blocks = -(-whole.results * team // threads)
    with launch(blocks, threads) as kernel:
        if team > WARP:
            result_of_team(Team(kernel), whole, kernel.block)
            return
        item = linear_thread(kernel)
        result = arith.DivUIOp(item, constant(team)).result
        lane = arith.RemUIOp(item, constant(team)).result
        is_full = blocks * threads == whole.results * team
        team_results(whole, result, lane, team, is_full=is_full)


def team_results(whole: Sum, result: ir.Value, lane: ir.Value, team: int, *, is_full: bool) -> None:
    """One result for each team inside a warp; all lanes come here, also those without a result."""
    inside = None if is_full else below(result, whole.results)
    accumulators = _where(inside, whole, lambda: _all_of_lane(whole, result, lane, team))
    accumulators = joined_in_warp(accumulators, whole.combiners, team)
    with only_if(_both(is_zero(lane), inside)):
        whole.epilogue(result, accumulators)


def is_zero(value: ir.Value) -> ir.Value:
    """value == 0."""
    return arith.CmpIOp(arith.CmpIPredicate.eq, value, constant(0)).result


def _where(inside: ir.Value | None, whole: Sum, accumulated: Callable[[], Values]) -> Values:
    """What a thread accumulates; that of no points where it has no result."""
    if inside is None:
        return accumulated()
    return conditional(inside, [c.kind for c in whole.combiners], accumulated, whole.start)


def _both(left: ir.Value, right: ir.Value | None) -> ir.Value:
    return left if right is None else arith.AndIOp(left, right).result


def _all_of_lane(whole: Sum, result: ir.Value, lane: ir.Value, team: int) -> Values:
    """All points of a lane of a team."""
    return strided_loop(
        times(lane, whole.run), whole.points, team * whole.run, whole.start(),
        lambda point, accumulators: whole.step(result, point, accumulators),
    )  # fmt: skip


def _strided(whole: Sum, result: ir.Value, first: ir.Value, end: ir.Value, step: int) -> Values:
    """The points of a thread from `first` on, `step` runs apart."""
    return carried_loop(
        first, end, step * whole.run, whole.start(),
        lambda point, accumulators: whole.step(result, point, list(accumulators)),
    )  # fmt: skip


def result_of_team(team: Team, whole: Sum, result: ir.Value, *, for_all: bool = False) -> None:
    """One result by all threads of a team; each puts it away where that is `for_all`."""
    partial = _all_of_lane(whole, result, team.thread, team.threads)
    accumulators = team.joined(partial, whole.combiners)
    with only_if(None if for_all else is_zero(team.thread)):
        whole.epilogue(result, accumulators)


# ---- chunks --------------------------------------------------------------------------------------


def _in_chunks(whole: Sum, plan: Plan) -> None:
    """Partial results of chunks into a buffer, then these joined."""
    length = _length(whole, plan)
    chunks = -(-whole.points // length)
    memories = [
        memref.AllocOp(ir.MemRefType.get([chunks, whole.results], c.kind), [], []).result
        for c in whole.combiners
    ]

    def put(chunk: ir.Value, result: ir.Value, accumulators: Values) -> None:
        for memory, total in zip(memories, accumulators, strict=True):
            memref.StoreOp(total, memory, [chunk, result])

    if plan.columns:
        _columns(whole, plan, length, put)
    else:
        _row_chunks(whole, plan.team, chunks, length, put)

    def step(result: ir.Value, chunk: ir.Value, accumulators: Values) -> Values:
        parts = [memref.LoadOp(m, [chunk, result]).result for m in memories]
        return [c.join(t, p) for c, t, p in zip(whole.combiners, accumulators, parts, strict=True)]

    last = Sum(whole.results, chunks, whole.start, step, whole.epilogue, whole.combiners)
    by_columns = plan.columns and whole.results >= THREADS
    _teams(last, 1 if by_columns else min(WARP, _power(chunks)))


def _length(whole: Sum, plan: Plan) -> int:
    """Points of a chunk: about the same in all; exactly, if a number near that divides them."""
    least = -(-whole.points // (plan.chunks * whole.run)) * whole.run
    equal = (n for n in range(least, 2 * least, whole.run) if whole.points % n == 0)
    return next(equal, least)


def _power(number: int) -> int:
    """The largest power of two up to a number."""
    return 1 << (number.bit_length() - 1)


Put = Callable[[ir.Value, ir.Value, Values], None]


def _columns(whole: Sum, plan: Plan, length: int, put: Put) -> None:
    """A block for neighbouring results, in rows of threads that share the points of a chunk."""
    columns, rows = plan.columns, plan.team
    groups, chunks = -(-whole.results // columns), -(-whole.points // length)
    with launch(chunks * groups, THREADS) as kernel:
        chunk, group = delinearized(kernel.block, [chunks, groups])
        row, lane = delinearized(kernel.thread, [rows, columns])
        result = plus(times(group, columns), lane)
        is_full = whole.results % columns == 0
        inside = None if is_full else below(result, whole.results)
        partial = _where(
            inside, whole, lambda: _of_chunk(whole, result, chunk, length, (row, rows))
        )
        accumulators = _joined_rows(Team(kernel), whole.combiners, partial, row, columns)
        with only_if(_both(is_zero(row), inside)):
            put(chunk, result, accumulators)


def _joined_rows(
    team: Team, combiners: Sequence[Combiner], accumulators: Values, row: ir.Value, columns: int
) -> Values:
    """The rows of threads of a block joined in the first: half of them take what the others have.

    A fixed tree, as among the lanes of a warp.
    """
    memories = [team.shared([team.threads], c.kind) for c in combiners]
    for memory, total in zip(memories, accumulators, strict=True):
        memref.StoreOp(total, memory, [team.thread])
    half = team.threads // columns // 2
    while half:
        team.wait()
        with only_if(below(row, half)):
            other = plus(team.thread, half * columns)
            for combiner, memory in zip(combiners, memories, strict=True):
                parts = [memref.LoadOp(memory, [k]).result for k in (team.thread, other)]
                memref.StoreOp(combiner.join(*parts), memory, [team.thread])
        half //= 2
    return [memref.LoadOp(memory, [team.thread]).result for memory in memories]


def _row_chunks(whole: Sum, team: int, chunks: int, length: int, put: Put) -> None:
    with launch(chunks * whole.results, max(team, WARP)) as kernel:
        chunk, result = delinearized(kernel.block, [chunks, whole.results])
        own = Team(kernel)
        partial = _of_chunk(whole, result, chunk, length, (own.thread, own.threads))
        accumulators = own.joined(partial, whole.combiners)
        with only_if(is_zero(kernel.thread)):
            put(chunk, result, accumulators)


def _of_chunk(
    whole: Sum, result: ir.Value, chunk: ir.Value, length: int, share: tuple[ir.Value, int]
) -> Values:
    """The points of a thread in a chunk; the number of its turns is known where chunks are equal.

    `share`: its number, and of how many threads.
    """
    begin, end = _bounds(chunk, length, whole.points)
    number, threads = share
    first = times(number, whole.run)
    if whole.points % length:
        return _strided(whole, result, plus(begin, first), end, threads)
    return strided_loop(
        first, length, threads * whole.run, whole.start(),
        lambda point, accumulators: whole.step(result, plus(begin, point), accumulators),
    )  # fmt: skip


def _bounds(chunk: ir.Value, length: int, points: int) -> tuple[ir.Value, ir.Value]:
    begin = times(chunk, length)
    end = plus(begin, length)
    return begin, arith.MinUIOp(end, constant(points)).result
