"""When the points of an equation are performed: the time of a recurrence as a form of one dim.

Before: a subdomain that writes at time `2 * d0 + 1`, or `7 - d0`, or always at time 7
After: a timestamp, with which steps of time become values of the dim, and cuts between stretches of
time in which every condition on the time alone has one answer
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.linalg.subdomain import Constraint, Subdomain
from ted.mlir.affine_forms import dims_used, single_dim

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
