"""Triangular systems and factors in blocks: recurrences over blocks, and over one in each step.

Before: `l[i, k] = (a[i, k] - sum of l[i, r] * l[k, r] over r < k) / l[k, k]`, column by column
After: the same with `k = J * size + j`: sums over whole blocks, which are products of matrices, and
then the columns of a block

Blocks stand for themselves in subscripts, `u[J, j, I, i]`, so that conditions are about blocks and
products about all that is in them.
Source: Golub and Van Loan, Matrix Computations, sections 3.1.4 and 4.2.6.
"""

from __future__ import annotations

from typing import Any

from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.elementwise import sqrt, where
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.records import dataclass

# Rows of a block, the better ones first: few, as what is inside of a block is no product, but
# enough to fill registers with one; multiples of four, the lanes of f64 in 32 bytes.
SIZES = (24, 20, 16, 32, 28, 12)
# Where a row of a block is the columns of a product, as in factors: registers of 16 f32 are full,
# and shorter ones. Blocks of 20 rows took 1.1 to 1.5 times as long in f32, as long in f64.
OF_FACTORS = (16,)
# Rows from which on blocks are worth what they take to compile, some five times as long.
LEAST = 128


@dataclass(frozen=True)
class Blocks:
    """So many blocks of so many rows."""

    count: int
    size: int
    more: int = 0  # rows that fill the first block

    @property
    def shape(self) -> tuple[int, int]:
        """The extents of a dim of rows that is split."""
        return self.count, self.size

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


def blocks_of(rows: Any, of_factor: bool = False) -> Blocks | None:
    """The blocks that hold so many rows and the fewest more; None for few or symbolic ones."""
    if not isinstance(rows, int) or rows < LEAST:
        return None
    sizes = OF_FACTORS if of_factor else SIZES
    found = [Blocks(-(-rows // size), size, -rows % size) for size in sizes]
    return min(found, key=lambda blocks: blocks.more)


def bordered(a: Tensor, more: int, behind: bool = False) -> Tensor:
    """The matrix with an identity of so many rows before it, which no factor mixes with it.

    What comes first is read by all that follows: there is no part that nobody uses, which the
    derivative would have to tell from the rest.
    """
    if not more:
        return a
    *batch, rows, columns = a.shape
    first = 0 if behind else more

    def element(*i: Any) -> Any:
        *head, row, column = i
        row, column = row - first, column - first
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return where(inside, a[(*head, row, column)], row + columns == column + rows)

    return compute((*batch, rows + more, columns + more), element, name="bordered")


def cholesky_in_blocks(a: Tensor, blocks: Blocks) -> Tensor:
    """The lower factor: the upper one row by row, as rows lie in memory, turned."""
    batch, size, count = a.ndim - 2, blocks.size, blocks.count
    whole, more = bordered(a, blocks.more), blocks.more
    r, before = reduce_axis(size, "r"), reduce_axis(count, "before")

    def corner(_c: Tensor, _l: Tensor, _d: Tensor, upper: Tensor, *i: Any) -> Any:
        *head, block, row, place = i
        far = upper[(*head, before, r, block, row)] * upper[(*head, before, r, block, place)]
        return sum_over(far, axis=(before, r), where=before < block)

    def rest(square: Tensor, _l: Tensor, _d: Tensor, upper: Tensor, *i: Any) -> Any:
        *head, block, row, other, place = i
        far = upper[(*head, before, r, block, row)] * upper[(*head, before, r, other, place)]
        near = upper[(*head, block, r, block, row)] * upper[(*head, block, r, other, place)]
        total = whole[(*head, blocks.row(other, place), blocks.row(block, row))]
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
        return upper[(*head, *blocks.of(column + more), *blocks.of(row + more))]

    return compute(a.shape, lower, name="cholesky")


def solve_in_blocks(
    a: Tensor, b: Tensor, blocks: Blocks, dtype: Any, turned: bool, unit: bool, up: bool
) -> Tensor:
    """The x with a @ x = b, or a.T @ x = b if `turned`; `up` begins with the last row."""
    batch, size, rows = b.ndim - 2, blocks.size, b.shape[-2]
    whole, first = bordered(a, blocks.more, behind=up), 0 if up else blocks.more
    r, other = reduce_axis(size, "r"), reduce_axis(blocks.count, "other")

    def on(head: Any, row: Any, column: Any) -> Any:
        return whole[(*head, column, row) if turned else (*head, row, column)]

    def element(x: Tensor, *i: Any) -> Any:
        *head, block, row, column = i
        at = blocks.row(block, row)
        far = on(head, at, blocks.row(other, r)) * x[(*head, other, r, column)]
        near = on(head, at, blocks.row(block, r)) * x[(*head, block, r, column)]
        total = where((at >= first) & (at < first + rows), b[(*head, at - first, column)], 0)
        total -= sum_over(far, axis=(other, r), where=(other > block) if up else (other < block))
        total -= sum_over(near, axis=r, where=(r > row) if up else (r < row))
        return total if unit else total / on(head, at, at)

    shape = (*b.shape[:-2], blocks.count, size, b.shape[-1])
    x = recurrence(shape, element, dtype, (batch, batch + 1), up, name="solve_triangular")

    def joined(*i: Any) -> Any:
        *head, row, column = i
        return x[(*head, *blocks.of(row + first), column)]

    return compute(b.shape, joined, name="solve_triangular")
