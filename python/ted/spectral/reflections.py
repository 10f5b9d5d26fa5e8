"""Orthonormal bases: `qr`, and by reflections, also where columns depend on each other."""

from __future__ import annotations

import math
from typing import Any

from ted.api.control_flow import fori_loop
from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.creation import eye, full
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import absolute, cast, sqrt, to_tensor, where
from ted.frontend.factorisations import QR, orthonormal_columns
from ted.frontend.indexing import take
from ted.frontend.joining import concatenate
from ted.frontend.layout import broadcast_to, tril
from ted.frontend.linear_algebra import floats
from ted.frontend.locations import fail
from ted.frontend.reductions import max, sum
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import promote


def qr(a: Any, mode: str = "reduced") -> Any:
    """q with orthonormal columns and an upper r with a = q @ r and a positive diagonal.

    Of more rows than columns mode "complete" has columns that fill a basis; mode "r" is r alone.
    Shapes: a (..., m, n), q (..., m, k), r (..., k, n) with k = min(m, n), or m if complete.
    Raises: FrontendError for what is no matrix of floats, or another mode.
    """
    checks.one_of(mode, ("reduced", "complete", "r"), "qr: mode")
    q, r = found = orthonormal_columns(a)
    m, n = q.shape[-2], r.shape[-1]
    if mode != "complete" or m <= n:
        return r if mode == "r" else found
    # Reflections turn q, which they leave as it is but for signs, into the first columns.
    rest = reflected(q)[0][..., n:]
    below = full((*r.shape[:-2], m - n, n), 0, r.dtype)
    return QR(concatenate([q, rest], -1), concatenate([r, below], -2))


def householder_product(a: Any, tau: Any) -> Tensor:
    """The first columns of the product of reflections I - tau[k] v v^T, as LAPACK's `orgqr`.

    v is 0 above row k, 1 there and column k of `a` below.
    Shapes: a (..., m, n) with n <= m, tau (..., k) with k <= n, the result as a.
    Raises: FrontendError for other shapes, or what is not of floats.
    """
    a, tau = (floats(to_tensor(x, "householder_product"), "householder_product") for x in (a, tau))
    fits = a.ndim >= 2 and a.shape[-2] >= a.shape[-1] >= (tau.shape or (math.inf,))[-1]
    if not fits or tau.shape[:-1] != a.shape[:-2]:
        fail("householder_product: at least as many rows as columns, and these as tau, got "
             f"{a.shape} ({a.name}) and {tau.shape} ({tau.name})")  # fmt: skip
    dtype = promote(a.dtype, tau.dtype)
    a, tau, count, (m, n) = cast(a, dtype), cast(tau, dtype), tau.shape[-1], a.shape[-2:]
    columns = tril(a, -1) + eye(m, n, dtype=dtype)
    product = broadcast_to(eye(m, n, dtype=dtype), a.shape)

    def step(k: Any, product: Tensor) -> Tensor:
        at = count - 1 - k
        v = take(columns, at, -1)[..., None]
        shares = sum(v * product, -2, keepdims=True)
        return product - take(tau, at, -1)[..., None, None] * v * shares

    return fori_loop(0, count, step, product)


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
