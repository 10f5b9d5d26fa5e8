"""Functions of ted that programs of JAX call by name, with JAX's arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ted


def _lower_factor(a: Any, **_: Any) -> Any:
    return ted.linalg.cholesky(a)


def _divided_by_triangle(
    a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    """The x with a x = b, or x a = b, which is that of both turned."""
    if not left_side:
        b, transpose_a = ted.matrix_transpose(b), not transpose_a
    if transpose_a:
        a, lower = ted.matrix_transpose(a), not lower
    x = ted.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal)
    return x if left_side else ted.matrix_transpose(x)


def packed_lu(a: Any, **_: Any) -> Any:
    """L and U in one matrix, the row that each step takes, and the rows in their order."""
    rows, low, up = ted.linalg.lu(a)
    (m, n), steps = a.shape[-2:], up.shape[-2]
    places, order = _taken(rows, steps)
    if m <= steps:
        order = rows  # known without the exchanges
    else:  # the others are where exchanges have brought them
        left = order[..., steps:, None] == rows[..., None, steps:]
        behind = ted.cast(left, a.dtype) @ low[..., steps:, :]
        low = ted.concatenate([low[..., :steps, :], behind], -2)
    packed = ted.pad(low, _sides(a, n - steps, -1)) + ted.pad(up, _sides(a, m - steps, -2))
    return packed - ted.eye(m, n, dtype=a.dtype), places, order


def _sides(a: Any, more: int, axis: int) -> list[tuple[int, int]]:
    return [(0, more if k == a.ndim + axis else 0) for k in range(a.ndim)]


def _taken(rows: Any, steps: int) -> tuple[Any, Any]:
    """Where the row of each step lies after the exchanges before, and the rows after all."""
    own, first = ted.arange(rows.shape[-1]), ted.moveaxis(rows[..., :steps], -1, 0)

    def step(order: Any, given: Any) -> Any:
        k, row = given
        at = ted.argmax(order == row[..., None], -1, keepdims=True)
        here = ted.take_along_axis(order, ted.broadcast_to(k, at.shape), -1)
        swapped = ted.where(own == at, here, order)
        return ted.where(own == k, row[..., None], swapped), at[..., 0]

    start = ted.broadcast_to(own, rows.shape)
    order, found = ted.scan(step, start, (own[:steps], first))
    return ted.moveaxis(found, 0, -1), order


def _eigen(a: Any, lower: bool, **_: Any) -> Any:
    values, vectors = ted.linalg.eigh(a, "L" if lower else "U")
    return vectors, values


def _singular(a: Any, full_matrices: bool, compute_uv: bool, **_: Any) -> Any:
    if not compute_uv:
        return ted.linalg.svdvals(a)
    u, s, v = ted.linalg.svd(a, full_matrices)
    return s, u, v


def halved(extremum: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An extremum whose gradient equal numbers share, as in JAX and torch."""

    @ted.vectorize
    def function(a: Any, b: Any) -> Any:
        equal = (a == b) & ted.isfinite(a)
        return extremum(a, b) + ted.where(equal, 0.5 * (b - a), 0.0)

    return function


def _clamped(low: Any, x: Any, high: Any) -> Any:
    """A bound has the gradient of what is beyond it, and nothing that of what is equal to it."""
    low = ted.where(high < low, high, low)
    inside = (low < x) & (x < high)
    beyond = ted.where(x < low, low, ted.where(x > high, high, ted.stop_gradient(x)))
    return ted.where(inside, x, beyond)


def _shared(extremum: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes, **_: extremum(x, tuple(axes), ties="even")


# With the parameters of JAX's primitive by name; results of one tensor, or a tuple of them.
CALLS: Mapping[str, Callable[..., Any]] = {
    "gammainc": lambda a, x: ted.special.gammainc(a, x),
    "gammaincc": lambda a, x: ted.special.gammaincc(a, x),
    "cholesky": _lower_factor,
    "triangular_solve": _divided_by_triangle,
    "lu": packed_lu,
    "eigh": _eigen,
    "svd": _singular,
    "qr": lambda a, full_matrices=False, **_: tuple(
        ted.linalg.qr(a, "complete" if full_matrices else "reduced")
    ),
    "householder_product": lambda a, taus: ted.linalg.householder_product(a, taus),
    "max": halved(ted.maximum),
    "min": halved(ted.minimum),
    "clamp": _clamped,
    "relu": lambda x: ted.nn.relu(x),
    "relu6": lambda x: ted.nn.relu6(x),
    "reduce_max": _shared(ted.max),
    "reduce_min": _shared(ted.min),
}
