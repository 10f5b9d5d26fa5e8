"""A contraction as integers: iteration dims with one stride per operand, nothing else.

`C[sum c_d d] += A[sum a_d d] * B[sum b_d d]` covers matrix products in every layout, batched ones,
convolutions (a window is a dim that shares its memory with another), their gradients, dilated and
strided ones, and a destination that is a strided slice: they differ only in the numbers. (Source:
D. Matthews, High-performance tensor contraction without transposition, SIAM J. Sci. Comput. 2018;
the microkernel itself: K. Goto, R. van de Geijn, Anatomy of high-performance matrix
multiplication, ACM TOMS 2008.)
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ted.records import dataclass


@dataclass(frozen=True)
class Dim:
    """An iteration dim: its extent and how far one step moves in A, B and C, in elements."""

    extent: int
    a: int
    b: int
    c: int
    reduction: bool = False

    def contains(self, inner: Dim) -> bool:
        """Whether this dim continues `inner`, so that both are one longer dim."""
        return self.reduction == inner.reduction and all(
            mine == theirs * inner.extent
            for mine, theirs in ((self.a, inner.a), (self.b, inner.b), (self.c, inner.c))
        )


@dataclass(frozen=True)
class Contraction:
    """The dims of a contraction by role; a `row` moves in A and C, a `column` in B and C.

    Dims that move in both inputs (or in none) and in C are `batch`, the others are `reduction`.
    """

    batch: tuple[Dim, ...]
    rows: tuple[Dim, ...]
    columns: tuple[Dim, ...]
    reduction: tuple[Dim, ...]

    @property
    def row_count(self) -> int:
        """How often an element of B is used."""
        return prod(dim.extent for dim in self.rows)

    @property
    def column_count(self) -> int:
        """How often an element of A is used."""
        return prod(dim.extent for dim in self.columns)

    @property
    def reduction_count(self) -> int:
        """How many products one element of C sums."""
        return prod(dim.extent for dim in self.reduction)


def classify(dims: tuple[Dim, ...]) -> Contraction:
    """Fuse neighbours and sort dims by role."""
    dims = fuse(dims)
    parallel = [dim for dim in dims if not dim.reduction]
    reduction = sorted((dim for dim in dims if dim.reduction), key=_reach, reverse=True)
    return Contraction(
        batch=tuple(dim for dim in parallel if bool(dim.a) == bool(dim.b)),
        rows=tuple(dim for dim in parallel if dim.a and not dim.b),
        columns=tuple(dim for dim in parallel if dim.b and not dim.a),
        reduction=tuple(reduction),
    )


def fuse(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Drop dims of extent 1 and merge each pair that is one longer dim in all three operands."""
    dims = tuple(dim for dim in dims if dim.extent != 1)
    for outer in dims:
        for inner in dims:
            if inner is not outer and outer.contains(inner):
                merged = replace(inner, extent=outer.extent * inner.extent)
                rest = tuple(merged if dim is inner else dim for dim in dims if dim is not outer)
                return fuse(rest)
    return dims


def swap_inputs(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The same contraction with A and B exchanged, so rows become columns."""
    return tuple(replace(dim, a=dim.b, b=dim.a) for dim in dims)


def _reach(dim: Dim) -> int:
    return max(abs(dim.a), abs(dim.b))
