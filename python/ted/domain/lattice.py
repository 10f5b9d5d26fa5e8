"""Solve the equalities of a basic set over the integers: some dims as functions of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.domain import isl, sets
from ted.domain.echelon import Echelon, eliminate
from ted.records import dataclass


@dataclass(frozen=True)
class Solution:
    """The points of a basic set as functions of its first `known` dims and of free dims."""

    domain: isl.Set
    values: tuple[isl.Aff, ...]
    """Every dim of the basic set, the known ones included."""


def solve_equalities(
    part: isl.BasicSet, known: int, cost: Callable[[int], tuple[int, ...]]
) -> Solution:
    """Express the dims after the first `known` ones by those and by as few free dims as there are.

    Existential dims are lifted to unknowns and bound first; then unknowns with small `cost(dim)`.
    Divisibility conditions and bounds are not derived: the preimage of the set holds them.
    """
    rank = part.dim(sets.SET)
    lifted = _lifted(part)
    unknowns = lifted.dim(sets.SET) - known
    rows = [_row(c) for c in lifted.get_constraints() if c.is_equality()]

    def binding_cost(unknown: int | None) -> tuple[int, ...]:
        if unknown is None or known + unknown >= rank:
            return (0,)
        return (1, *cost(known + unknown))

    state = eliminate([row[known:-1] for row in rows], binding_cost)
    free = unknowns - len(state.pivots)
    new_rank = known + free
    heads = [sets.dim_aff(new_rank, k) for k in range(known)]
    if rows:
        right = [sets.linear(new_rank, row[:known], row[-1]) for row in rows]
        tails = _unknowns(state, right, new_rank, known)
    else:
        tails = [sets.dim_aff(new_rank, known + k) for k in range(unknowns)]
    values = [*heads, *tails]
    domain = sets.preimage(isl.Set.from_basic_set(lifted), new_rank, values)
    return Solution(domain, tuple(values[:rank]))


def _lifted(part: isl.BasicSet) -> isl.BasicSet:
    """The set with its existential dims as dims at the end, tied to their definitions."""
    rank, local = part.dim(sets.SET), part.get_local_space()
    count = local.dim(sets.DIV)
    lifted = part.lift().flatten()
    if lifted.dim(sets.SET) != rank + count:
        return lifted
    whole = rank + count
    for k in range(count):
        definition = local.get_div(k)
        if definition.is_nan():
            continue
        scale = sets.to_int(definition.get_denominator_val())
        scaled = definition.scale_val(isl.Val(scale))
        factors = [scaled.get_coefficient_val(sets.IN, d) for d in range(rank)]
        factors += [scaled.get_coefficient_val(sets.DIV, d) for d in range(count)]
        numerator = [sets.to_int(v) for v in factors]
        numerator[rank + k] -= scale
        constant = sets.to_int(scaled.get_constant_val())
        below = sets.linear(whole, numerator, constant)
        above = sets.linear(whole, [-v for v in numerator], scale - 1 - constant)
        zero = sets.constant_aff(whole, 0)
        lifted = lifted.intersect(below.ge_basic_set(zero)).intersect(above.ge_basic_set(zero))
    return lifted


def _row(constraint: isl.Constraint) -> list[int]:
    """The coefficients of the dims, then the constant."""
    value = constraint.get_aff()
    factors = [value.get_coefficient_val(sets.IN, k) for k in range(value.dim(sets.IN))]
    return [sets.to_int(v) for v in (*factors, value.get_constant_val())]


def _unknowns(state: Echelon, right: Sequence[isl.Aff], rank: int, known: int) -> list[isl.Aff]:
    """The original unknowns, given the right-hand side of every row over the new dims."""
    solved: list[isl.Aff] = []
    for k, row in enumerate(state.pivots):
        rest = right[row]
        for j in range(k):
            rest = rest.add(solved[j].scale_val(isl.Val(state.rows[row][j])))
        pivot = state.rows[row][k]
        quotient = rest.neg() if pivot > 0 else rest
        if abs(pivot) > 1:
            quotient = quotient.scale_down_val(isl.Val(abs(pivot))).floor()
        solved.append(quotient)
    free = len(state.unknowns) - len(solved)
    solved += [sets.dim_aff(rank, known + k) for k in range(free)]
    return [_combination(row, solved, rank) for row in state.unimodular]


def _combination(factors: Sequence[int], values: Sequence[isl.Aff], rank: int) -> isl.Aff:
    result = sets.constant_aff(rank, 0)
    for factor, value in zip(factors, values, strict=True):
        if factor:
            result = result.add(value.scale_val(isl.Val(factor)))
    return result
