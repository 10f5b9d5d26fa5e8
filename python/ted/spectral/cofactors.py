"""The gradient of a determinant, as a function that has derivatives of every order at any matrix.

Of up to three rows cofactors are polynomials that are written out, of more det(a) * inv(a).T where
no pivot is lost.  Else a is moved along what was lost: det(a + t * p) is a polynomial in t, of a
degree that is the number of lost pivots, so that its value at 0 is a sum of values at other t,
weighted alike for every a.  All of these have inverses, and derivatives of the sum are exact.

Before: cofactors(a)    After: sum_j weights[j] * det(a + t[j] * p) * inv(a + t[j] * p).T
"""

from __future__ import annotations

import math
from typing import Any

from ted.api.control_flow import cond, while_loop
from ted.api.custom import custom_vjp
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import eye, zeros_like
from ted.frontend.dims import diagonal
from ted.frontend.element_types import finfo
from ted.frontend.elementwise import absolute, cast, isfinite, isnan, maximum, where
from ted.frontend.factorisations import rows_of
from ted.frontend.indexing import take
from ted.frontend.joining import asarray
from ted.frontend.layout import broadcast_to, expand_dims
from ted.frontend.reductions import all as all_of
from ted.frontend.reductions import any as any_of
from ted.frontend.reductions import max as max_over
from ted.frontend.reductions import prod
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT64
from ted.spectral.solutions import places_of, solution

_MOST = 15  # lost pivots for which there are places
_LARGE = 64  # rows: of more the first derivative alone is known where pivots are lost


def cofactors(a: Tensor, rows: Tensor, low: Tensor, up: Tensor) -> Tensor:
    """The matrix of cofactors of `a`, with a[rows] = low @ up.

    Shapes: a (..., n, n), result alike.
    """
    n = a.shape[-1]
    if isinstance(n, int) and n <= 3:
        return _written_out(a, n)
    lost = _lost(low, up)
    if not isinstance(n, int) or n > _LARGE:
        return _of_one_order(_regular(a, rows, low, _near(up)), any_of(lost, -1))
    # Not behind a condition, which its contractions would test; what is lost makes no NaN in it.
    steps = where(lost, _sizes(low, up), 0)
    usual = _regular(a, rows, low, where(_on_diagonal(lost), _on_diagonal(steps), up))
    given = a, rows, low, up, lost, steps
    return cond(any_of(lost), lambda: _interpolated(*given), lambda: usual)


@custom_vjp
def _of_one_order(x: Tensor, lost: Tensor) -> Tensor:
    del lost
    return x


