"""Triangular systems and factors in blocks: recurrences over blocks, and over one in each step.

Before: `l[i, k] = (a[i, k] - sum of l[i, r] * l[k, r] over r < k) / l[k, k]`, column by column
After: the same with `k = J * size + j`: sums over whole blocks, which are products of matrices, and
then the columns of a block

Blocks stand for themselves in subscripts, `u[J, j, I, i]`, so that conditions are about blocks and
products about all that is in them.
Source: Golub and Van Loan, Matrix Computations, sections 3.1.4 and 4.2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.elementwise import sqrt, where
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor

# Rows of a block, the better ones first: few, as what is inside of a block is no product, but
# enough to fill registers with one; multiples of four, the lanes of f64 in 32 bytes.
SIZES = (24, 20, 16, 32, 28, 12)
# Rows from which on blocks are worth what they take to compile, some five times as long.
LEAST = 128


@dataclass(frozen=True)
class Blocks:
    """So many blocks of so many rows."""

    count: int
    size: int

    @property
    def rows(self) -> int:
        """The rows of all blocks."""
        return self.count * self.size

    def row(self, block: Any, place: Any) -> Any:
        """The row at a place of a block."""
        return block * self.size + place

    def of(self, row: Any) -> tuple[Any, Any]:
        """The block of a row, and its place there."""
        return row // self.size, row % self.size


def blocks_of(rows: Any) -> Blocks | None:
    """The blocks of so many rows; None for few rows, a symbolic size, or one of no whole blocks."""
    if not isinstance(rows, int) or rows < LEAST:
        return None
    return next((Blocks(rows // size, size) for size in SIZES if rows % size == 0), None)


def cholesky_in_blocks(a: Tensor, blocks: Blocks) -> Tensor:
    """The lower factor of whole blocks: the upper one row by row, as rows lie in memory, turned."""
    batch, size, count = a.ndim - 2, blocks.size, blocks.count
    r, before = reduce_axis(size, "r"), reduce_axis(count, "before")

    def corner(_c: Tensor, _l: Tensor, _d: Tensor, upper: Tensor, *i: Any) -> Any:
        *head, block, row, place = i
        far = upper[(*head, before, r, block, row)] * upper[(*head, before, r, block, place)]
        return sum_over(far, axis=(before, r), where=before < block)

    def rest(square: Tensor, _l: Tensor, _d: Tensor, upper: Tensor, *i: Any) -> Any:
        *head, block, row, other, place = i
        far = upper[(*head, before, r, block, row)] * upper[(*head, before, r, other, place)]
        near = upper[(*head, block, r, block, row)] * upper[(*head, block, r, other, place)]
        total = a[(*head, blocks.row(other, place), blocks.row(block, row))]
        total -= sum_over(near, axis=r, where=r < row)
        # Both halves of a symmetric product are used, so that it is one over a box.
        here = 0.5 * (square[(*head, block, row, place)] + square[(*head, block, place, row)])
        behind = (other == block) & (place >= row)
        far = sum_over(far, axis=(before, r), where=before < block)
        return where(other > block, total - far, where(behind, total - here, 0))

    def root(_c: Tensor, left: Tensor, _d: Tensor, _u: Tensor, *i: Any) -> Any:
        return sqrt(left[(*i, i[-2], i[-1])])

    def element(_c: Tensor, left: Tensor, roots: Tensor, _u: Tensor, *i: Any) -> Any:
        *head, block, row, other, place = i
        on = roots[(*head, block, row)]
        behind = (other > block) | ((other == block) & (place > row))
        return where(behind, left[i] / on, where((other == block) & (place == row), on, 0))

    shape, times = (*a.shape[:-2], count, size, count, size), (batch, batch + 1)
    upper = recurrence(
        [(*shape[:-2], size), shape, shape[:-2], shape],
        [corner, rest, root, element],
        a.dtype,
        times,
        name=["cholesky_corner", "cholesky_rest", "cholesky_diagonal", "cholesky_upper"],
    )[3]

    def lower(*i: Any) -> Any:
        *head, row, column = i
        return upper[(*head, *blocks.of(column), *blocks.of(row))]

    shape = (*a.shape[:-2], blocks.rows, blocks.rows)
    return compute(shape, lower, name="cholesky")


def solve_in_blocks(a: Any, b: Tensor, blocks: Blocks, dtype: Any, unit: bool, up: bool) -> Tensor:
    """The x with a @ x = b; `a` is a function of indices, `up` begins with the last row."""
    batch, size = b.ndim - 2, blocks.size
    r, other = reduce_axis(size, "r"), reduce_axis(blocks.count, "other")

    def element(x: Tensor, *i: Any) -> Any:
        *head, block, row, column = i
        at = blocks.row(block, row)
        far = a(head, at, blocks.row(other, r)) * x[(*head, other, r, column)]
        near = a(head, at, blocks.row(block, r)) * x[(*head, block, r, column)]
        total = b[(*head, at, column)]
        total -= sum_over(far, axis=(other, r), where=(other > block) if up else (other < block))
        total -= sum_over(near, axis=r, where=(r > row) if up else (r < row))
        return total if unit else total / a(head, at, at)

    shape = (*b.shape[:-2], blocks.count, size, b.shape[-1])
    x = recurrence(shape, element, dtype, (batch, batch + 1), up, name="solve_triangular")

    def joined(*i: Any) -> Any:
        *head, row, column = i
        return x[(*head, *blocks.of(row), column)]

    return compute((*b.shape[:-2], blocks.rows, b.shape[-1]), joined, name="solve_triangular")
