"""Factors of matrices with pivots, as recurrences.

They are equations like any other: no derivative is written for them, and batch dims come in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.blocked_factors import blocks_of
from ted.frontend.blocked_lu import eliminated_in_blocks
from ted.frontend.compute import compute
from ted.frontend.creation import full
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import absolute, cast, stop_gradient, to_tensor, where
from ted.frontend.indexing import take_along_axis
from ted.frontend.joining import concatenate
from ted.frontend.layout import expand_dims
from ted.frontend.linear_algebra import floats
from ted.frontend.locations import fail
from ted.frontend.orthonormal_rows import orthonormal
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import argmax
from ted.frontend.reductions import sum as sum_over
from ted.frontend.sorting import argsort
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT64


class _Steps(NamedTuple):
    """The tensors of `lu`, in step k."""

    rest: Tensor  # [k, row]: what is left of column k
    pivot: Tensor  # [k]: the row where it is largest
    free: Tensor  # [k, row]: whether a row is no pivot yet
    on: Tensor  # [k]: what is left there
    lower: Tensor  # [k, row]: column k of L
    own: Tensor  # [k, column]: the row of the pivot in the columns before
    upper: Tensor  # [k, column]: row k of U


def lu(a: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Rows p, a unit lower l and an upper u with a[p] = l @ u, by partial pivoting.

    Shapes: a (..., m, n), p (..., m) of integers, l (..., m, k), u (..., k, n); k = min(m, n).
    Rows that are no pivots stay in their order.
    Raises: FrontendError for what is no matrix of floats.
    """
    a = floats(_matrix(a, "lu"), "lu")
    m, n = a.shape[-2:]
    blocks = blocks_of(n, of_factor=True) if m == n else None
    if blocks is not None:
        return eliminated_in_blocks(a, blocks)
    count = n if m == n else min(checks.integer(extent, "lu: extent") for extent in (m, n))
    steps = _by_columns(a, count)

    def unit(*i: Any) -> Any:
        return where(i[-2] == i[-1], 1, steps.own[i])

    low = compute((*a.shape[:-2], count, count), unit, name="lu_lower")
    if m == count:
        return steps.pivot, low, steps.upper
    free = steps.free[..., -1, :] if count else full((*a.shape[:-2], m), True, BOOL)
    others = argsort(where(free, 0, 1), stable=True)[..., : m - count]

    def behind(*i: Any) -> Any:
        *head, row, column = i
        return steps.lower[(*head, column, others[(*head, row)])]

    rest = compute((*a.shape[:-2], m - count, count), behind, name="lu_behind")
    return concatenate([steps.pivot, others], -1), concatenate([low, rest], -2), steps.upper


def _matrix(a: Any, what: str) -> Tensor:
    a = to_tensor(a, f"{what}: a")
    if a.ndim < 2:
        fail(f"{what}: takes at least 2 dims, got shape {a.shape} ({a.name})")
    return a


def _by_columns(a: Tensor, count: Any) -> _Steps:
    r, s = reduce_axis(count, "r"), reduce_axis(a.shape[-2], "s")

    # Rows keep their numbers until the end, and columns of L are rows here, so that a step adds
    # rows that lie in memory to rows: row i is taken in step k where pivot[k] = i, and its
    # elements in later columns of L are 0, by a factor, as conditions on data would be masks in
    # gradients.
    def was_free(x: _Steps, head: Any, k: Any, row: Any) -> Any:
        return where(k > 0, x.free[(*head, k - 1, row)], True)

    def rest(x: _Steps, *i: Any) -> Any:
        *head, k, row = i
        terms = x.lower[(*head, r, row)] * x.upper[(*head, r, k)]
        return a[(*head, row, k)] - sum_over(terms, axis=r, where=r < k)

    def pivot(x: _Steps, *i: Any) -> Any:
        *head, k = i
        size = absolute(stop_gradient(x.rest[(*i, s)]))
        return argmax(where(was_free(x, head, k, s), size, -1.0), axis=s)

    def free(x: _Steps, *i: Any) -> Any:
        *head, k, row = i
        return was_free(x, head, k, row) & (x.pivot[(*head, k)] != row)

    def on(x: _Steps, *i: Any) -> Any:
        chosen = cast(x.pivot[i] == s, a.dtype)
        return sum_over(chosen * x.rest[(*i, s)], axis=s)

    def lower(x: _Steps, *i: Any) -> Any:
        *head, k, _ = i
        on = x.on[(*head, k)]
        return cast(x.free[i], a.dtype) * (x.rest[i] / where(on != 0, on, 1))

    def own(x: _Steps, *i: Any) -> Any:
        *head, k, column = i
        return where(column < k, x.lower[(*head, column, x.pivot[(*head, k)])], 0)

    def upper(x: _Steps, *i: Any) -> Any:
        *head, k, column = i
        row = x.pivot[(*head, k)]
        terms = x.own[(*head, k, r)] * x.upper[(*head, r, column)]
        total = a[(*head, row, column)] - sum_over(terms, axis=r, where=r < k)
        return where(column > k, total, where(column == k, x.on[(*head, k)], 0))

    return _in_steps(a, count, [rest, pivot, free, on, lower, own, upper])


def _in_steps(a: Tensor, steps: Any, parts: Sequence[Callable[..., Any]]) -> _Steps:
    names, count = _Steps._fields, len(parts)
    types = {"pivot": INT64, "free": BOOL}
    width = {"pivot": (), "on": (), "own": (steps,), "upper": a.shape[-1:]}

    def element(part: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *i: part(_Steps(*i[:count]), *i[count:])

    return _Steps(*recurrence(
        [(*a.shape[:-2], steps, *width.get(name, a.shape[-2:-1])) for name in names],
        [element(part) for part in parts],
        [types.get(name, a.dtype) for name in names],
        a.ndim - 2,
        name=[f"lu_{name}" for name in names],
    ))  # fmt: skip


def rows_of(a: Tensor, rows: Tensor) -> Tensor:
    """The rows of a matrix in another order."""
    return take_along_axis(a, expand_dims(rows, -1), -2, mode="unchecked")


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


def orthonormal_columns(a: Any) -> QR:
    """The reduced form of `ted.linalg.qr`.

    By Gram and Schmidt, each column twice, which is as orthogonal as reflections are: of many
    columns a block of them at once.
    Raises: FrontendError for what is no matrix of floats.
    """
    a = floats(_matrix(a, "qr"), "qr")
    m, n = (checks.integer(extent, "qr: extent") for extent in a.shape[-2:])
    q = matrix_transpose(orthonormal(matrix_transpose(a[..., : min(m, n)])))
    batch, r = a.ndim - 2, reduce_axis(m, "r")

    def element(*i: Any) -> Any:
        head, k, column = i[:batch], i[-2], i[-1]
        total = sum_over(q[(*head, r, k)] * a[(*head, r, column)], axis=r)
        return where(column >= k, total, 0)

    return QR(q, compute((*a.shape[:-2], min(m, n), n), element, name="qr_upper"))
