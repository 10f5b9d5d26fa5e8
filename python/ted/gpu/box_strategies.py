"""Rows of the table for boxes of points: loops over rows, contractions, reductions and maps."""

from __future__ import annotations

from functools import partial
from typing import Any

from ted.errors import CompileError
from ted.gpu import reductions, rows
from ted.gpu.bodies import Work
from ted.gpu.contractions import Planned
from ted.gpu.maps import THREADS, lanes_of, map_points
from ted.gpu.padded_views import is_padded
from ted.gpu.reductions import Plan as Reduction
from ted.gpu.reductions import map_reduction
from ted.gpu.sites import Site
from ted.gpu.transposes import map_turned, turn_of
from ted.machine import MOST_THREADS, WARP
from ted.mlir import ir
from ted.mlir.building import scratch
from ted.mlir.combining import combiners
from ted.mlir.strategies import Declined, Strategy
from ted.records import dataclass

_NO_TEMPLATES = "no template may be used inside of a condition or of another kernel"


def _finished_contraction(site: Site) -> Any:
    if site.templates is None:
        return Declined(_NO_TEMPLATES)
    first = site.start[0] if site.start else None
    found = site.templates.match_finished(site.op, first, site.dependences)
    if isinstance(found, str):
        return Declined(found)
    assert found.finishing is not None, "what is behind it is a part of the plan"
    is_taken = found.finishing.consumer in site.taken
    return Declined("what reads the result asks for a kernel of its own") if is_taken else found


def _with_consumer(site: Site, plan: Planned) -> tuple[ir.Operation, ...]:
    assert plan.finishing is not None, "the row is of contractions with other work"
    return plan.finishing.temporary, site.op, plan.finishing.consumer


def _contraction(site: Site) -> Any:
    if site.templates is None:
        return Declined(_NO_TEMPLATES)
    first = site.start[0] if site.start else None
    found = site.templates.match(site.op, first)
    if isinstance(found, str) and any(map(is_padded, site.op.operands)):
        raise CompileError(f"gpu: only templates read a padding that is no memory, got {site.op}")
    return Declined(found) if isinstance(found, str) else found


def _emit_contraction(site: Site, plan: Planned) -> None:
    assert site.templates is not None, "the row matched"
    place = site.op if plan.finishing is None else plan.finishing.consumer
    with ir.InsertionPoint(place), place.location:
        site.templates.launch(plan)


def _only_chosen(_: Site, plan: Planned) -> str:
    return "tiles and splits are those that its costs choose"


@dataclass(frozen=True)
class Rows:
    """Teams of a block, each for a row, and the threads of a team."""

    teams: int
    threads: int


@dataclass(frozen=True)
class Points:
    """Neighbouring points of a thread."""

    lanes: int


@dataclass(frozen=True)
class Tiles:
    """The dim along which the inputs are contiguous that pass through shared memory."""

    across: int


def _rows(site: Site) -> Any:
    if site.op.name != "scf.forall":
        return Declined("no loop over rows")
    return Rows(*rows.plan_of(site.op))


def _check_rows(_: Site, plan: Rows) -> str | None:
    if plan.threads < WARP or plan.threads & (plan.threads - 1) or plan.teams < 1:
        return f"teams are whole, with a power of two of threads from {WARP} on"
    if plan.teams > 1 and plan.threads != WARP:
        return f"several teams of a block are warps, of {WARP} threads"
    if plan.teams * plan.threads > MOST_THREADS:
        return f"a block has at most {MOST_THREADS} threads"
    return None


def _reduction(kind: str, site: Site) -> Any:
    """The plan of a reduction in one of four kinds."""
    if site.raw_work is None or not site.raw_work.reductions:
        return Declined("no box of points that are summed")
    with scratch():
        work = site.work()
        chosen = _chosen(work)
        if _kind(chosen) == kind:
            return chosen
        results, points = reductions.counts(work)
        reason = f"{results} results of {points} points go to {_kind(chosen)}"
        return Declined(reason, _other(kind, work))


def _chosen(work: Work) -> Reduction:
    return Reduction() if combiners(work) is None else reductions.choose(work)


def _kind(plan: Reduction) -> str:
    if plan.chunks > 1:
        return "chunks"
    return "columns" if plan.columns else "teams" if plan.team > 1 else "threads"


def _other(kind: str, work: Work) -> Reduction | None:
    """What a row would do that another one is better than; None where it cannot."""
    if kind == "threads":
        return Reduction()
    if combiners(work) is None:
        return None
    found = {"teams": reductions.by_teams, "columns": reductions.by_columns}.get(kind)
    plan = None if found is None else found(work)
    return None if plan is None or _kind(plan) != kind else plan


def _check_reduction(site: Site, plan: Reduction) -> str | None:
    for number in (plan.team, plan.columns or 1):
        if not 1 <= number <= THREADS or number & (number - 1):
            return f"threads and columns are powers of two up to {THREADS}"
    if plan.columns and plan.team * plan.columns != THREADS:
        return f"columns times the threads of each are {THREADS}"
    if not plan.columns and plan.chunks > 1 and plan.team < WARP:
        return f"chunks have teams of {WARP} threads and more"
    return None if plan.chunks >= 1 else "there is a chunk"


def _emit_reduction(site: Site, plan: Reduction) -> None:
    map_reduction(site.work(), plan)


def _turned(site: Site) -> Any:
    if site.raw_work is None or site.raw_work.reductions:
        return Declined("no map")
    with scratch():
        turn = turn_of(site.work())
    return Declined("no input is read across its rows, in tiles that are full") \
        if turn is None else Tiles(turn.across)  # fmt: skip


def _emit_turned(site: Site, _: Tiles) -> None:
    work = site.work()
    turn = turn_of(work)
    assert turn is not None, "the row matched"
    map_turned(work, turn)


def _only_across(_: Site, plan: Tiles) -> str:
    return "the inputs decide which dim goes through tiles"


def _points(site: Site) -> Any:
    if site.raw_work is None or site.raw_work.reductions:
        return Declined("no map")
    with scratch():
        return Points(lanes_of(site.work()))


def _check_points(site: Site, plan: Points) -> str | None:
    most = _points(site).lanes
    if 1 <= plan.lanes <= most and most % plan.lanes == 0:
        return None
    return f"lanes divide {most}"


REDUCTIONS = {
    "reduction_by_chunks": "chunks",
    "reduction_by_columns": "columns",
    "reduction_by_teams": "teams",
    "reduction_by_threads": "threads",
}
FINISHED = Strategy(
    "contraction_with_epilogue", _finished_contraction, _emit_contraction, _with_consumer,
    _only_chosen,
)  # fmt: skip
BOXES = (
    Strategy(
        "rows", _rows, lambda s, p: rows.map_rows(s.op, p.teams, p.threads), check=_check_rows
    ),
    Strategy("contraction", _contraction, _emit_contraction, check=_only_chosen),
    *(
        Strategy(name, partial(_reduction, kind), _emit_reduction, check=_check_reduction)
        for name, kind in REDUCTIONS.items()
    ),
    Strategy("transposed_tiles", _turned, _emit_turned, check=_only_across),
    Strategy("points", _points, lambda s, p: map_points(s.work(), p.lanes), check=_check_points),
)
