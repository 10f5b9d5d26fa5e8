"""Rows of the table for loops: recurrences of points that do not meet, and nests over scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ted.gpu import point_loops, scan_kernels
from ted.gpu.loop_nests import map_box
from ted.gpu.owner_scatters import MOST_PARTS
from ted.gpu.prefix_scans import prefix_scan_of
from ted.gpu.privatised_accumulators import map_copies
from ted.gpu.privatised_accumulators import plan_of as copies_of
from ted.gpu.scan_kernels import map_prefix_scan
from ted.gpu.sites import Site
from ted.gpu.update_lists import LEAST, has_chains, map_chains
from ted.mlir import ir
from ted.mlir.strategies import Declined, Plain, Strategy
from ted.records import dataclass

_NO_SCAN = "no prefix scan of many steps, or a thread for each point is as good"


def _shared_time(site: Site) -> Any:
    if not point_loops.is_point_loop(site.op):
        return Declined("no loop over time whose points do not meet")
    found = point_loops.plan_of(site.op)
    return found or Declined(_NO_SCAN)


def _point_loop(site: Site) -> Any:
    found = point_loops.is_point_loop(site.op)
    return Plain() if found else Declined("no loop over time whose points do not meet")


@dataclass(frozen=True)
class Owners:
    """Parts of a result that threads own."""

    parts: int


def _prefix_scan(site: Site) -> Any:
    scan = prefix_scan_of(site.nest.operations)
    found = None if scan is None else scan_kernels.plan_of(scan)
    return found or Declined(_NO_SCAN)


def _emit_prefix_scan(site: Site, plan: scan_kernels.Plan) -> None:
    scan = prefix_scan_of(site.nest.operations)
    assert scan is not None, "the row matched"
    map_prefix_scan(scan, plan)


def _atomics(site: Site) -> Any:
    if site.deterministic:
        return Declined("the order of updates must not depend on chance")
    nest = site.nest
    found = len(nest.around_update) > len(nest.parallel)
    return Plain() if found else Declined("no update at data that an atomic operation makes")


def _copies(site: Site) -> Any:
    updates = site.nest.updates
    if updates is None:
        return Declined("it does not only update elements at data")
    found = copies_of(updates)
    return found or Declined(
        f"{updates.count} updates of {updates.bins} elements: copies cost more"
    )


def _emit_copies(site: Site, plan: Any) -> None:
    assert site.nest.updates is not None, "the row matched"
    map_copies(site.nest.updates, plan)


def _chains(site: Site) -> Any:
    updates = site.nest.updates
    if updates is None:
        return Declined("it does not only update elements at data")
    reason = f"{updates.count} updates, from {LEAST} on whose elements are known before"
    return Plain() if has_chains(updates) else Declined(reason)


def _emit_chains(site: Site, _: Plain) -> None:
    assert site.nest.updates is not None, "the row matched"
    map_chains(site.nest.updates)


def _owners(site: Site) -> Any:
    parts = site.nest.parts
    return Owners(parts) if parts > 1 else Declined("no write at data that threads can share")


def _check_owners(site: Site, plan: Owners) -> str | None:
    return None if 1 <= plan.parts <= MOST_PARTS else f"parts are 1 to {MOST_PARTS}"


def _nest(
    name: str,
    match: Callable[[Site], Any],
    emit: Callable[[Site, Any], None],
    check: Callable[[Site, Any], str | None] = lambda *_: None,
) -> Strategy:
    """A row for scalars and loops over them."""

    def matched(site: Site) -> Any:
        is_one = site.group and site.op.name != "scf.forall"
        return match(site) if is_one else Declined("no scalars or loops over them")

    return Strategy(name, matched, _behind(emit), lambda site, _: site.group, check)


def _behind(emit: Callable[[Site, Any], None]) -> Callable[[Site, Any], None]:
    """The kernel of a nest stands behind the views between its operations."""

    def at_end(site: Site, plan: Any) -> None:
        with ir.InsertionPoint(site.span[-1]), site.op.location:
            emit(site, plan)

    return at_end


def _fixed(_: Site, plan: Any) -> str:
    return "its numbers follow from the shapes"


POINT_LOOPS = (
    Strategy("shared_time", _shared_time, lambda s, p: point_loops.map_shared_time(s.op, p),
             check=_fixed),
    Strategy("point_loop", _point_loop, lambda s, _: point_loops.map_point_loop(s.op)),
)  # fmt: skip
NESTS = (
    _nest("prefix_scan", _prefix_scan, _emit_prefix_scan, _fixed),
    _nest("atomics", _atomics, lambda s, _: map_box(s.nest, atomic=True)),
    _nest("copies", _copies, _emit_copies, _fixed),
    _nest("chains", _chains, _emit_chains),
    _nest("owners", _owners, lambda s, p: map_box(s.nest, p.parts), _check_owners),
    _nest("loop_points", lambda _: Plain(), lambda s, _: map_box(s.nest)),
)
