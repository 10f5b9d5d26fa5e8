"""The points of an equation, taken apart: those of a step that sums some dims, and the rest's.

Before: i < 4, j < 4, r < 8 with r <= j          summed over r in what depends on j and r
After:  j < 4, r < 8 with r <= j                 and i < 4, j < 4 for the rest

Each is the other's without the dims that it does not have.  The two must join to what was there:
then nothing is summed twice or left out, and nothing is computed that had no part in the sum.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ted.domain import parameters, sets
from ted.domain.budget import bounded
from ted.domain.sizes import Extent
from ted.ir.equations import Equation
from ted.records import dataclass


class CoupledError(Exception):
    """Dims that should come apart are together in a condition, or too hard to tell."""


@dataclass(frozen=True)
class Points:
    """Points over some of an equation's dims, in ascending order; None for their whole box."""

    extents: tuple[Extent, ...]  # of all dims of the equation
    dims: tuple[int, ...]
    domain: Any

    @staticmethod
    def of(equation: Equation) -> Points:
        """All points of an equation."""
        whole = None if equation.is_box else equation.domain
        return Points(equation.extents, tuple(range(equation.rank)), whole)

    def apart(self, dims: Collection[int], summed: Collection[int]) -> tuple[Points, Points]:
        """The points over `dims`, and those of the rest, over all dims but the summed ones.

        Raises: CoupledError.
        """
        rest = [d for d in self.dims if d not in summed]
        if self.domain is None:
            return self._boxed(dims), self._boxed(rest)
        parts = bounded(self._parts, sorted(dims), rest)
        if parts is None:
            raise CoupledError
        return parts

    def require_box(self) -> None:
        """Refuse points that are a part of their box.

        Raises: CoupledError.
        """
        if self.domain is not None:
            box = parameters.box([self.extents[d] for d in self.dims])
            if not bounded(box.is_subset, self.domain):
                raise CoupledError

    def ordered(self, order: Sequence[int]) -> Any:
        """The points as an isl set with the dims in this order."""
        if self.domain is None:
            return parameters.box([self.extents[d] for d in order])
        rank = len(order)
        return sets.preimage(
            self.domain, rank, [sets.dim_aff(rank, order.index(d)) for d in self.dims]
        )

    def _boxed(self, dims: Collection[int]) -> Points:
        return Points(self.extents, tuple(sorted(dims)), None)

    def _parts(self, dims: Sequence[int], rest: Sequence[int]) -> tuple[Points, Points]:
        one, other = self._projected(dims), self._projected(rest)
        joined = self._lifted(one).intersect(self._lifted(other))
        if not joined.is_subset(self.domain):
            raise CoupledError
        return one, other

    def _projected(self, dims: Sequence[int]) -> Points:
        places = [self.dims.index(d) for d in dims]
        domain = sets.project(self.domain, places).coalesce()
        return Points(self.extents, tuple(dims), domain)

    def _lifted(self, part: Points) -> Any:
        rank = len(self.dims)
        affs = [sets.dim_aff(rank, self.dims.index(d)) for d in part.dims]
        return sets.preimage(part.domain, rank, affs)
