"""What an equation of an inner step reads of the outer step itself, and what of earlier ones.

Before: in a step of (t, s), reads of `%h[t, s - 1]` and `%h[t - 1, s]`, `ted.load %h[%t, %data]`
After: the first is of the slice of the outer step, `%h[s - 1]`, and so is `ted.load %h[%data]`; the
second is of the history as it was before that step

What is both, at some points each, comes in two equations (`transforms/outer_times.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ted.dialects.ted import LoadOp
from ted.errors import ScheduleError
from ted.linalg.data_reads import checked_dims
from ted.linalg.domain_forms import points
from ted.linalg.scan_bodies import StepEquation
from ted.linalg.storage_folding import history_loads, load_ago, steps_ago
from ted.linalg.subdomain import Constraint, Read
from ted.mlir import ir
from ted.mlir.locations import source_location


def own_reads(
    around: StepEquation, histories: Collection[int], times: Sequence[int], reverse: bool
) -> set[int]:
    """The reads of some histories at the time of the outer step that an equation is in.

    Raises: ScheduleError for one of this step at some points, and of earlier ones at others.
    """
    found = set[int]()
    pairs = zip(around.subdomain.reads, around.sources, strict=False)
    for k, (read, source) in enumerate(pairs):
        if read is None or source is None or source not in histories:
            continue
        ago = steps_ago(around, read, source, times, reverse)
        own = ago == 0 if ago is not None else _is_of_step(around, read, source, times)
        if own is None:
            raise _refusal(around, "several")
        if own:
            found.add(k)
    return found


def _is_of_step(around: StepEquation, read: Read, source: int, times: Sequence[int]) -> bool | None:
    """Whether a read is of the step that its equation is in; None if only at some points."""
    subdomain = around.subdomain
    apart = subdomain.write[times[around.target]] - read.subscripts[times[source]]
    same = Constraint(apart, is_equality=True)
    if same.decide(subdomain.extents) is False:
        return False
    made = points(subdomain.extents, (*subdomain.domain, *read.guard))
    here = points(subdomain.extents, (*subdomain.domain, *read.guard, same))
    return False if here.is_empty() else True if made.is_subset(here) else None


def are_own_loads(
    around: StepEquation, histories: Collection[int], times: Sequence[int], reverse: bool
) -> dict[ir.Operation, bool]:
    """Whether the reads of some histories at data are of the outer step.

    Raises: ScheduleError where the outer time is data, too.
    """
    found: dict[ir.Operation, bool] = {}
    for load, source in history_loads(around):
        if source in histories:
            ago = load_ago(around, load, source, times, reverse)
            if ago is None:
                raise _refusal(around, "one that is data")
            found[load] = ago == 0
    return found


def of_slice(load: ir.Operation, axis: int) -> ir.Operation:
    """A read at data, of a slice already, without the index of the dim that is gone."""
    source, predicate, *where = load.operands
    checked = [d - (d > axis) for d in checked_dims(load) if d != axis]
    mode = ir.StringAttr(load.attributes["mode"]).value
    del where[axis]
    with ir.InsertionPoint(load):
        made = LoadOp.build(
            source, predicate, where, mode=mode, loc=load.location,
            checked=checked if mode == "check" else None,
        )  # fmt: skip
    load.results[0].replace_all_uses_with(made.operation.results[0])
    load.erase()
    return made.operation


def _refusal(around: StepEquation, got: str) -> ScheduleError:
    return ScheduleError(
        "recurrence in a step of another one: what it reads of itself is of one step of the outer "
        f"one, the same or an earlier one, got {got}; read the earlier ones of a copy that the "
        "outer step makes",
        source_location(around.op.location),
    )
