"""Rows that are made orthogonal by rotations of pairs, in rounds as those of a tournament.

Before: rows of a matrix            After: the same rows, rotated so that each two are orthogonal

Half of the rows stand above, the others below: those at one position meet.  Then all but the first
one above move on in a circle, so that a round is a few equations on whole halves, the same for
every round, and each row has met each other one when all of them are back.
Source: Hestenes, Inversion of Matrices by Biorthogonalization and Related Results, section 5;
Brent and Luk, The Solution of Singular-Value and Symmetric Eigenvalue Problems on Multiprocessor
Arrays, section 3.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ted.api.control_flow import loop
from ted.frontend import checks, elementwise
from ted.frontend.element_types import finfo
from ted.frontend.elementwise import absolute, maximum, minimum, where
from ted.frontend.joining import concatenate, padded
from ted.frontend.layout import expand_dims
from ted.frontend.reductions import any, sum
from ted.frontend.tensors import Tensor
from ted.spectral.ranges import rounding

_SWEEPS = 40  # some ten are made


def orthogonal(x: Tensor, width: int, what: str) -> Tensor:
    """The rows of x, rotated so that the first `width` elements of each two are orthogonal.

    Their order is any.
    Shapes: x (..., n, k), result alike.
    Raises: FrontendError for symbolic extents; `what` says which function does not converge.
    """
    n, tolerance = checks.integer(x.shape[-2], "orthogonal: n"), rounding(x) * sqrt(width)
    half = (n + 1) // 2
    if not half:
        return x
    # A row of zeros meets in vain, and in front it is never moved.
    x = padded(x, [(0, 0)] * (x.ndim - 2) + [(n % 2, 0), (0, 0)])

    def going(state: Any) -> Tensor:
        return state[0] < 2 * half - 1

    def step(state: Any) -> Any:
        quiet, above, below = state
        active, above, below = _turned(above, below, width, tolerance)
        return where(any(active), 0, quiet + 1), *_moved(above, below)

    start = (0, x[..., :half, :], x[..., half:, :])
    rule = f"{what}: rotations converge within {_SWEEPS} sweeps of all pairs, got none before round"
    _, above, below = loop(going, step, start, _SWEEPS * (2 * half - 1), rule)
    return concatenate([above, below], -2)[..., n % 2 :, :]


def _turned(above: Tensor, below: Tensor, width: int, tolerance: float) -> Any:
    """Whether each pair was turned, and both rows of it, which are orthogonal then."""
    a, b = above[..., :width], below[..., :width]
    own, other, shared = sum(a * a, -1), sum(b * b, -1), sum(a * b, -1)
    kind = finfo(own.dtype)
    least = kind.smallest_normal / kind.eps  # below it squares do not tell how long a row is
    length = elementwise.sqrt(maximum(own, least)) * elementwise.sqrt(maximum(other, least))
    active = absolute(shared) > tolerance * length
    ratio = (other - own) / (2 * where(active, shared, 1))
    steep = absolute(ratio)
    near = minimum(steep, 1 / kind.eps)  # beyond, the root is the ratio, whose square is infinite
    size = 1 / (steep + maximum(steep, elementwise.sqrt(1 + near * near)))
    tangent = where(active, where(ratio < 0, -size, size), 0)
    cosine = expand_dims(1 / elementwise.sqrt(1 + tangent * tangent), -1)
    sine = expand_dims(tangent, -1) * cosine
    return active, cosine * above - sine * below, sine * above + cosine * below


def _moved(above: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of the next round: all but the first row above go on, to the right and back."""
    if above.shape[-2] == 1:
        return above, below
    right = concatenate([above[..., :1, :], below[..., :1, :], above[..., 1:-1, :]], -2)
    return right, concatenate([below[..., 1:, :], above[..., -1:, :]], -2)
