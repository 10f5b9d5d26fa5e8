"""Those of many elements that can be among the first few: the groups whose best ones are.

Before: x of n elements along a dim, of which the k first are wanted
After:  the elements of k groups only: of those whose best elements come first of the groups' best

An element that is not in these groups comes behind the k best ones of them. Equal elements stay in
their order: groups are neighbours, and the first of equal groups hold the first elements.
"""

from __future__ import annotations

import math

from ted.frontend.compute import compute
from ted.frontend.elementwise import isnan, where
from ted.frontend.indexing import place
from ted.frontend.joining import padded
from ted.frontend.layout import reshape
from ted.frontend.reductions import all, max, min
from ted.frontend.tensors import Tensor

_FEWER = 4  # of so many elements one is left, else groups are not worth it


def group_size(n: int, k: int) -> int:
    """Elements of a group of n, so that groups and what k of them hold are few; 1 is no group."""
    size = 1 << (math.isqrt(n // k).bit_length() - 1) if n > k > 0 else 1
    return size if _FEWER * (n // size + k * size) <= n else 1


def in_groups(rows: Tensor, size: int, descending: bool) -> Tensor:
    """(outer, n, inner) -> (outer, groups, size, inner), filled up by what comes behind all."""
    outer, n, inner = rows.shape
    least, most = _range(rows)
    rows = padded(rows, ((0, 0), (0, -n % size), (0, 0)), value=least if descending else most)
    return reshape(rows, (outer, -(-n // size), size, inner))


def best_of(groups: Tensor, descending: bool) -> Tensor:
    """The element of each group that comes first, NaN greatest: (outer, groups, inner)."""
    if descending or not groups.dtype.is_float:
        return (max if descending else min)(groups, 2)
    found = min(where(isnan(groups), math.inf, groups), 2)
    return where(all(isnan(groups), 2), math.nan, found)


def elements_of(groups: Tensor, chosen: Tensor) -> Tensor:
    """What is in the chosen groups: (outer, k * size, inner)."""
    outer, _, size, inner = groups.shape
    k = chosen.shape[1]

    def element(a: object, c: object, j: object, b: object) -> object:
        return groups[a, place(chosen[a, c, b], 0, "unchecked")[0], j, b]

    return reshape(compute((outer, k, size, inner), element, name="near"), (outer, k * size, inner))


def _range(rows: Tensor) -> tuple[float, float]:
    """What nothing is less than, and what nothing is greater than."""
    return (-math.inf, math.nan) if rows.dtype.is_float else rows.dtype.range
