"""Which points of a domain meet at one value of an index: the question behind parallel writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ted.domain import isl, sets
from ted.domain.budget import required


class Collision(NamedTuple):
    """Two points with the same index."""

    one: tuple[int, ...]
    other: tuple[int, ...]


def collision(domain: isl.Set, index: Sequence[isl.PwAff]) -> Collision | None:
    """Two points of the domain with the same index, or None when the index is injective.

    Raises: BudgetExhausted.
    """
    rank = sets.rank_of(domain)

    def pairs() -> isl.Set:
        relation = sets.anonymous_map(domain, index)
        meeting = relation.apply_range(relation.reverse())
        return meeting.subtract(isl.Map.identity(meeting.get_space())).wrap().flatten()

    found = sets.point_of(required(pairs))
    return None if found is None else Collision(found[:rank], found[rank:])


def are_writes_disjoint(domain: isl.Set, index: Sequence[isl.PwAff], parallel: int) -> bool:
    """Whether points that differ in the first `parallel` dims never have the same index.

    Raises: BudgetExhausted.
    """

    def injective() -> bool:
        relation = sets.anonymous_map(domain, index)
        rest = relation.dim(sets.IN) - parallel
        return relation.project_out(sets.IN, parallel, rest).is_injective()

    return required(injective)
