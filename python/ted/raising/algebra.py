"""Functions of ted that programs of JAX call by name, with JAX's arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ted
from ted.frontend.complex_pairs import Complex, applied
from ted.raising import complex_algebra


def _lower_factor(a: Any, **_: Any) -> Any:
    return ted.linalg.cholesky(a)


def _divided_by_triangle(
    a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool,
    conjugate_a: bool = False,
) -> Any:  # fmt: skip
    """The x with a x = b, or x a = b, which is that of both turned."""
    is_pair = isinstance(a, Complex)
    if conjugate_a and is_pair:
        a = applied("conj", a)
    if not left_side:
        b, transpose_a = b.mT, not transpose_a
    if transpose_a:
        a, lower = a.mT, not lower
    solved = complex_algebra.solve_triangular if is_pair else ted.linalg.solve_triangular
    x = solved(a, b, lower=lower, unit_diagonal=unit_diagonal)
    return x if left_side else x.mT


def packed_lu(a: Any, **_: Any) -> Any:
    """L and U in one matrix, the row that each step takes, and the rows in their order."""
    if isinstance(a, Complex):
        return complex_algebra.eliminated(a)
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


def _solved_in_bands(below: Any, on: Any, above: Any, b: Any, **_: Any) -> Any:
    """The x of a system with three bands; of two rows that with the greater pivot goes first."""

    def forward(row: Any, new: Any) -> Any:
        row = (*row[:2], ted.zeros_like(row[0]), row[2])
        turns = ted.abs(new[0]) > ted.abs(row[0])
        first, second = (
            [ted.where(turns[..., None] if x.ndim > turns.ndim else turns, x, y) for x, y in pairs]
            for pairs in (zip(new, row, strict=True), zip(row, new, strict=True))
        )
        factor = second[0] / first[0]
        rest = [s - factor * f for s, f in zip(second[1:3], first[1:3], strict=True)]
        return (*rest, second[3] - factor[..., None] * first[3]), tuple(first)

    def back(behind: Any, row: Any) -> Any:
        one, two = behind
        found = (row[3] - row[1][..., None] * one - row[2][..., None] * two) / row[0][..., None]
        return (found, one), found

    bands = [ted.moveaxis(x, -1, 0) for x in (below, on, above)]
    rows = (*bands, ted.moveaxis(b, -2, 0))
    last, before = ted.scan(forward, tuple(r[0] for r in rows[1:]), tuple(r[1:] for r in rows))
    last = (*last[:2], ted.zeros_like(last[0]), last[2])
    whole = tuple(ted.concatenate([s, r[None]], 0) for s, r in zip(before, last, strict=True))
    zero = ted.zeros_like(rows[3][0])
    found = ted.scan(back, (zero, zero), whole, reverse=True)[1]
    return ted.moveaxis(found, 0, -2)


def _size(x: Any) -> Any:
    """A magnitude whose slope is 1 at 0, as JAX has it."""
    return ted.where(x > 0, x, ted.where(x == 0, x - ted.stop_gradient(x), -x))


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
    "tridiagonal_solve": _solved_in_bands,
    "abs": _size,
    "eigh": _eigen,
    "svd": _singular,
    "qr": lambda a, full_matrices=False, **_: tuple(
        ted.linalg.qr(a, "complete" if full_matrices else "reduced")
    ),
    "householder_product": lambda a, taus: ted.linalg.householder_product(a, taus),
    "max": halved(ted.maximum),
    "min": halved(ted.minimum),
    "clamp": _clamped,
    "integer_power": lambda a, b: a**b,
    "relu": lambda x: ted.nn.relu(x),
    "relu6": lambda x: ted.nn.relu6(x),
    "reduce_max": _shared(ted.max),
    "reduce_min": _shared(ted.min),
}
