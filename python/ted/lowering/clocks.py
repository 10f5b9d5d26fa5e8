"""When the points of an equation are performed: the time of a recurrence as a form of one dim.

Before: a piece that writes at time `2 * d0 + 1`, or `7 - d0`, or always at time 7
After: a clock, with which steps of time become values of the dim, and cuts between stretches of
time in which every condition on the time alone has one answer
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.lowering.affine_forms import dims_used, single_dim
from ted.lowering.piece import Constraint, Piece

FEW = 32  # times at which a condition that is not linear may change its answer


@dataclass(frozen=True)
class Clock:
    """The time of a piece's points: `write[axis] = factor * d_dim + offset`.

    The factor is positive; it is 0, and there is no dim, when all points have the same time.
    """

    axis: int
    dim: int
    factor: int
    offset: int

    def values(self, begin: int, end: int) -> tuple[int, int]:
        """The values of the dim with times in [begin, end), as a half-open range."""
        return _up(begin - self.offset, self.factor), _up(end - self.offset, self.factor)

    def cuts(self, piece: Piece) -> set[int]:
        """Times at which the piece begins, ends, or a condition on the time alone changes."""
        if not self.factor:
            return {self.offset, self.offset + 1}
        last = self.offset + self.factor * (piece.extents[self.dim] - 1)
        guards = [c for r in piece.reads if r is not None for c in r.guard]
        turns = {v for c in (*piece.domain, *guards) for v in _turning_points(c, piece, self.dim)}
        return {self.offset, last + 1, *(self.factor * v + self.offset for v in turns)}


def with_clock(piece: Piece, axis: int) -> tuple[Piece, Clock | None]:
    """The piece, its time dim running forwards, and its clock; None when it has none."""
    form = single_dim(piece.write[axis], piece.rank)
    if form is None:
        return piece, None
    dim, factor, offset = form
    if factor < 0:
        offset += factor * (piece.extents[dim] - 1)
        return piece.flipped(dim), Clock(axis, dim, -factor, offset)
    return piece, Clock(axis, dim, factor, offset)


def _turning_points(constraint: Constraint, piece: Piece, dim: int) -> set[int]:
    """Values of the time dim at which a condition on it alone changes its answer."""
    if dims_used(constraint.expr) != {dim}:
        return set()
    form = single_dim(constraint.expr, piece.rank)
    if form is None:
        # Of remainders: better tested in each step than each step a piece of code.
        return set(range(piece.extents[dim] + 1)) if piece.extents[dim] <= FEW else set()
    _, factor, constant = form
    if constraint.is_equality:
        at = -constant // factor
        return {at, at + 1}
    # factor * d + constant >= 0 begins to hold, or ends to, at the rounded root.
    return {-(constant // factor)} if factor > 0 else {constant // -factor + 1}


def _up(value: int, by: int) -> int:
    """The quotient, rounded up."""
    return -(-value // by)