@_of_one_order.defvjp
def _no_further(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return heads[0] * expand_dims(where(inputs[1], math.nan, 1.0), (-2, -1)), None


def _near(up: Tensor) -> Tensor:
    """Triangles with a rounding in place of each pivot that is 0.

    All pivots may be 0 where one minor is not (a shift): a power of what stands there must not be
    0, in f64 of 19 of them.
    """
    kind = finfo(up.dtype)
    least = max_over(absolute(up), (-2, -1), keepdims=True) * kind.eps
    least = maximum(least, kind.smallest_normal)
    on = eye(up.shape[-1], dtype=up.dtype) > 0
    return where(on & (up == 0), least, up)


def times_inverse(head: Tensor, a: Tensor, *factors: Tensor) -> Tensor:
    """`head` times the transposed inverse of `a`."""
    identity = broadcast_to(eye(a.shape[-1], dtype=a.dtype), a.shape)
    return expand_dims(head, (-2, -1)) * solution(a, identity, *factors, True)


def product_of_pivots(rows: Tensor, up: Tensor) -> Tensor:
    """The determinant of which these are the factors."""
    pivots = diagonal(up)
    product = prod(pivots, -1)
    lost = isnan(product) & all_of(isfinite(pivots), -1)  # 0 times what has overflowed
    return where(lost, 0.0, product) * parity(rows, up)


def _written_out(a: Tensor, n: int) -> Tensor:
    def element(*i: Any) -> Any:
        *head, j, k = i
        if n < 2:
            return cast(1, a.dtype)
        if n == 2:
            return where(j == k, 1, -1) * a[(*head, 1 - j, 1 - k)]
        p, q, r, s = (j + 1) % 3, (j + 2) % 3, (k + 1) % 3, (k + 2) % 3
        return a[(*head, p, r)] * a[(*head, q, s)] - a[(*head, p, s)] * a[(*head, q, r)]

    return compute(a.shape, element, name="cofactors")


@custom_vjp
def _regular_determinant(a: Tensor, rows: Tensor, low: Tensor, up: Tensor) -> Tensor:
    del a, low  # whose product with `rows` is `up`
    return product_of_pivots(rows, up)


@_regular_determinant.defvjp
def _regular_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return expand_dims(heads[0], (-2, -1)) * _regular(*inputs), None, None, None


def _regular(a: Tensor, *factors: Tensor) -> Tensor:
    return times_inverse(_regular_determinant(a, *factors), a, *factors)


def _interpolated(
    a: Tensor, rows: Tensor, low: Tensor, up: Tensor, lost: Tensor, steps: Tensor
) -> Tensor:
    n = a.shape[-1]
    most = min(n, _MOST) if isinstance(n, int) else _MOST
    points = _places(most)
    places, weights = (asarray(x, a.dtype) for x in points)
    along = rows_of(low * expand_dims(steps, -2), places_of(rows))
    above = _on_diagonal(steps)

    def going(state: Any) -> Tensor:
        return any_of(lost)

    def step(state: Any) -> Any:
        k, total = state
        t = take(places, k, 0)
        value = _regular(a + t * along, rows, low, up + t * above)
        return k + 1, total + take(weights, k, 0) * value

    start = 0, zeros_like(a)
    total = while_loop(going, step, start, max_steps=len(points[0]), truncate=True)[1]
    count, empty = (expand_dims(x, (-2, -1)) for x in _counts(up, lost))
    return where(count <= most, total, where(empty > most, 0, math.nan))


def _on_diagonal(x: Tensor) -> Tensor:
    none = x.dtype != BOOL and 0

    def element(*i: Any) -> Any:
        return where(i[-2] == i[-1], x[i[:-1]], none)

    return compute((*x.shape, x.shape[-1]), element, name="on_diagonal")


def _places(most: int) -> tuple[list[float], list[float]]:
    """Where polynomials of a degree are evaluated, and the weights that give their value at 0."""
    count = most + 1 + (most + 1) % 2  # even: 0 is none of them
    at = [math.cos((2 * k + 1) * math.pi / (2 * count)) for k in range(count)]
    weights = [math.prod(-s / (t - s) for s in at if s != t) for t in at]
    return at, weights


def _lost(low: Tensor, up: Tensor) -> Tensor:
    """The pivots of which roundings of the elimination leave nothing, or that are 0."""
    return absolute(diagonal(up)) <= _roundings(up) * _terms(low, up)


def _roundings(up: Tensor) -> Any:
    return up.shape[-1] * finfo(up.dtype).eps


def _terms(low: Tensor, up: Tensor) -> Tensor:
    """How large numbers are whose sum each pivot is."""
    r = reduce_axis(up.shape[-1], "r")
    return compute(
        up.shape[:-1],
        lambda *i: sum_over(absolute(low[(*i, r)] * up[(*i[:-1], r, i[-1])]), axis=r),
        name="terms",
    )


def _counts(up: Tensor, lost: Tensor) -> tuple[Tensor, Tensor]:
    """How many pivots are lost, and with how many of them the whole rows."""
    size = absolute(up)
    empty = all_of(size <= _roundings(up) * sum_over(size, -2, keepdims=True), -1)
    return sum_over(cast(lost, INT64), -1), sum_over(cast(lost & empty, INT64), -1)


def _sizes(low: Tensor, up: Tensor) -> Tensor:
    """Numbers of the size of what was subtracted from each pivot, or of rows, columns, or all."""
    size, terms = absolute(up), _terms(low, up)
    beside = maximum(max_over(size, -1), max_over(size, -2))
    every = max_over(size, (-2, -1))[..., None]
    every = where(every > 0, every, 1)
    return where(terms > 0, terms, where(beside > 0, beside, every))


def parity(rows: Tensor, like: Tensor) -> Tensor:
    """1 for an even permutation, -1 for an odd one: pairs in the wrong order are counted."""
    n = rows.shape[-1]
    r, s = reduce_axis(n, "r"), reduce_axis(n, "s")

    def element(*head: Any) -> Any:
        wrong = rows[(*head, r)] > rows[(*head, s)]
        return 1 - 2 * (sum_over(cast(wrong, INT64), axis=(r, s), where=r < s) % 2)

    return cast(compute(rows.shape[:-1], element, name="parity"), like.dtype)
