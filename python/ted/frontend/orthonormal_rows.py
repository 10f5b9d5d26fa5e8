"""Orthonormal rows by Gram and Schmidt: a recurrence over rows, of many one over blocks of them.

Before: row k less its shares in all rows before, twice, then divided by its length
After:  the rows of a block less their shares in the blocks before, which are products of matrices,
then the same inside of the block row by row, and all that once more

The second time the rows of a block are nearly orthonormal, so that once is enough inside of it.
Source: Giraud, Langou and Rozloznik, The Loss of Orthogonality in Gram-Schmidt, section 4;
Barlow and Smoktunowicz, Reorthogonalized Block Classical Gram-Schmidt, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

from ted.frontend.axes import reduce_axis
from ted.frontend.blocked_factors import blocks_of
from ted.frontend.element_types import finfo
from ted.frontend.elementwise import sqrt, where
from ted.frontend.joining import padded
from ted.frontend.layout import reshape
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.records import dataclass

_BLOCK, _ROW = -3, -2  # dims along which shares are taken out of what follows

Part = tuple[tuple[Any, ...], Callable[..., Any], str]  # a shape, the elements, a name


def orthonormal(a: Tensor) -> Tensor:
    """A basis of the rows, which are as long as there are rows, or longer; batch dims in front."""
    *batch, n, m = a.shape
    blocks = blocks_of(n)
    if blocks is None:
        return _basis(a, [(_ROW, _ROW)], 0)
    more = blocks.more  # rows of zeros, which all that follows reads without a change
    whole = reshape(
        padded(a, [(0, 0)] * len(batch) + [(more, 0), (0, 0)]), (*batch, *blocks.shape, m)
    )
    found = _basis(whole, [(_BLOCK, _ROW, _ROW), (_BLOCK, _ROW)], more)
    return reshape(found, (*batch, blocks.rows, m))[..., more:, :]


def _basis(a: Tensor, passes: Sequence[Sequence[int]], more: int) -> Tensor:
    """The rows after some passes, each of which takes out shares along dims and normalises."""
    total = sum(2 * len(dims) + 2 for dims in passes)
    parts: list[Part] = []
    rows: int | None = None  # the tensor of the rows so far
    for dims in passes:
        normal = len(parts) + 2 * len(dims) + 1
        for dim in dims:
            against = normal if dim == _ROW else total - 1
            parts += _Shares(a, rows, against, len(parts), dim % a.ndim).parts()
            rows = len(parts) - 1
        parts += _normalised(a, len(parts), more, rows_are_given=len(parts) < total // len(passes))
        rows = normal
    shapes, elements, names = zip(*parts, strict=True)

    def element(part: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *i: part(i[:total], *i[total:])

    times = range(a.ndim - 1 - len(set(passes[0])), a.ndim - 1)
    return recurrence(
        list(shapes), [element(part) for part in elements], a.dtype, tuple(times), name=list(names)
    )[-1]


@dataclass(frozen=True)
class _Shares:
    """What rows have of those before them along a dim, and what is left without."""

    a: Tensor
    rows: int | None  # the tensor of the rows, None for `a`
    against: int  # that of those before, which are orthonormal
    own: int  # that of the shares
    dim: int

    def parts(self) -> list[Part]:
        """The shares, and the rows less them."""
        shape = self.a.shape
        pairs = (*shape[:-1], *shape[self.dim : -1])
        return [(pairs, self.share, "qr_share"), (shape, self.rest, "qr_rest")]

    def _row(self, h: Sequence[Tensor]) -> Tensor:
        return self.a if self.rows is None else h[self.rows]

    def share(self, h: Sequence[Tensor], *i: Any) -> Any:
        """The product of a row and one before it."""
        place, other = i[: self.a.ndim - 1], i[self.a.ndim - 1 :]
        r = reduce_axis(self.a.shape[-1], "r")
        before = h[self.against][(*place[: self.dim], *other, r)]
        return where(other[0] < place[self.dim], sum_over(before * self._row(h)[(*place, r)], r), 0)

    def rest(self, h: Sequence[Tensor], *i: Any) -> Any:
        """A row less its shares in those before it."""
        *place, column = i
        other = tuple(reduce_axis(extent, "other") for extent in self.a.shape[self.dim : -1])
        before = h[self.against][(*place[: self.dim], *other, column)]
        terms = before * h[self.own][(*place, *other)]
        return self._row(h)[i] - sum_over(terms, other, where=other[0] < place[self.dim])


def _normalised(a: Tensor, at: int, more: int, rows_are_given: bool) -> list[Part]:
    """The lengths of the rows of the tensor before, and those rows with length 1.

    A row of which roundings alone are left depends on those before it, and has no direction: NaN.
    """
    size = a.shape[-2]
    least = (4 * a.shape[-1] * finfo(a.dtype).eps) ** 2

    def length(h: Sequence[Tensor], *i: Any) -> Any:
        r = reduce_axis(a.shape[-1], "r")
        total = sum_over(h[at - 1][(*i, r)] ** 2, r)
        if rows_are_given:
            total = where(total > least * sum_over(a[(*i, r)] ** 2, r), total, nan)
        # rows of zeros stay so
        return sqrt(where(i[-2] * size + i[-1] < more, 1, total) if more else total)

    def normal(h: Sequence[Tensor], *i: Any) -> Any:
        return h[at - 1][i] / h[at][i[:-1]]

    return [(a.shape[:-1], length, "qr_length"), (a.shape, normal, "qr")]
