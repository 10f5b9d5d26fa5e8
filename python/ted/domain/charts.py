"""Charts: a set of pairs (target a, point x), both written as functions of new integer dims.

The new dims are first the *outer* ones q, which alone determine the target, then the loop dims t.
Every pair of the set belongs to exactly one (q, t) of the chart's domain. All steps of the fibre
solver turn one chart into others by substitution, which keeps that property by construction.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.domain import isl, sets
from ted.records import dataclass


@dataclass(frozen=True)
class Chart:
    """`domain` over (q, t); `targets` and `points` are functions on its space."""

    domain: isl.Set
    outer: int
    targets: tuple[isl.Aff, ...]
    points: tuple[isl.Aff, ...]

    @property
    def rank(self) -> int:
        """The number of dims q and t."""
        return sets.rank_of(self.domain)

    @property
    def values(self) -> tuple[isl.Aff, ...]:
        """Targets and points."""
        return self.targets + self.points

    def substitute(self, rank: int, outer: int, values: Sequence[isl.Aff]) -> Chart:
        """The chart over `rank` new dims, with old dim k replaced by `values[k]`."""
        change = sets.multi_aff(rank, values)
        return Chart(
            self.domain.preimage_multi_aff(change).compute_divs(),
            outer,
            tuple(value.pullback_multi_aff(change) for value in self.targets),
            tuple(value.pullback_multi_aff(change) for value in self.points),
        )

    def replace_dim(self, index: int, value: isl.Aff) -> Chart:
        """The chart with dim `index` replaced by a function of the dims, possibly of itself."""
        values = sets.dim_affs(self.rank)
        values[index] = value
        return self.substitute(self.rank, self.outer, values)

    def restrict(self, points: isl.Set) -> Chart:
        """The part of the chart over `points`."""
        domain = self.domain.intersect(points)
        return Chart(domain, self.outer, self.targets, self.points)

    def simplified(self) -> Chart:
        """The same chart with values and constraints as short as the domain allows."""
        domain = self.domain.coalesce()
        targets = tuple(value.gist(domain) for value in self.targets)
        return Chart(
            domain, self.outer, targets, tuple(value.gist(domain) for value in self.points)
        )

    def outer_domain(self) -> isl.Set:
        """The q for which there is some t."""
        return self.domain.project_out(sets.SET, self.outer, self.rank - self.outer)
