"""LU in blocks: which rows are the pivots, and the factors of the matrix in that order of rows.

Pivots are found by a factorisation of their own, which no gradient flows through: rows keep their
places there, and those that are taken are left out of a search. The factors are then those of a
matrix that needs no pivots, so that gradients of any order read nothing at data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ted.frontend.axes import Axis, reduce_axis
from ted.frontend.blocked_factors import Blocks
from ted.frontend.compute import compute
from ted.frontend.elementwise import absolute, stop_gradient, where
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import argmax
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT64


class _Search(NamedTuple):
    """The tensors of the search for pivots; [J, j] is column j of block J, and its pivot."""

    far: Tensor  # [J, j, row]: what blocks before subtract from a column
    rest: Tensor  # [J, j, row]: what is left of it
    pivot: Tensor  # [J, j]: the row with the largest
    free: Tensor  # [J, j, row]: whether it is no pivot yet
    near: Tensor  # [J, j, k]: the factors of the pivot in the columns of its block
    corner: Tensor  # [J, j, k]: its row of U in its block
    lower: Tensor  # [J, j, row]: a column of L
    own: Tensor  # [J, j, I, k]: the factors of the pivot in the blocks before
    upper: Tensor  # [J, j, I, k]: its row of U behind its block


@dataclass(frozen=True)
class _Pivots:
    """The elements of these tensors; behind the matrix are rows and columns of an identity."""

    a: Tensor
    rows: Any
    blocks: Blocks
    r: Axis
    s: Axis
    before: Axis

    def at(self, head: Any, row: Any, column: Any) -> Any:
        if self.rows == self.blocks.rows:
            return self.a[(*head, row, column)]
        inside = (row < self.rows) & (column < self.rows)
        return where(inside, self.a[(*head, row, column)], where(row == column, 1, 0))

    def far(self, x: _Search, *i: Any) -> Any:
        *head, block, column, row = i
        before, r = self.before, self.r
        terms = x.lower[(*head, before, r, row)] * x.upper[(*head, before, r, block, column)]
        return sum_over(terms, axis=(before, r), where=before < block)

    def rest(self, x: _Search, *i: Any) -> Any:
        *head, block, column, row = i
        r, place = self.r, self.blocks.row(block, column)
        terms = x.lower[(*head, block, r, row)] * x.corner[(*head, block, r, column)]
        return self.at(head, row, place) - x.far[i] - sum_over(terms, axis=r, where=r < column)

    def was_free(self, x: _Search, *i: Any) -> Any:
        *head, block, column, row = i
        last = x.free[(*head, block - 1, self.blocks.size - 1, row)]
        return where(
            column > 0, x.free[(*head, block, column - 1, row)], where(block > 0, last, True)
        )

    def pivot(self, x: _Search, *i: Any) -> Any:
        size = absolute(x.rest[(*i, self.s)])
        return argmax(where(self.was_free(x, *i, self.s), size, -1.0), axis=self.s)

    def free(self, x: _Search, *i: Any) -> Any:
        return self.was_free(x, *i) & (x.pivot[i[:-1]] != i[-1])

    def near(self, x: _Search, *i: Any) -> Any:
        *head, block, column, k = i
        own = where(x.pivot[i[:-1]] == self.s, x.lower[(*head, block, k, self.s)], 0)
        return where(k < column, sum_over(own, axis=self.s, where=k < column), 0)

    def corner(self, x: _Search, *i: Any) -> Any:
        *head, block, column, k = i
        r, row = self.r, x.pivot[i[:-1]]
        far = where(row == self.s, x.far[(*head, block, k, self.s)], 0)
        terms = x.near[(*head, block, column, r)] * x.corner[(*head, block, r, k)]
        total = self.at(head, row, self.blocks.row(block, k))
        total -= sum_over(far, axis=self.s, where=k >= column)
        return where(k >= column, total - sum_over(terms, axis=r, where=r < column), 0)

    def lower(self, x: _Search, *i: Any) -> Any:
        *head, block, column, _ = i
        return where(x.free[i], x.rest[i] / x.corner[(*head, block, column, column)], 0)

    def own(self, x: _Search, *i: Any) -> Any:
        *head, block, column, other, k = i
        return where(other < block, x.lower[(*head, other, k, x.pivot[(*head, block, column)])], 0)

    def upper(self, x: _Search, *i: Any) -> Any:
        *head, block, column, other, k = i
        here, before, r = (*head, block, column), self.before, self.r
        far = x.own[(*here, before, r)] * x.upper[(*head, before, r, other, k)]
        near = x.near[(*here, r)] * x.upper[(*head, block, r, other, k)]
        total = self.at(head, x.pivot[here], self.blocks.row(other, k))
        total -= sum_over(far, axis=(before, r), where=before < block)
        return where(other > block, total - sum_over(near, axis=r, where=r < column), 0)


def pivots_in_blocks(a: Tensor, blocks: Blocks) -> Tensor:
    """The rows of a matrix in the order in which partial pivoting takes them."""
    head, rows = a.shape[:-2], a.shape[-1]
    count, size = blocks.count + bool(blocks.rest), blocks.size
    r, s = reduce_axis(size, "r"), reduce_axis(count * size, "s")
    find = _Pivots(stop_gradient(a), rows, Blocks(count, size), r, s, reduce_axis(count, "before"))
    column, square, whole = (count * size,), (size,), (count, size)
    parts = {
        "far": column, "rest": column, "pivot": (), "free": column, "near": square,
        "corner": square, "lower": column, "own": whole, "upper": whole,
    }  # fmt: skip
    types = {"pivot": INT64, "free": BOOL}

    def element(name: str) -> Callable[..., Any]:
        made = getattr(find, name)
        return lambda *i: made(_Search(*i[: len(parts)]), *i[len(parts) :])

    found = recurrence(
        [(*head, count, size, *part) for part in parts.values()],
        [element(name) for name in parts],
        [types.get(name, a.dtype) for name in parts],
        (len(head), len(head) + 1),
        name=[f"lu_{name}" for name in parts],
    )
    pivot = _Search(*found).pivot
    return compute(a.shape[:-1], lambda *i: pivot[(*i[:-1], *blocks.of(i[-1]))], name="lu_pivot")


class _Factors(NamedTuple):
    """The tensors of the factors of a matrix that needs no pivots."""

    corner: Tensor  # [J, j, k]: what blocks before subtract in the block on the diagonal
    upper: Tensor  # [J, j, I, k]: rows of U
    rest: Tensor  # [J, j, I, i]: columns, before they are divided
    lower: Tensor  # [J, j, I, i]: columns of L


def factors_in_blocks(a: Tensor, blocks: Blocks) -> tuple[Tensor, Tensor]:
    """The unit lower l and the upper u with a = l @ u, of whole blocks."""
    batch, size, count = a.ndim - 2, blocks.size, blocks.count
    r, before = reduce_axis(size, "r"), reduce_axis(count, "before")

    def product(x: _Factors, row: Any, column: Any, head: Any, block: Any) -> Any:
        """Of the blocks before, for a (block, place) of each."""
        terms = x.lower[(*head, before, r, *row)] * x.upper[(*head, before, r, *column)]
        return sum_over(terms, axis=(before, r), where=before < block)

    def corner(*i: Any) -> Any:
        x, (*head, block, j, k) = _Factors(*i[:4]), i[4:]
        return product(x, (block, j), (block, k), head, block)

    def left(x: _Factors, i: Any, turned: bool) -> Any:
        """A row of U from the diagonal on, or a column below it: both sums are over a box."""
        *head, block, j, other, k = i
        row, column = ((other, k), (block, j)) if turned else ((block, j), (other, k))
        at = a[(*head, blocks.row(*row), blocks.row(*column))]
        near = x.lower[(*head, block, r, *row)] * x.upper[(*head, block, r, *column)]
        near = sum_over(near, axis=r, where=r < j)
        here = x.corner[(*head, block, k, j) if turned else (*head, block, j, k)]
        behind = (other == block) & ((k > j) if turned else (k >= j))
        far = product(x, row, column, head, block)
        return where(other > block, at - far - near, where(behind, at - here - near, 0))

    def lower(*i: Any) -> Any:
        x, (*head, block, j, other, k) = _Factors(*i[:4]), i[4:]
        behind = (other > block) | ((other == block) & (k > j))
        return where(behind, x.rest[i[4:]] / x.upper[(*head, block, j, block, j)], 0)

    shape, times = (*a.shape[:-2], count, size, count, size), (batch, batch + 1)
    found = recurrence(
        [(*shape[:-2], size), shape, shape, shape],
        [
            corner,
            lambda *i: left(_Factors(*i[:4]), i[4:], False),
            lambda *i: left(_Factors(*i[:4]), i[4:], True),
            lower,
        ],
        a.dtype,
        times,
        name=["lu_corner", "lu_rows", "lu_rest", "lu_columns"],
    )
    return _joined(_Factors(*found), (*a.shape[:-2], blocks.rows, blocks.rows), blocks)


def _joined(x: _Factors, shape: tuple[Any, ...], blocks: Blocks) -> tuple[Tensor, Tensor]:
    """The factors as matrices."""

    def unit(*i: Any) -> Any:
        *head, row, column = i
        return where(row == column, 1, x.lower[(*head, *blocks.of(column), *blocks.of(row))])

    def upper(*i: Any) -> Any:
        *head, row, column = i
        return x.upper[(*head, *blocks.of(row), *blocks.of(column))]

    return compute(shape, unit, name="lu_lower"), compute(shape, upper, name="lu_upper")
