"""Factors of matrices with pivots, as recurrences, and what is solved and counted by them.

They are equations like any other: no derivative is written for them, and batch dims come in front.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import eye
from ted.frontend.dims import diagonal
from ted.frontend.elementwise import (
    absolute,
    cast,
    log,
    sign,
    sqrt,
    stop_gradient,
    to_tensor,
    where,
)
from ted.frontend.indexing import take_along_axis
from ted.frontend.layout import broadcast_to, expand_dims, squeeze
from ted.frontend.linear_algebra import floats, square, triangular_solution
from ted.frontend.locations import fail
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import any, argmax, prod
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import INT64


def lu(a: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Rows p, a unit lower l and an upper u with a[p] = l @ u: partial pivoting, column by column.

    Shapes: a (..., n, n), p (..., n) of integers, l and u as a.
    Raises: FrontendError when `a` is not square or not of floats.
    """
    a = floats(square(a, "lu"), "lu")
    batch, n = a.ndim - 2, a.shape[-1]
    r, s, q = (reduce_axis(n, name) for name in ("r", "s", "q"))

    # Rows keep their numbers until the end, so that each element is written once: row i is taken
    # in step k where pivot[k] = i, and later columns of its factors are 0.
    def rest(_r: Tensor, _p: Tensor, _o: Tensor, low: Tensor, up: Tensor, *i: Any) -> Any:
        head, row, k = i[:batch], i[-2], i[-1]
        return a[i] - sum_over(low[(*head, row, r)] * up[(*head, r, k)], axis=r, where=r < k)

    def pivot(left: Tensor, taken: Tensor, _o: Tensor, _l: Tensor, _u: Tensor, *i: Any) -> Any:
        head, k = i[:batch], i[-1]
        gone = any(taken[(*head, q)] == s, axis=q, where=q < k)
        size = absolute(stop_gradient(left[(*head, s, k)]))
        return argmax(where(gone, -1.0, size), axis=s)

    def own(_r: Tensor, taken: Tensor, _o: Tensor, low: Tensor, _u: Tensor, *i: Any) -> Any:
        head, k, column = i[:batch], i[-2], i[-1]
        chosen = where(taken[(*head, k)] == s, low[(*head, s, column)], 0)
        return where(column < k, sum_over(chosen, axis=s, where=column < k), 0)

    def lower(left: Tensor, taken: Tensor, _o: Tensor, _l: Tensor, up: Tensor, *i: Any) -> Any:
        head, row, k = i[:batch], i[-2], i[-1]
        gone = any(taken[(*head, q)] == row, axis=q, where=q < k)
        return where(gone, 0, left[i] / up[(*head, k, k)])

    def upper(_r: Tensor, taken: Tensor, mine: Tensor, _l: Tensor, up: Tensor, *i: Any) -> Any:
        head, k, column = i[:batch], i[-2], i[-1]
        row = sum_over(where(taken[(*head, k)] == s, a[(*head, s, column)], 0), axis=s)
        terms = mine[(*head, k, r)] * up[(*head, r, column)]
        return where(column >= k, row - sum_over(terms, axis=r, where=r < k), 0)

    found = recurrence(
        [a.shape, a.shape[:-1], a.shape, a.shape, a.shape],
        [rest, pivot, own, lower, upper],
        [a.dtype, INT64, a.dtype, a.dtype, a.dtype],
        [batch + 1, batch, batch, batch + 1, batch],
        name=["lu_rest", "lu_pivot", "lu_row", "lu_lower", "lu_upper"],
    )
    return found[1], rows_of(found[3], found[1]), found[4]


def rows_of(a: Tensor, rows: Tensor) -> Tensor:
    """The rows of a matrix in another order."""
    return take_along_axis(a, expand_dims(rows, -1), -2, mode="unchecked")


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


def qr(a: Any, mode: str = "reduced") -> QR:
    """q with orthonormal columns and an upper r with a = q @ r and a positive diagonal.

    By Gram and Schmidt, each column twice, which is as orthogonal as reflections are.
    Shapes: a (..., m, n), q (..., m, k), r (..., k, n) with k = min(m, n).
    Raises: FrontendError for what is no matrix of floats, or another mode.
    Source: Giraud, Langou and Rozloznik, The Loss of Orthogonality in Gram-Schmidt, section 4.
    """
    a = floats(to_tensor(a, "qr: a"), "qr")
    if a.ndim < 2:
        fail(f"qr: takes at least 2 dims, got shape {a.shape} ({a.name})")
    if mode != "reduced":
        fail(f"qr: mode must be 'reduced', got {mode!r}")
    m, n = (checks.integer(extent, "qr: extent") for extent in a.shape[-2:])
    q = _orthonormal(a[..., : min(m, n)])
    batch, r = a.ndim - 2, reduce_axis(m, "r")

    def element(*i: Any) -> Any:
        head, k, column = i[:batch], i[-2], i[-1]
        total = sum_over(q[(*head, r, k)] * a[(*head, r, column)], axis=r)
        return where(column >= k, total, 0)

    return QR(q, compute((*a.shape[:-2], min(m, n), n), element, name="qr_upper"))


