"""One equation of a recurrence at one step of time.

At a time known here the time dim is one point, and the piece an ordinary one.  At a time known when
the program runs, histories are sliced at it and the piece loses the dim; where the time is mixed
with other dims (all earlier rows), the piece becomes loops in which the time is a known value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ted.lowering.affine_forms import dims_used, linear
from ted.lowering.clocks import Clock
from ted.lowering.decided import decide_selects
from ted.lowering.domain_forms import points
from ted.lowering.loops import emit_loops_at
from ted.lowering.padding import Paddings
from ted.lowering.piece import Constraint, Piece, Read
from ted.lowering.roads import lower_piece
from ted.lowering.scalars import conditional, element_type, index, shape_of
from ted.mlir import arith, ir, tensor

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
    piece: Piece, clock: Clock, time: Time, needed: Sequence[bool], in_window: bool
) -> Values:
    """The piece's points whose time is `time`.

    Results that are not needed may be returned as they were. A piece that writes in a window does
    so at a place that does not depend on the time.
    """
    if not clock.factor:  # stretches end before and after the one time
        at = isinstance(time, StaticTime) and time.time == clock.offset
        return lower_piece(piece, Paddings()) if at else list(piece.inits)
    begin, end = clock.values(*time.span)
    if begin < 0 or end > piece.extents[clock.dim] or begin >= end:
        return list(piece.inits)  # stretches end where boxes do
    lower, extents = [0] * piece.rank, list(piece.extents)
    lower[clock.dim], extents[clock.dim] = begin, end - begin
    piece = piece.cut(tuple(lower), tuple(extents))
    if piece.is_empty:
        return list(piece.inits)
    decide_selects(piece)
    if isinstance(time, StaticTime):
        return lower_piece(piece, Paddings())
    if clock.factor > 1:
        return _now_and_then(
            piece, replace(clock, offset=clock.offset + clock.factor * begin), time
        )
    sliced = _sliced(piece, clock, time, in_window)
    if sliced is None:
        return _loops(piece, clock.dim, time.count)
    if in_window:
        return lower_piece(sliced, Paddings())
    results = lower_piece(sliced, Paddings())
    return [
        _put(part, init, clock.axis, time.now) if used else init
        for part, init, used in zip(results, piece.inits, needed, strict=True)
    ]


def emit_at(piece: Piece, axis: int, time: Time) -> Values:
    """The points of a piece without a clock that write at a known time along dim `axis`."""
    assert isinstance(time, StaticTime), "stretches of several steps have clocks"
    here = Constraint(piece.write[axis] - time.time, is_equality=True)
    return lower_piece(replace(piece, domain=(*piece.domain, here)).settled(), Paddings())


def _loops(piece: Piece, dim: int, value: ir.Value) -> Values:
    return emit_loops_at(piece, points(piece.extents, piece.domain), dim, value)


def _now_and_then(piece: Piece, clock: Clock, time: DynamicTime) -> Values:
    """A piece that is performed in every factor-th step."""
    since = arith.SubIOp(time.now, index(clock.offset)).result
    factor = index(clock.factor)
    rest = arith.RemSIOp(since, factor).result
    due = arith.CmpIOp(arith.CmpIPredicate.eq, rest, index(0)).result
    inits = list(piece.inits)

    def perform() -> Values:
        return _loops(piece, clock.dim, arith.DivSIOp(since, factor).result)

    return conditional(due, [i.type for i in inits], perform, lambda: inits)


# ------------------------------------------------------------------ slices at a dynamic time


def _sliced(piece: Piece, clock: Clock, time: DynamicTime, in_window: bool) -> Piece | None:
    """The piece without its time dim, over slices; None when the time is mixed with other dims."""
    axis, dim = clock.axis, clock.dim
    if _extends_itself(piece):
        return None
    constraints = [*piece.domain, *(c for r in piece.reads if r is not None for c in r.guard)]
    elsewhere = [*piece.write[:axis], *piece.write[axis + 1 :], *(c.expr for c in constraints)]
    if any(dim in dims_used(e) for e in elsewhere) or _counts_time(piece, dim):
        return None
    rest: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(k if k < dim else k - 1) for k in range(piece.rank)
    ]
    rest[dim] = ir.AffineExpr.get_constant(0)
    places = [_time_place(r, piece.rank, dim) for r in piece.reads]
    if any(place is _MIXED for place in places):
        return None
    reads = [
        _sliced_read(r, place, time.count) for r, place in zip(piece.reads, places, strict=True)
    ]
    bare = replace(
        piece,
        reads=tuple(reads),
        iterators=(*piece.iterators[:dim], *piece.iterators[dim + 1 :]),
    )
    if not in_window:
        write = (*piece.write[:axis], *piece.write[axis + 1 :])
        inits = tuple(_slice(t, axis, time.now) for t in piece.inits)
        bare = replace(bare, write=write, inits=inits)
    extents = (*piece.extents[:dim], *piece.extents[dim + 1 :])
    return bare.substituted(rest, extents)


def _extends_itself(piece: Piece) -> bool:
    """Whether each point reads the history that it writes: as a slice, it would be copied."""
    if piece.reduction_dims:
        return False
    return any(r is not None and r.tensor in piece.inits for r in piece.reads)


def _counts_time(piece: Piece, dim: int) -> bool:
    """Whether the body asks for the value of the time dim."""
    for view in piece.body.operations:
        if view.operation.name != "ted.index":
            continue
        which = ir.IntegerAttr(view.operation.attributes["dim"]).value
        if dim in dims_used(piece.coordinates[which]):
            return True
    return False


_MIXED = (-1, 0)


def _time_place(read: Read | None, rank: int, dim: int) -> tuple[int, int] | None:
    """(subscript, shift) of the one subscript that is the time plus a shift; None for none."""
    if read is None:
        return None
    moving = [k for k, e in enumerate(read.subscripts) if dim in dims_used(e)]
    if not moving:
        return None
    form = linear(read.subscripts[moving[0]], rank)
    if len(moving) > 1 or form is None:
        return _MIXED
    others = [c for k, c in enumerate(form[0]) if k != dim]
    if form[0][dim] != 1 or any(others):
        return _MIXED
    return moving[0], form[1]


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
