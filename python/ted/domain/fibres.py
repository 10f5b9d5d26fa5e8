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

import islpy as isl

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, own_budget, total_budget
from ted.domain.components import Factor, IndexFactor, factors, index_factors
from ted.domain.factor_fibres import Pieces, solve_factor
from ted.domain.pieces import Fibre, product

MAX_PIECES = 32
"""Residue classes are made only as long as a map has at most so many pieces."""
MAX_UNSPLIT_PIECES = 256
"""A map that needs more pieces than this without residue classes is given up."""


def solve_fibres(
    domain: isl.Set, index: Sequence[isl.PwAff], keep_last: int = 0, *, split: bool = True
) -> tuple[Fibre, ...]:
    """The fibres of `index` over a bounded `domain`, as disjoint pieces.

    The last `keep_last` dims stay plain loops where there is a choice. Without `split` no residue
    classes are made, so there are few pieces, with divisions in them.

    Raises: BudgetExhausted; DomainError when the domain is unbounded.
    """
    points = sets.anonymous(domain).to_str()
    values = tuple(sets.anonymous_value(value).to_str() for value in index)
    solved = _solve(points, values, keep_last, split)
    if isinstance(solved, BudgetExhausted):
        raise solved
    return solved


@lru_cache(maxsize=1024)
def _solve(
    domain: str, index: tuple[str, ...], keep_last: int, split: bool
) -> tuple[Fibre, ...] | BudgetExhausted:
    """The fibres by canonical text: a network repeats its shapes. Giving up is remembered too."""
    try:
        with own_budget():
            return _pieces(isl.Set(domain), [isl.PwAff(value) for value in index], keep_last, split)
    except BudgetExhausted as error:
        return error


def _pieces(
    domain: isl.Set, index: Sequence[isl.PwAff], keep_last: int, split: bool
) -> tuple[Fibre, ...]:
    first_kept = sets.rank_of(domain) - keep_last
    with total_budget():
        parts = [index_factors(part, index) for part in sets.disjoint_parts(domain)]
    solved = [[_solved_factor(factor, first_kept, split) for factor in part] for part in parts]
    by_class = sum(math.prod(len(s.classes) for s in part) for part in solved) <= MAX_PIECES
    result: list[Fibre] = []
    for part, solutions in zip(parts, solved, strict=True):
        choices = [s.classes if by_class else s.whole for s in solutions]
        if len(result) + math.prod(map(len, choices)) > MAX_UNSPLIT_PIECES:
            raise BudgetExhausted(f"gather form: at most {MAX_UNSPLIT_PIECES} pieces, needed more")
        targets, dims = [f.targets for f in part], [f.dims for f in part]
        result += [product(pieces, targets, dims) for pieces in itertools.product(*choices)]
    return tuple(result)


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

    whole = combined([s.whole for s in solved])
    if all(s.classes is s.whole for s in solved):
        return Pieces(whole, whole)
    return Pieces(whole, combined([s.classes for s in solved]))
