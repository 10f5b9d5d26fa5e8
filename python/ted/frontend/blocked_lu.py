"""LU with partial pivoting in blocks of columns: a recurrence over blocks, with two in each step.

Before: column k of what is left is `a[i, k]` less a sum over all columns before, k by k
After: for a block of columns the sums over whole blocks at once, which are products of matrices;
then the columns of the block, k by k, with pivots; then the rows of U behind the block, again sums
over whole blocks first

The rows of the pivots are known when the columns of a block are done, so what lies behind the block
waits for them. Rows keep their numbers, as in `factorisations.py`.
Source: Golub and Van Loan, Matrix Computations, section 3.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ted.frontend.axes import Axis, reduce_axis
from ted.frontend.blocked_factors import Blocks, bordered
from ted.frontend.compute import compute
from ted.frontend.elementwise import absolute, cast, stop_gradient, where
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import argmax
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT64
from ted.records import dataclass


class _Steps(NamedTuple):
    """The tensors of step k of block b."""

    far: Tensor  # [b, k, row]: column k less what the blocks before take of it
    rest: Tensor  # [b, k, row]: what is left of it
    pivot: Tensor  # [b, k]: the row where it is largest
    free: Tensor  # [b, k, row]: whether a row is no pivot yet
    on: Tensor  # [b, k]: what is left there
    lower: Tensor  # [b, k, row]: column k of L
    corner: Tensor  # [b, k, j]: row k of U in the block itself
    own: Tensor  # [b, k, block, j]: the row of the pivot in the columns before
    upper: Tensor  # [b, k, block, j]: row k of U


def eliminated_in_blocks(a: Tensor, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor]:
    """The rows, the unit lower and the upper triangle of `lu`; batch dims come in front."""
    more = blocks.more
    steps = _recurrence(bordered(a, more), blocks)

    def lower(*i: Any) -> Any:
        *head, row, column = i
        found = steps.own[(*head, *blocks.of(row + more), *blocks.of(column + more))]
        return where(row > column, found, where(row == column, 1, 0))

    def upper(*i: Any) -> Any:
        *head, row, column = i
        found = steps.upper[(*head, *blocks.of(row + more), *blocks.of(column + more))]
        return where(row <= column, found, 0)

    shape = (*a.shape[:-2], a.shape[-1])
    rows = compute(shape, lambda *i: steps.pivot[(*i[:-1], *blocks.of(i[-1] + more))] - more,
                   name="lu_rows")  # fmt: skip
    return (
        rows,
        compute(a.shape, lower, name="lu_lower"),
        compute(a.shape, upper, name="lu_upper"),
    )


@dataclass(frozen=True)
class _Parts:
    """The equations of a step, of the matrix `a`."""

    a: Tensor
    blocks: Blocks
    r: Axis  # over a block
    s: Axis  # over all rows
    before: Axis  # over blocks

    def far(self, x: _Steps, *i: Any) -> Any:
        """Column k less what the blocks before take of it."""
        r, before = self.r, self.before
        *head, block, k, row = i
        terms = x.lower[(*head, before, r, row)] * x.upper[(*head, before, r, block, k)]
        known = sum_over(terms, axis=(before, r), where=before < block)
        return self.a[(*head, row, self.blocks.row(block, k))] - known

    def rest(self, x: _Steps, *i: Any) -> Any:
        """What is left of column k."""
        r = self.r
        *head, block, k, row = i
        terms = x.lower[(*head, block, r, row)] * x.corner[(*head, block, r, k)]
        return x.far[i] - sum_over(terms, axis=r, where=r < k)

    def was_free(self, x: _Steps, head: Any, block: Any, k: Any, row: Any) -> Any:
        """Whether a row was no pivot before step k."""
        first = where(block > 0, x.free[(*head, block - 1, self.blocks.size - 1, row)], True)
        return where(k > 0, x.free[(*head, block, k - 1, row)], first)

    def pivot(self, x: _Steps, *i: Any) -> Any:
        """The row where most is left."""
        s = self.s
        *head, block, k = i
        left = absolute(stop_gradient(x.rest[(*i, s)]))
        return argmax(where(self.was_free(x, head, block, k, s), left, -1.0), axis=s)

    def free(self, x: _Steps, *i: Any) -> Any:
        """Whether a row is no pivot yet."""
        *head, block, k, row = i
        return self.was_free(x, head, block, k, row) & (x.pivot[(*head, block, k)] != row)

    def on(self, x: _Steps, *i: Any) -> Any:
        """What is left in the row of the pivot."""
        s = self.s
        return sum_over(cast(x.pivot[i] == s, self.a.dtype) * x.rest[(*i, s)], axis=s)

    def lower(self, x: _Steps, *i: Any) -> Any:
        """Column k of L."""
        on = x.on[i[:-1]]
        return cast(x.free[i], self.a.dtype) * (x.rest[i] / where(on != 0, on, 1))

    def corner(self, x: _Steps, *i: Any) -> Any:
        """Row k of U in the block itself."""
        r = self.r
        *head, block, k, j = i
        row = x.pivot[(*head, block, k)]
        terms = x.lower[(*head, block, r, row)] * x.corner[(*head, block, r, j)]
        total = x.far[(*head, block, j, row)] - sum_over(terms, axis=r, where=r < k)
        return where(j > k, total, where(j == k, x.on[(*head, block, k)], 0))

    def own(self, x: _Steps, *i: Any) -> Any:
        """The row of the pivot in the columns before."""
        *head, block, k, other, j = i
        is_before = (other < block) | ((other == block) & (j < k))
        return where(is_before, x.lower[(*head, other, j, x.pivot[(*head, block, k)])], 0)

    def upper(self, x: _Steps, *i: Any) -> Any:
        """Row k of U."""
        r, before = self.r, self.before
        *head, block, k, other, j = i
        row = x.own[(*head, block, k, before, r)]
        far = sum_over(
            row * x.upper[(*head, before, r, other, j)], axis=(before, r), where=before < block
        )
        near = x.own[(*head, block, k, block, r)] * x.upper[(*head, block, r, other, j)]
        total = self.a[(*head, x.pivot[(*head, block, k)], self.blocks.row(other, j))] - far
        total -= sum_over(near, axis=r, where=r < k)
        inside = where(other == block, x.corner[(*head, block, k, j)], 0)
        return where(other > block, total, inside)


def _recurrence(a: Tensor, blocks: Blocks) -> _Steps:
    size, count, n = blocks.size, blocks.count, blocks.rows
    parts = _Parts(
        a, blocks, reduce_axis(size, "r"), reduce_axis(n, "s"), reduce_axis(count, "before")
    )
    names = _Steps._fields
    step = (*a.shape[:-2], count, size)
    rows, square = (*step, n), (*step, count, size)
    types = {"pivot": INT64, "free": BOOL}

    def element(name: str) -> Any:
        part = getattr(parts, name)
        return lambda *i: part(_Steps(*i[: len(names)]), *i[len(names) :])

    return _Steps(*recurrence(
        [rows, rows, step, rows, step, rows, (*step, size), square, square],
        [element(name) for name in names],
        [types.get(name, a.dtype) for name in names],
        (a.ndim - 2, a.ndim - 1),
        name=[f"lu_{name}" for name in names],
    ))  # fmt: skip