def _orthonormal(a: Tensor) -> Tensor:
    batch, (m, n) = a.ndim - 2, a.shape[-2:]
    r, c = reduce_axis(m, "r"), reduce_axis(n, "c")
    square_shape = (*a.shape[:-2], n, n)

    def share(source: int) -> Any:
        def element(*arguments: Any) -> Any:
            h, (*head, row, k) = arguments[:6], arguments[6:]
            vector = a if source < 0 else h[source]
            terms = h[5][(*head, r, row)] * vector[(*head, r, k)]
            return where(row < k, sum_over(terms, axis=r, where=row < k), 0)

        return element

    def without(source: int, shares: int) -> Any:
        def element(*arguments: Any) -> Any:
            h, (*head, row, k) = arguments[:6], arguments[6:]
            vector = a if source < 0 else h[source]
            terms = h[5][(*head, row, c)] * h[shares][(*head, c, k)]
            return vector[(*head, row, k)] - sum_over(terms, axis=c, where=c < k)

        return element

    def length(*arguments: Any) -> Any:
        h, (*head, k) = arguments[:6], arguments[6:]
        return sqrt(sum_over(h[3][(*head, r, k)] ** 2, axis=r))

    def normal(*arguments: Any) -> Any:
        h, (*head, row, k) = arguments[:6], arguments[6:]
        return h[3][(*head, row, k)] / h[4][(*head, k)]

    return recurrence(
        [square_shape, a.shape, square_shape, a.shape, (*a.shape[:-2], n), a.shape],
        [share(-1), without(-1, 0), share(1), without(1, 2), length, normal],
        a.dtype,
        [batch + 1] * 4 + [batch, batch + 1],
        name=["qr_share", "qr_rest", "qr_again", "qr_column", "qr_length", "qr"],
    )[5]


# ------------------------------------------------------------------ what is made of factors


def solve(a: Any, b: Any) -> Tensor:
    """The x with a @ x = b, by `lu`.

    Shapes: a (..., n, n); b (n), or (..., n, m); batch dims broadcast.
    Raises: FrontendError for shapes that do not fit, or what is not of floats.
    """
    a, b = floats(square(a, "solve"), "solve"), floats(to_tensor(b, "solve: b"), "solve")
    if not b.ndim:
        fail(f"solve: b must fit {a.shape} ({a.name}), got a scalar ({b.name})")
    vector = b.ndim == 1
    b = expand_dims(b, -1) if vector else b
    if b.shape[-2] != a.shape[-1]:
        fail(f"solve: b must fit {a.shape} ({a.name}), got shape {b.shape} ({b.name})")
    batch = checks.broadcast([a.shape[:-2], b.shape[:-2]], "solve")
    a, b = (broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    rows, low, up = lu(a)
    turned = rows_of(b, rows)
    x = triangular_solution(up, triangular_solution(low, turned, unit_diagonal=True), lower=False)
    return squeeze(x, -1) if vector else x


def inv(a: Any) -> Tensor:
    """The inverse, by `lu`.

    Raises: FrontendError when `a` is not square or not of floats.
    """
    a = floats(square(a, "inv"), "inv")
    return solve(a, eye(a.shape[-1], dtype=a.dtype))


def det(a: Any) -> Tensor:
    """The determinant, by `lu`; without a derivative where it is 0.

    Raises: FrontendError when `a` is not square or not of floats.
    """
    rows, _, up = lu(floats(square(a, "det"), "det"))
    return prod(diagonal(up), -1) * cast(_parity(rows), up.dtype)


class LogDeterminant(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


def slogdet(a: Any) -> LogDeterminant:
    """The sign of the determinant and the logarithm of its magnitude, by `lu`.

    Raises: FrontendError when `a` is not square or not of floats.
    """
    rows, _, up = lu(floats(square(a, "slogdet"), "slogdet"))
    on = diagonal(up)
    signs = prod(sign(on), -1) * cast(_parity(rows), up.dtype)
    return LogDeterminant(signs, sum_over(log(absolute(on)), -1))


def _parity(rows: Tensor) -> Tensor:
    """1 for an even permutation, -1 for an odd one: pairs in the wrong order are counted."""
    n = rows.shape[-1]
    r, s = reduce_axis(n, "r"), reduce_axis(n, "s")

    def element(*head: Any) -> Any:
        wrong = rows[(*head, r)] > rows[(*head, s)]
        return 1 - 2 * (sum_over(cast(wrong, INT64), axis=(r, s), where=r < s) % 2)

    return compute(rows.shape[:-1], element, name="parity")
