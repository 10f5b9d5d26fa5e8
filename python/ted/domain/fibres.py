"""Invert a quasi-affine index map: for each target `a`, all points `x` with `f(x) = a`, as loops.

Before: `out[f(x)] += body(x)` for x in a domain: a scatter.
After:  disjoint pieces `out[write(q)] += body(point(q, t))`: gathers, parallel over q, loops t.

The map is cut into factors over independent dims, and the relation `{ (a, x) : f(x) = a }` of each
into disjoint basic sets (a clamp gives several), which `ted.domain.factor_fibres` solves over the
integers. The pieces of the map are the products of the pieces of the factors. Every step is a
bijective change of dims, so each point of the domain occurs in exactly one piece, once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ted.domain import isl, sets
from ted.domain.budget import BudgetExhausted, own_budget, total_budget
from ted.domain.components import Factor, IndexFactor, factors, index_factors
from ted.domain.factor_fibres import Pieces, solve_factor
from ted.domain.family_fibres import has_parameters, solve_family
from ted.domain.guarded import guarded_piece
from ted.domain.pieces import Fibre, product

MAX_PIECES = 32
"""Above so many pieces a map has no residue classes, and factors of it one guarded piece."""
MAX_UNSPLIT_PIECES = 256
"""A map that needs more pieces than this even so is given up."""


class Solved(NamedTuple):
    """The pieces of a map, and how many there would be if there were no limit."""

    pieces: tuple[Fibre, ...]
    wanted: int


def solve_fibres(
    domain: isl.Set,
    index: Sequence[isl.PwAff],
    keep_last: int = 0,
    *,
    split: bool = True,
    most: int = MAX_PIECES,
) -> tuple[Fibre, ...]:
    """The fibres of `index` over a bounded `domain`, as disjoint pieces.

    Parameters, which stand for symbolic sizes, stay parameters; they need not be bounded.

    The last `keep_last` dims stay plain loops where there is a choice. Without `split` no residue
    classes are made, so there are few pieces, with divisions in them. Above `most` pieces there are
    guarded ones in their place (`ted.domain.guarded`), where such are found.

    Raises: BudgetExhausted; DomainError when the domain is unbounded.
    """
    if has_parameters(domain, index):
        return solve_family(domain, index, lambda d, i: solve_fibres(d, i, keep_last, split=split))
    return _solved(domain, index, keep_last, split, most).pieces


def wanted_pieces(domain: isl.Set, index: Sequence[isl.PwAff]) -> int:
    """How many pieces a map would have if their number were not limited; 0 where none are known.

    Raises: BudgetExhausted; DomainError when the domain is unbounded.
    """
    return (
        0 if has_parameters(domain, index) else _solved(domain, index, 0, True, MAX_PIECES).wanted
    )


def _solved(
    domain: isl.Set, index: Sequence[isl.PwAff], keep_last: int, split: bool, most: int
) -> Solved:
    points = sets.anonymous(domain).to_str()
    values = tuple(sets.anonymous_value(value).to_str() for value in index)
    solved = _solve(points, values, keep_last, split, most)
    if isinstance(solved, BudgetExhausted):
        raise solved
    return solved


@lru_cache(maxsize=1024)
def _solve(
    domain: str, index: tuple[str, ...], keep_last: int, split: bool, most: int
) -> Solved | BudgetExhausted:
    """The fibres by canonical text: a network repeats its shapes. Giving up is remembered too."""
    try:
        with own_budget():
            values = [isl.PwAff(value) for value in index]
            return _pieces(isl.Set(domain), values, keep_last, split, most)
    except BudgetExhausted as error:
        return error


def _pieces(
    domain: isl.Set, index: Sequence[isl.PwAff], keep_last: int, split: bool, most: int
) -> Solved:
    first_kept = sets.rank_of(domain) - keep_last
    with total_budget():
        parts = [index_factors(part, index) for part in sets.disjoint_parts(domain)]
    solved = [[_solved_factor(factor, first_kept, split) for factor in part] for part in parts]
    choices = [[s.classes for s in part] for part in solved]
    if _count(choices) > most:
        choices = [[s.whole for s in part] for part in solved]
    if _count(choices) > most:
        choices = [_guarded_factors(*both) for both in zip(parts, choices, strict=True)]
    if _count(choices) > MAX_UNSPLIT_PIECES:
        raise BudgetExhausted(f"gather form: at most {MAX_UNSPLIT_PIECES} pieces, needed more")
    result: list[Fibre] = []
    for part, chosen in zip(parts, choices, strict=True):
        targets, dims = [f.targets for f in part], [f.dims for f in part]
        result += [product(pieces, targets, dims) for pieces in itertools.product(*chosen)]
    return Solved(tuple(result), sum(math.prod(s.wanted for s in part) for part in solved))


_Choices = list[list[tuple[Fibre, ...]]]  # for each part of the domain, the pieces of each factor


def _count(choices: _Choices) -> int:
    return sum(math.prod(map(len, part)) for part in choices)


def _guarded_factors(
    part: Sequence[IndexFactor], choices: Sequence[tuple[Fibre, ...]]
) -> list[tuple[Fibre, ...]]:
    """One guarded piece for each factor of several, where there is such a piece."""
    found = [
        _guarded(f.domain.to_str(), tuple(v.to_str() for v in f.index)) if len(pieces) > 1 else None
        for f, pieces in zip(part, choices, strict=True)
    ]
    return [pieces if one is None else (one,) for one, pieces in zip(found, choices, strict=True)]


@lru_cache(maxsize=1024)
def _guarded(domain: str, index: tuple[str, ...]) -> Fibre | None:
    return guarded_piece(isl.Set(domain), [isl.PwAff(value) for value in index])


def _solved_factor(factor: IndexFactor, first_kept: int, split: bool) -> Pieces:
    kept = sum(dim >= first_kept for dim in factor.dims)
    index = tuple(value.to_str() for value in factor.index)
    solved = _solve_index_factor(factor.domain.to_str(), index, kept, split)
    if isinstance(solved, BudgetExhausted):
        raise solved
    return solved


@lru_cache(maxsize=4096)
def _solve_index_factor(
    domain: str, index: tuple[str, ...], keep_last: int, split: bool
) -> Pieces | BudgetExhausted:
    """The pieces of a factor by canonical text; what was given up is remembered too."""
    functions = [isl.PwAff(value) for value in index]
    try:
        with total_budget():
            relation = sets.index_map(isl.Set(domain), functions)
            pairs = relation.reverse().wrap().flatten()
            parts = [factors(part) for part in sets.disjoint_parts(pairs)]
        solved = [_part_pieces(part, len(index), keep_last, split) for part in parts]
    except BudgetExhausted as error:
        return error
    return Pieces(
        tuple(piece for pieces in solved for piece in pieces.whole),
        tuple(piece for pieces in solved for piece in pieces.classes),
        sum(pieces.wanted for pieces in solved),
    )


def _part_pieces(part: Sequence[Factor], targets: int, keep_last: int, split: bool) -> Pieces:
    """The pieces of a basic set of pairs (target, point), given by its factors."""
    first_kept = sum(len(f.dims) for f in part) - keep_last
    target_dims = [[d for d in f.dims if d < targets] for f in part]
    point_dims = [[d - targets for d in f.dims if d >= targets] for f in part]
    solved = [
        solve_factor(f.points, len(own), sum(d >= first_kept for d in f.dims), split)
        for f, own in zip(part, target_dims, strict=True)
    ]

    def combined(choices: Sequence[Sequence[Fibre]]) -> tuple[Fibre, ...]:
        chosen = itertools.product(*choices)
        return tuple(product(pieces, target_dims, point_dims) for pieces in chosen)

    whole, wanted = combined([s.whole for s in solved]), math.prod(s.wanted for s in solved)
    if all(s.classes is s.whole for s in solved):
        return Pieces(whole, whole, wanted)
    return Pieces(whole, combined([s.classes for s in solved]), wanted)
