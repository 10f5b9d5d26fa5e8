"""One equation of a recurrence at one step of time.

At a time known here the time dim is one point, and the subdomain an ordinary one.  At a time known
when the program runs, histories are sliced at it and the subdomain loses the dim; where the time is
mixed with other dims (all earlier rows), the subdomain becomes loops in which the time is a known
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ted.linalg.domain_forms import points
from ted.linalg.folded_predicates import decide_selects
from ted.linalg.loops import emit_loops_at
from ted.linalg.padding import Paddings
from ted.linalg.strategies import lower_subdomain, refuse_form
from ted.linalg.subdomain import Constraint, Read, Subdomain
from ted.linalg.timestamps import Timestamp
from ted.mlir import arith, ir, tensor
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.scalars import conditional, element_type, index, shape_of

Values = list[ir.Value]


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
    subdomain: Subdomain, timestamp: Timestamp, time: Time, needed: Sequence[bool], in_window: bool
) -> Values:
    """The subdomain's points whose time is `time`.

    Results that are not needed may be returned as they were. A subdomain that writes in a window
    does so at a place that does not depend on the time.
    """
    if not timestamp.factor:  # stretches end before and after the one time
        at = isinstance(time, StaticTime) and time.time == timestamp.offset
        return lower_subdomain(subdomain, Paddings()) if at else list(subdomain.inits)
    begin, end = timestamp.values(*time.span)
    if begin < 0 or end > subdomain.extents[timestamp.dim] or begin >= end:
        return list(subdomain.inits)  # stretches end where boxes do
    lower, extents = [0] * subdomain.rank, list(subdomain.extents)
    lower[timestamp.dim], extents[timestamp.dim] = begin, end - begin
    subdomain = subdomain.cut(tuple(lower), tuple(extents))
    if subdomain.is_empty:
        return list(subdomain.inits)
    decide_selects(subdomain)
    if isinstance(time, StaticTime):
        return lower_subdomain(subdomain, Paddings())
    if timestamp.factor > 1:
        return _now_and_then(
            subdomain, replace(timestamp, offset=timestamp.offset + timestamp.factor * begin), time
        )
    sliced = _sliced(subdomain, timestamp, time, in_window)
    if sliced is None:
        return _loops(subdomain, timestamp.dim, time.count)
    if in_window:
        return lower_subdomain(sliced, Paddings())
    results = lower_subdomain(sliced, Paddings())
    return [
        _put(part, init, timestamp.axis, time.now) if used else init
        for part, init, used in zip(results, subdomain.inits, needed, strict=True)
    ]


def emit_at(subdomain: Subdomain, axis: int, time: Time) -> Values:
    """The points of a subdomain without a timestamp that write at a known time along dim `axis`."""
    assert isinstance(time, StaticTime), "stretches of several steps have timestamps"
    here = Constraint(subdomain.write[axis] - time.time, is_equality=True)
    return lower_subdomain(
        replace(subdomain, domain=(*subdomain.domain, here)).settled(), Paddings()
    )


def _loops(subdomain: Subdomain, dim: int, value: ir.Value) -> Values:
    rule = "an equation that reads or writes at several times of a step becomes loops"
    refuse_form(subdomain.body.owner.operation, rule)
    return emit_loops_at(subdomain, points(subdomain.extents, subdomain.domain), dim, value)


def _now_and_then(subdomain: Subdomain, timestamp: Timestamp, time: DynamicTime) -> Values:
    """A subdomain that is performed in every factor-th step."""
    since = arith.SubIOp(time.now, index(timestamp.offset)).result
    factor = index(timestamp.factor)
    rest = arith.RemSIOp(since, factor).result
    due = arith.CmpIOp(arith.CmpIPredicate.eq, rest, index(0)).result
    inits = list(subdomain.inits)

    def perform() -> Values:
        return _loops(subdomain, timestamp.dim, arith.DivSIOp(since, factor).result)

    return conditional(due, [i.type for i in inits], perform, lambda: inits)


# ------------------------------------------------------------------ slices at a dynamic time


def _sliced(
    subdomain: Subdomain, timestamp: Timestamp, time: DynamicTime, in_window: bool
) -> Subdomain | None:
    """The subdomain without its time dim, over slices; None when time is mixed with other dims."""
    axis, dim = timestamp.axis, timestamp.dim
    if _extends_itself(subdomain):
        return None
    constraints = [
        *subdomain.domain,
        *(c for r in subdomain.reads if r is not None for c in r.guard),
    ]
    elsewhere = [
        *subdomain.write[:axis],
        *subdomain.write[axis + 1 :],
        *(c.expr for c in constraints),
    ]
    if any(dim in dims_used(e) for e in elsewhere) or _counts_time(subdomain, dim):
        return None
    rest: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(k if k < dim else k - 1) for k in range(subdomain.rank)
    ]
    rest[dim] = ir.AffineExpr.get_constant(0)
    places = [_time_place(r, dim) for r in subdomain.reads]
    if any(place is _MIXED for place in places):
        return None
    reads = [
        _sliced_read(r, place, time.count) for r, place in zip(subdomain.reads, places, strict=True)
    ]
    bare = replace(
        subdomain,
        reads=tuple(reads),
        iterators=(*subdomain.iterators[:dim], *subdomain.iterators[dim + 1 :]),
    )
    if not in_window:
        write = (*subdomain.write[:axis], *subdomain.write[axis + 1 :])
        inits = tuple(_slice(t, axis, time.now) for t in subdomain.inits)
        bare = replace(bare, write=write, inits=inits)
    extents = (*subdomain.extents[:dim], *subdomain.extents[dim + 1 :])
    return bare.substituted(rest, extents)


def _extends_itself(subdomain: Subdomain) -> bool:
    """Whether each point reads the history that it writes: as a slice, it would be copied."""
    if subdomain.reduction_dims:
        return False
    return any(r is not None and r.tensor in subdomain.inits for r in subdomain.reads)


def _counts_time(subdomain: Subdomain, dim: int) -> bool:
    """Whether the body asks for the value of the time dim."""
    for view in subdomain.body.operations:
        if view.operation.name != "ted.index":
            continue
        which = ir.IntegerAttr(view.operation.attributes["dim"]).value
        if dim in dims_used(subdomain.coordinates[which]):
            return True
    return False


_MIXED = (-1, 0)


def _time_place(read: Read | None, dim: int) -> tuple[int, int] | None:
    """(subscript, shift) of the one subscript that is the time plus a shift; None for none."""
    if read is None:
        return None
    moving = [k for k, e in enumerate(read.subscripts) if dim in dims_used(e)]
    if not moving:
        return None
    form = linear(read.subscripts[moving[0]])
    if len(moving) > 1 or form is None or form.terms != ((dim, 1),):
        return _MIXED
    return moving[0], form.constant


def _sliced_read(read: Read | None, place: tuple[int, int] | None, count: ir.Value) -> Read | None:
    if read is None or place is None:
        return read
    at, shift = place
    where = count if shift == 0 else arith.AddIOp(count, index(shift)).result
    subscripts = (*read.subscripts[:at], *read.subscripts[at + 1 :])
    return replace(read, tensor=_slice(read.tensor, at, where), subscripts=subscripts)


def _geometry(shape: tuple[int, ...], axis: int) -> tuple[list[int], list[int], list[int]]:
    offsets, sizes = [0] * len(shape), list(shape)
    offsets[axis], sizes[axis] = ir.ShapedType.get_dynamic_stride_or_offset(), 1
    return offsets, sizes, [1] * len(shape)


def _slice(source: ir.Value, axis: int, at: ir.Value) -> ir.Value:
    """The tensor at one place of a dim, without the dim."""
    shape = shape_of(source)
    kind = ir.RankedTensorType.get([*shape[:axis], *shape[axis + 1 :]], element_type(source))
    return tensor.ExtractSliceOp(kind, source, [at], [], [], *_geometry(shape, axis)).result


def _put(part: ir.Value, whole: ir.Value, axis: int, at: ir.Value) -> ir.Value:
    """The inverse of `_slice`."""
    shape = shape_of(whole)
    return tensor.InsertSliceOp(part, whole, [at], [], [], *_geometry(shape, axis)).result
