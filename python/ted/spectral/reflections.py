"""Orthonormal bases by reflections: also where columns are zero or depend on each other."""

from __future__ import annotations

from typing import Any

from ted.api.control_flow import fori_loop
from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.creation import eye
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import absolute, sqrt, where
from ted.frontend.joining import concatenate
from ted.frontend.layout import broadcast_to
from ted.frontend.reductions import max, sum
from ted.frontend.tensors import Tensor


def reflected(x: Tensor) -> tuple[Tensor, Tensor]:
    """A square orthogonal q and an r with q @ r = x, r with zeros below the diagonal.

    Shapes: x (..., m, n), q (..., m, m), r as x.
    Raises: FrontendError for symbolic extents.
    Source: Golub and Van Loan, Matrix Computations, algorithm 5.2.1.
    """
    m, n = (checks.integer(extent, "reflected: extent") for extent in x.shape[-2:])
    basis = broadcast_to(eye(m, dtype=x.dtype), (*x.shape[:-2], m, m))
    both = concatenate([x, basis], -1)

    def step(k: Any, both: Tensor) -> Tensor:
        v, scale = _mirror(both, k, m)
        shares = scale * sum(v * both, -2, keepdims=True)
        return both - v * shares

    both = fori_loop(0, min(m - 1, n), step, both)
    return matrix_transpose(both[..., n:]), both[..., :n]


def _mirror(x: Tensor, k: Tensor, m: int) -> tuple[Tensor, Tensor]:
    """The v and 2 / |v|^2 that turn column k below row k into its first element; 0 for zeros."""

    def column(*i: Any) -> Any:
        *head, row, _ = i
        return where(row >= k[()], x[(*head, row, k[()])], 0)

    below = compute((*x.shape[:-2], m, 1), column, name="column")
    # A direction is all that is wanted, and squares of small numbers are none.
    largest = max(absolute(below), -2, keepdims=True)
    below = below / where(largest > 0, largest, 1)
    size = sqrt(sum(below * below, -2, keepdims=True))

    def away(*i: Any) -> Any:
        *head, row, _ = i
        length = size[(*head, 0, 0)]
        return below[i] + where(row == k[()], where(below[i] < 0, -length, length), 0)

    v = compute(below.shape, away, name="mirror")
    square = sum(v * v, -2, keepdims=True)
    return v, where(square > 0, 2 / square, 0)
