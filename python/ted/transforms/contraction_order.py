"""The order in which a sum over a product of many factors is taken, two of them at a time.

Before: sum over j, k of a[i, j] * b[j, k] * c[k, l]             n^4 points
After:  ((a, b) over i, j, k, keeping i, k; c) over i, k, l      2 n^3 points

A dim is summed as soon as no other factor and not the result depends on it, in one factor alone as
well. Of few factors every order is looked at, by their subsets (Pfeifer, Haegeman and Verstraete,
Phys. Rev. E 2014, section II); of more the cheapest next pair is taken each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from ted.records import dataclass

Dims = frozenset[int]
ALL_ORDERS = 6  # factors of which every order is looked at: there are 3^n pairs of subsets


@dataclass(frozen=True)
class Step:
    """A product of one or two parts at the points of `dims`, summed over all but `kept`.

    `work` and `points` are of this step and all before it.
    """

    dims: Dims
    kept: Dims
    parts: tuple[Step, ...] = ()
    factor: int = -1  # of a step without parts: the factor that it is, as it stands
    work: int = 0
    points: int = 0

    @property
    def contracts(self) -> bool:
        """Whether it is a sum of products, each with a dim of the result for itself."""
        if len(self.parts) != 2:
            return False
        left, right = (part.kept for part in self.parts)
        shared = (left & right) - self.kept
        return bool(shared and (left - right) & self.kept and (right - left) & self.kept)

    @property
    def has_contraction(self) -> bool:
        """Whether it or a step before it is a contraction."""
        return self.contracts or any(part.has_contraction for part in self.parts)


@dataclass(frozen=True)
class Network:
    """The dims of factors and result, the number of points over dims, and the largest tensor."""

    factors: tuple[Dims, ...]
    result: Dims
    volume: Callable[[Dims], int]
    limit: int

    def best(self) -> Step | None:
        """The steps of least work of which none but the last keeps more than the limit."""
        singles = {1 << k: self._single(k) for k in range(len(self.factors))}
        if len(singles) > ALL_ORDERS:
            return self._by_cheapest_pairs(singles)
        return self._of_all_orders(singles)

    def _of_all_orders(self, singles: dict[int, Step]) -> Step | None:
        found: dict[int, Step] = dict(singles)
        for count in range(2, len(singles) + 1):
            for chosen in combinations(singles, count):
                members = sum(chosen)
                pairs = (
                    self._pair(members, found[part], found[members ^ part])
                    for part in _halves(members)
                    if part in found and members ^ part in found
                )
                allowed = [step for step in pairs if step is not None]
                if allowed:
                    found[members] = min(allowed, key=_cost)
        return found.get(sum(singles))

    def _by_cheapest_pairs(self, singles: dict[int, Step]) -> Step | None:
        found = dict(singles)
        while len(found) > 1:
            pairs = {
                (a, b): step
                for a, b in combinations(found, 2)
                if (step := self._pair(a | b, found[a], found[b])) is not None
            }
            if not pairs:
                return None
            a, b = min(pairs, key=lambda pair: _cost(pairs[pair]))
            del found[a], found[b]
            found[a | b] = pairs[a, b]
        return next(iter(found.values()))

    def _single(self, k: int) -> Step:
        """One factor, summed over what it alone depends on."""
        dims = self.factors[k]
        plain, kept = Step(dims, dims, factor=k), self._kept(dims, 1 << k)
        if kept == dims or (len(self.factors) > 1 and self.volume(kept) > self.limit):
            return plain
        points = self.volume(dims)
        return Step(dims, kept, (plain,), work=points, points=points)

    def _pair(self, members: int, left: Step, right: Step) -> Step | None:
        dims = left.kept | right.kept
        kept = self._kept(dims, members)
        is_last = members == (1 << len(self.factors)) - 1
        if not is_last and self.volume(kept) > self.limit:
            return None
        points = self.volume(dims)
        own = points if kept == dims else 2 * points
        work, before = left.work + right.work + own, left.points + right.points
        return Step(dims, kept, (left, right), work=work, points=points + before)

    def _kept(self, dims: Dims, members: int) -> Dims:
        """Those dims that the result or factors that are no members depend on."""
        others = (f for k, f in enumerate(self.factors) if not members >> k & 1)
        return dims & self.result.union(*others)


def _cost(step: Step) -> tuple[int, int]:
    return step.work, step.points


def _halves(members: int) -> Iterator[int]:
    """The subsets with the first member, but not all: one of each pair of parts."""
    first = members & -members
    rest = members ^ first
    part = rest
    while part:
        part = (part - 1) & rest
        yield first | part
