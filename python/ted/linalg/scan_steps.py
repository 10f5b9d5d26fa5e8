"""One equation of a recurrence at one step of time.

At a time known here the time dim is one point, and the subdomain an ordinary one.  At a time known
when the program runs, tensors are sliced at it (a place of a history, a block of columns) and the
subdomain loses the dim; where what is read is no slice (all earlier rows), the subdomain becomes
loops in which the time is a known value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from ted.linalg.blocked_contractions import blocks_of, emit_blocks
from ted.linalg.decided_parts import decided_parts
from ted.linalg.domain_forms import points
from ted.linalg.folded_predicates import decide_selects
from ted.linalg.loops import emit_loops_at
from ted.linalg.padding import Paddings
from ted.linalg.sliced_dims import reads_sliced
from ted.linalg.slices import put_at, slice_at, without
from ted.linalg.strategies import begun, lower_subdomain, refuse_form
from ted.linalg.subdomain import Constraint, Subdomain
from ted.linalg.timestamps import Timestamp
from ted.mlir import arith, ir
from ted.mlir.scalars import conditional, index
from ted.mlir.storage import is_memory
from ted.records import dataclass

Values = list[ir.Value]
Fixed: TypeAlias = "tuple[tuple[int, ir.Value], ...]"


@dataclass(frozen=True)
class StaticTime:
    """A step whose time is a number."""

    time: int

    @property
    def span(self) -> tuple[int, int]:
        """The times, as a half-open range."""
        return self.time, self.time + 1


@dataclass(frozen=True)
class DynamicTime:
    """A step of a loop over the times [begin, end): `now` = begin + `count`."""

    begin: int
    end: int
    count: ir.Value
    now: ir.Value

    @property
    def span(self) -> tuple[int, int]:
        """The times, as a half-open range."""
        return self.begin, self.end


Time: TypeAlias = "StaticTime | DynamicTime"


def emit_step(
    subdomain: Subdomain,
    timestamp: Timestamp,
    time: Time,
    needed: Sequence[bool],
    in_window: bool,
    fixed: Fixed = (),
    blocks: bool = False,
) -> Values:
    """The subdomain's points whose time is `time`.

    Results that are not needed may be returned as they were. A subdomain that writes in a window
    does so at a place that does not depend on the time. Dims that are `fixed` have values already.
    With `blocks`, loops from and to bounds of the step may have contractions in them.
    """
    part = at_time(subdomain, timestamp, time)
    if part is None:
        return list(begun(subdomain).inits)
    subdomain, begin = part
    if isinstance(time, StaticTime):
        return _static(subdomain, fixed, blocks)
    if timestamp.factor > 1:
        since = replace(timestamp, offset=timestamp.offset + timestamp.factor * begin)
        return _now_and_then(subdomain, since, time, fixed, blocks)
    sliced = None if fixed else _sliced(subdomain, timestamp, time, in_window)
    if sliced is None:
        return _loops(subdomain, (*fixed, (timestamp.dim, time.count)), blocks)
    if in_window:
        return lower_subdomain(sliced, Paddings())
    results = lower_subdomain(sliced, Paddings())
    return [
        put_at(part, init, timestamp.axis, time.now) if used else init
        for part, init, used in zip(results, subdomain.inits, needed, strict=True)
    ]


def at_time(subdomain: Subdomain, timestamp: Timestamp, time: Time) -> tuple[Subdomain, int] | None:
    """The part of a subdomain in a stretch of time, and the first value of its time dim."""
    if not timestamp.factor:  # stretches end before and after the one time
        at = isinstance(time, StaticTime) and time.time == timestamp.offset
        return (subdomain, 0) if at else None
    found = within(subdomain, timestamp, time)
    if found is None:
        return None
    decide_selects(found)
    return found, timestamp.values(*time.span)[0]


def within(subdomain: Subdomain, timestamp: Timestamp, time: Time) -> Subdomain | None:
    """The points of a subdomain in a stretch of time; None for none, or only now and then."""
    begin, end = timestamp.values(*time.span)
    if begin < 0 or end > subdomain.extents[timestamp.dim] or begin >= end:
        return None  # stretches end where boxes do
    lower, extents = [0] * subdomain.rank, list(subdomain.extents)
    lower[timestamp.dim], extents[timestamp.dim] = begin, end - begin
    part = subdomain.cut(tuple(lower), tuple(extents))
    return None if part.is_empty else part


def emit_at(
    subdomain: Subdomain, axis: int, time: Time, fixed: Fixed = (), blocks: bool = False
) -> Values:
    """The points of a subdomain without a timestamp that write at a known time along dim `axis`."""
    return _static(only_at(subdomain, axis, time), fixed, blocks)


def _static(subdomain: Subdomain, fixed: Fixed, blocks: bool) -> Values:
    """A subdomain at a known time."""
    return _loops(subdomain, fixed, blocks) if fixed else lower_subdomain(subdomain, Paddings())


def only_at(subdomain: Subdomain, axis: int, time: Time) -> Subdomain:
    """The points of a subdomain without a timestamp that write at a known time along dim `axis`."""
    assert isinstance(time, StaticTime), "stretches of several steps have timestamps"
    here = Constraint(subdomain.write[axis] - time.time, is_equality=True)
    return replace(subdomain, domain=(*subdomain.domain, here)).settled()


def _loops(subdomain: Subdomain, fixed: Fixed, blocks: bool) -> Values:
    subdomain = begun(subdomain)
    if subdomain.is_empty:
        return list(subdomain.inits)
    rule = "an equation that reads or writes at several times of a step becomes loops"
    refuse_form(subdomain.body.owner.operation, rule)
    found = blocks_of(subdomain, [d for d, _ in fixed]) if blocks else None
    if found is not None:
        return emit_blocks(subdomain, found, fixed)
    where = points(subdomain.extents, subdomain.domain)
    parts = decided_parts(subdomain, where) if blocks else [(subdomain, where)]
    return emit_loops_at(subdomain, parts, fixed)


def _now_and_then(
    subdomain: Subdomain, timestamp: Timestamp, time: DynamicTime, fixed: Fixed, blocks: bool
) -> Values:
    """A subdomain that is performed in every factor-th step."""
    since = arith.SubIOp(time.now, index(timestamp.offset)).result
    factor = index(timestamp.factor)
    rest = arith.RemSIOp(since, factor).result
    due = arith.CmpIOp(arith.CmpIPredicate.eq, rest, index(0)).result
    inits = list(subdomain.inits)

    def perform() -> Values:
        now = arith.DivSIOp(since, factor).result
        return _loops(subdomain, (*fixed, (timestamp.dim, now)), blocks)

    return conditional(due, [i.type for i in inits], perform, lambda: inits)


# ------------------------------------------------------------------ slices at a dynamic time


def _sliced(
    subdomain: Subdomain, timestamp: Timestamp, time: DynamicTime, in_window: bool
) -> Subdomain | None:
    """The subdomain without its time dim, over slices; None where something is no slice."""
    axis, dim = timestamp.axis, timestamp.dim
    if _extends_itself(subdomain):
        return None
    rest = replace(subdomain, write=without(subdomain.write, axis))
    bare = reads_sliced(rest, dim, time.count)
    if bare is None:
        return None
    if in_window:
        bare = replace(bare, write=subdomain.write)
    else:
        inits = tuple(slice_at(t, axis, time.now) for t in subdomain.inits)
        bare = replace(bare, inits=inits)
    return bare.without_dim(dim)


def _extends_itself(subdomain: Subdomain) -> bool:
    """Whether each point reads the history that it writes: a slice of a tensor would be copied."""
    if subdomain.reduction_dims or is_memory(subdomain.inits[0]):
        return False
    return any(r is not None and r.tensor in subdomain.inits for r in subdomain.reads)
