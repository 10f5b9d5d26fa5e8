"""Linear maps, flattening and table look-up."""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend.checks import flag, integer
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, one_of, ranked, shaped, within

_JOINS = {"mean": "add", "sum": "add", "max": "max"}  # of rows of a bag


def dense(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight + bias.

    Shapes: x (..., inputs), weight (inputs, outputs), bias (outputs), result (..., outputs).
    Raises: FrontendError for shapes that do not fit together.
    """
    weight = ranked(weight, 2, "dense: weight")
    result = ted.matmul(x, weight)
    return result if bias is None else result + shaped(bias, weight.shape[1:], "dense: bias")


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight.T + bias, the weight as torch keeps it.

    Shapes: x (..., inputs), weight (outputs, inputs), bias (outputs), result (..., outputs).
    Raises: FrontendError for shapes that do not fit together.
    """
    x, weight = to_tensor(x, "linear: x"), ranked(weight, 2, "linear: weight")
    outputs, inputs = weight.shape
    if x.ndim == 0 or x.shape[-1] != inputs:
        fail(f"linear: x must end with extent {inputs} as weight does, got shape {x.shape}")
    r = ted.reduce_axis(inputs, "r")
    result = ted.compute(
        (*x.shape[:-1], outputs),
        lambda *i: ted.sum(x[(*i[:-1], r)] * weight[i[-1], r], axis=r),
        name="linear",
    )
    return result if bias is None else result + shaped(bias, (outputs,), "linear: bias")


def bilinear(x: Any, y: Any, weight: Any, bias: Any = None) -> Tensor:
    """The sum of x[i] * weight[o, i, j] * y[j] over i and j, + bias.

    Shapes: x (..., n), y (..., m), weight (outputs, n, m), bias (outputs), result (..., outputs).
    Raises: FrontendError for shapes that do not fit together.
    """
    x, y, weight = (
        to_tensor(x, "bilinear: x"),
        to_tensor(y, "bilinear: y"),
        ranked(weight, 3, "bilinear: weight"),
    )
    outputs, *extents = weight.shape
    if [*x.shape[-1:], *y.shape[-1:]] != extents or x.shape[:-1] != y.shape[:-1]:
        fail(
            f"bilinear: takes x (..., n), y (..., m) and weight (outputs, n, m), got {x.shape} "
            f"({x.name}), {y.shape} ({y.name}) and {weight.shape} ({weight.name})"
        )
    result = ted.einsum("...i,oij,...j->...o", x, weight, y)
    return result if bias is None else result + shaped(bias, (outputs,), "bilinear: bias")


def flatten(x: Any) -> Tensor:
    """All dims but the first joined, row-major.

    Shapes: x (n, ...), result (n, product of the rest).
    """
    x = to_tensor(x, "flatten")
    return ted.flatten(x, 1) if x.ndim > 1 else ted.reshape(x, (*x.shape, 1))


def embedding(table: Any, ids: Any, padding_idx: int | None = None) -> Tensor:
    """The rows of `table` at `ids`; an id outside the table is an error when the program runs.

    The row `padding_idx` is read as others, and gets no gradient.
    Shapes: table (rows, width), ids (...) of integers, result (..., width).
    Raises: FrontendError for a table of another rank, or ids that are no integers.
    """
    table, ids = ranked(table, 2, "embedding: table"), _integers(ids, "embedding: ids")
    unmoved = None if padding_idx is None else _row(table, padding_idx, "embedding")

    def element(*i: Any) -> Any:
        row = table[ids[i[:-1]], i[-1]]
        return row if unmoved is None else _constant_at(row, ids[i[:-1]] == unmoved)

    return ted.compute((*ids.shape, table.shape[1]), element, name="embedding")


def embedding_bag(
    table: Any, ids: Any, mode: str = "mean", weights: Any = None, padding_idx: int | None = None,
    ties: str = "first", offsets: Any = None, include_last_offset: bool = False,
) -> Tensor:  # fmt: skip
    """The mean, the sum or the maximum of the rows of `table` at the ids of each bag.

    `weights` multiply the rows of sums.  An id that is `padding_idx` takes no part: bags of many
    lengths are filled up with it.  A bag of nothing gives 0.  With `offsets` bags stand one behind
    the other: they say where each begins, the first at 0, and with `include_last_offset` where the
    last one ends; equal maxima then share the gradient.
    Shapes: table (rows, width), ids and weights (..., ids of a bag), result (..., width); with
    offsets (bags) ids and weights (all ids), result (bags, width).
    Raises: FrontendError for shapes that do not fit, ids or offsets that are no integers, weights
    of another mode than "sum".
    """
    what = "embedding_bag"
    table, ids = ranked(table, 2, f"{what}: table"), _integers(ids, f"{what}: ids")
    mode = one_of(mode, ("mean", "sum", "max"), f"{what}: mode")
    if ids.ndim == 0:
        fail(f"{what}: ids need a dim of a bag, got rank 0")
    if weights is not None:
        weights = shaped(floating(weights, f"{what}: weights"), ids.shape, f"{what}: weights")
        if mode != "sum":
            fail(f'{what}: weights are those of mode "sum", got mode {mode!r}')
    left_out = None if padding_idx is None else _row(table, padding_idx, what)
    if offsets is not None:
        begins = ranked(_integers(offsets, f"{what}: offsets"), 1, f"{what}: offsets")
        ended = flag(include_last_offset, f"{what}: include_last_offset")
        return _bags(table, ranked(ids, 1, f"{what}: ids"), mode, weights, left_out, begins, ended)
    r = ted.reduce_axis(ids.shape[-1], "r")

    def element(*i: Any) -> Any:
        *bag, k = i
        counts = None if left_out is None else ids[(*bag, r)] != left_out
        row = table[ids[(*bag, r)], k]
        if mode == "max":
            found = ted.max(row, axis=r, where=counts, ties=ties)
            some = ted.any(True if counts is None else counts, axis=r)
            return found if counts is None and ids.shape[-1] != 0 else ted.where(some, found, 0)
        value = row if weights is None else row * weights[(*bag, r)]
        total = ted.sum(value, axis=r, where=counts)
        if mode == "sum":
            return total
        if counts is None:
            return total / (ids.shape[-1] or 1)
        count = ted.sum(ted.where(counts, 1.0, 0.0), axis=r)
        return total / ted.maximum(count, 1.0)

    return ted.compute((*ids.shape[:-1], table.shape[1]), element, name=what)


def _bags(
    table: Tensor, ids: Tensor, mode: str, weights: Tensor | None, left_out: int | None,
    offsets: Tensor, ended: bool,
) -> Tensor:  # fmt: skip
    """Bags one behind the other: each id knows its own by the number of those that have begun."""
    what = "embedding_bag"
    if offsets.shape[0] == 0:
        fail(f"{what}: offsets must say where one bag at least begins or ends, got none")
    first = within(offsets[:1], 0, f"{what}: the first of offsets")  # 0, or an error
    begins = within(offsets, ids.shape[0], f"{what}: offsets")
    begun = ted.cumsum(ted.bincount(begins, ids.shape[0] + 1), 0)
    owner = begun[:-1] - 1 - first[0]
    every = ted.full(ids.shape, True, "bool")
    counts = every if left_out is None else ted.not_equal(ids, left_out)
    rows = ted.where(counts[:, None], embedding(table, ids), -math.inf if mode == "max" else 0.0)
    rows = rows if weights is None else rows * weights[:, None]
    found = ted.scatter((*offsets.shape, table.shape[1]), owner, rows, _JOINS[mode])
    number = ted.bincount(owner, offsets.shape[0], counts.astype(table.dtype))[:, None]
    if mode == "max":
        found = ted.where(number > 0, found, 0.0)
    found = found / ted.maximum(number, 1) if mode == "mean" else found
    return found[:-1] if ended else found


def _integers(ids: Any, what: str) -> Tensor:
    ids = to_tensor(ids, what)
    if ids.dtype.kind != "int":
        fail(f"{what} must be integers, got {ids.dtype} ({ids.name})")
    return ids


def _row(table: Tensor, row: Any, what: str) -> int:
    """The number of a row, which may count from the end."""
    number, rows = integer(row, f"{what}: padding_idx"), table.shape[0]
    if not -rows <= number < rows:
        fail(f"{what}: padding_idx must be a row of {rows}, got {number}")
    return number % rows if isinstance(rows, int) else number


def _constant_at(value: Any, condition: Any) -> Any:
    return ted.where(condition, ted.stop_gradient(value), value)
