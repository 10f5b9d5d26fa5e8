"""When the points of an equation are performed: the time of a recurrence as a form of one dim.

Before: a subdomain that writes at time `2 * d0 + 1`, or `7 - d0`, or always at time 7
After: a timestamp, with which steps of time become values of the dim, and cuts between stretches of
time in which every condition on the time alone has one answer
"""

from __future__ import annotations

from dataclasses import replace

from ted.linalg.data_reads import checked_dims
from ted.linalg.subdomain import Constraint, Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, single_dim
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import shape_of
from ted.records import dataclass

FEW = 32  # times at which a condition that is not linear may change its answer


@dataclass(frozen=True)
class Timestamp:
    """The time of a subdomain's points: `write[axis] = factor * d_dim + offset`.

    The factor is positive; it is 0, and there is no dim, when all points have the same time.
    """

    axis: int
    dim: int
    factor: int
    offset: int

    def values(self, begin: int, end: int) -> tuple[int, int]:
        """The values of the dim with times in [begin, end), as a half-open range."""
        return _up(begin - self.offset, self.factor), _up(end - self.offset, self.factor)

    def span(self, subdomain: Subdomain) -> tuple[int, int]:
        """The times of a box that is performed in every step, as a half-open range."""
        return self.offset, self.offset + subdomain.extents[self.dim]

    def cuts(self, subdomain: Subdomain) -> set[int]:
        """Times at which the subdomain begins, ends, or a condition on the time alone changes."""
        if not self.factor:
            return {self.offset, self.offset + 1}
        last = self.offset + self.factor * (subdomain.extents[self.dim] - 1)
        guards = [c for r in subdomain.reads if r is not None for c in r.guard]
        turns = {
            v for c in (*subdomain.domain, *guards) for v in _turning_points(c, subdomain, self.dim)
        }
        return {self.offset, last + 1, *(self.factor * v + self.offset for v in turns)}


def with_timestamp(subdomain: Subdomain, axis: int) -> tuple[Subdomain, Timestamp | None]:
    """The subdomain, its time dim running forwards, and its timestamp; None when it has none."""
    form = single_dim(subdomain.write[axis])
    if form is None:
        return subdomain, None
    dim, factor, offset = form
    if factor < 0:
        offset += factor * (subdomain.extents[dim] - 1)
        return subdomain.flipped(dim), Timestamp(axis, dim, -factor, offset)
    return subdomain, Timestamp(axis, dim, factor, offset)


# ------------------------------------------------------------------ times without points
#
# Before: `h[t + 1, i] += a[r, i]` for r <= t < 7 of eight steps, r < 8: no points in the first one
# After: `h[t, i] += a[r, i]` for r <= t - 1, t < 8: the loop over r has no turns in the first step
#
# So the first step, and the last one, need no code of their own. Where only the box ends the points
# it stays: a test in each step would be in the way of what is around it.


def over_steps(
    subdomain: Subdomain, timestamp: Timestamp, steps: int
) -> tuple[Subdomain, Timestamp]:
    """The subdomain over all steps on a side where its conditions leave it no points anyway."""
    if timestamp.factor != 1:
        return subdomain, timestamp
    begin, end = timestamp.span(subdomain)
    first = 0 if _may_be_without(subdomain, timestamp, 0, begin) else begin
    last = steps if _may_be_without(subdomain, timestamp, end, steps) else end
    return over_times(subdomain, timestamp, first, last)


def over_times(
    subdomain: Subdomain, timestamp: Timestamp, first: int, last: int
) -> tuple[Subdomain, Timestamp]:
    """The subdomain in a larger box of times, with no more points than before."""
    begin, end = timestamp.span(subdomain)
    if first >= begin and last <= end:
        return subdomain, timestamp
    known = [
        side
        for side, (a, b) in enumerate(((first, begin), (end, last)))
        if a < b and not _has_none(subdomain, timestamp, a, b)
    ]
    wider = _in_times(subdomain, timestamp, first, last)
    here = ir.AffineExpr.get_dim(timestamp.dim)
    ends = (here - (begin - first), (end - first - 1) - here)
    wider = replace(wider, domain=(*wider.domain, *(Constraint(ends[side]) for side in known)))
    return wider, replace(timestamp, offset=first)


def _in_times(subdomain: Subdomain, timestamp: Timestamp, first: int, last: int) -> Subdomain:
    lower, extents = [0] * subdomain.rank, list(subdomain.extents)
    lower[timestamp.dim], extents[timestamp.dim] = first - timestamp.offset, last - first
    return subdomain.cut(tuple(lower), tuple(extents))


def _has_none(subdomain: Subdomain, timestamp: Timestamp, begin: int, end: int) -> bool:
    """Whether a box of times has no points by a condition."""
    return begin < end and _in_times(subdomain, timestamp, begin, end).is_empty


def _may_be_without(subdomain: Subdomain, timestamp: Timestamp, begin: int, end: int) -> bool:
    """Whether a box of times has no points, and what would be read there is inside of tensors."""
    rest = (e for k, e in enumerate(subdomain.write) if k != timestamp.axis)
    if subdomain.writes_at_data or timestamp.dim in dims_used(*rest):
        return False
    if not _has_none(subdomain, timestamp, begin, end):
        return False
    loads = (v.operation for v in subdomain.body.operations if v.operation.name == "ted.load")
    bare = replace(
        subdomain, domain=(), reads=tuple(r and replace(r, guard=()) for r in subdomain.reads)
    )
    there = _in_times(bare, timestamp, begin, end)
    return not any(map(checked_dims, loads)) and all(
        _is_inside(e, extent, there)
        for read in there.reads
        if read is not None
        for e, extent in zip(read.subscripts, shape_of(read.tensor), strict=True)
    )


def _is_inside(subscript: ir.AffineExpr, extent: int, subdomain: Subdomain) -> bool:
    low, high = value_range(subscript, subdomain.extents)
    return low >= 0 and high < extent


def _turning_points(constraint: Constraint, subdomain: Subdomain, dim: int) -> set[int]:
    """Values of the time dim at which a condition on it alone changes its answer."""
    if dims_used(constraint.expr) != {dim}:
        return set()
    form = single_dim(constraint.expr)
    if form is None:
        # Of remainders: better tested in each step than each step a subdomain of code.
        return set(range(subdomain.extents[dim] + 1)) if subdomain.extents[dim] <= FEW else set()
    _, factor, constant = form
    if constraint.is_equality:
        at = -constant // factor
        return {at, at + 1}
    # factor * d + constant >= 0 begins to hold, or ends to, at the rounded root.
    return {-(constant // factor)} if factor > 0 else {constant // -factor + 1}


def _up(value: int, by: int) -> int:
    """The quotient, rounded up."""
    return -(-value // by)
