"""Between isl's expressions and sets and the plain values of `ted.domain.affine`."""

from __future__ import annotations

from collections.abc import Sequence

from ted.domain import affine, isl, sets
from ted.domain.affine import Aff, Constraint, Floor
from ted.domain.budget import required

Conjunction = tuple[Constraint, ...]


def from_isl(value: isl.Aff) -> Aff:
    """An isl expression as a plain one; a rational one is rounded down.

    isl's `get_div` gives the argument of the floor with a rational denominator, not the floor.
    """
    denominator = value.get_denominator_val()
    scale = sets.to_int(denominator)
    scaled = value if scale == 1 else value.scale_val(denominator)
    result = affine.constant(sets.to_int(scaled.get_constant_val()))
    for k in range(scaled.dim(sets.IN)):
        factor = sets.to_int(scaled.get_coefficient_val(sets.IN, k))
        if factor:
            result = result + affine.dim(k) * factor
    for k in range(scaled.dim(sets.PARAM)):
        factor = sets.to_int(scaled.get_coefficient_val(sets.PARAM, k))
        if factor:
            name = scaled.get_dim_name(sets.PARAM, k)
            assert name, "parameters have names"
            result = result + affine.parameter(name) * factor
    for k in range(scaled.dim(sets.DIV)):
        factor = sets.to_int(scaled.get_coefficient_val(sets.DIV, k))
        if factor:
            result = result + from_isl(scaled.get_div(k)) * factor
    return result if scale == 1 else result // scale


def to_isl(value: Aff, rank: int) -> isl.Aff:
    """A plain expression as an isl one over points with `rank` coordinates."""
    return _to_isl(value, sets.space(rank, sorted(value.parameters)))


def _to_isl(value: Aff, space: isl.Space) -> isl.Aff:
    local = isl.LocalSpace.from_space(space)
    result = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(value.const))
    for factor, term in value.terms:
        if isinstance(term, Floor):
            part = _to_isl(term.inner, space).scale_down_val(isl.Val(term.divisor)).floor()
        elif isinstance(term, str):
            place = space.find_dim_by_name(sets.PARAM, term)
            part = isl.Aff.var_on_domain(local, sets.PARAM, place)
        else:
            part = isl.Aff.var_on_domain(local, sets.SET, term)
        result = result.add(part.scale_val(isl.Val(factor)))
    return result


def to_piecewise(value: Aff, rank: int) -> isl.PwAff:
    """A plain expression as an isl piecewise one, total over points with `rank` coordinates."""
    return isl.PwAff.from_aff(to_isl(value, rank))


def conjunctions(points: isl.Set, *, disjoint: bool = False) -> tuple[Conjunction, ...]:
    """A set as a union of conjunctions: none is the empty set, the empty one the universe.

    Raises: BudgetExhausted.
    """

    def parts() -> list[isl.BasicSet]:
        if disjoint:
            return sets.disjoint_parts(points)
        whole = points.compute_divs().coalesce().compute_divs()
        return [part for part in whole.get_basic_sets() if not part.is_empty()]

    return tuple(constraints(part) for part in required(parts))


def constraints(part: isl.BasicSet) -> Conjunction:
    """The constraints of a basic set whose divisions are explicit."""
    found = [
        Constraint(_normalised(from_isl(c.get_aff()), c.is_equality()), c.is_equality())
        for c in part.get_constraints()
    ]
    kept = [c for c in found if not _always_holds(c)]
    return tuple(sorted(set(kept), key=lambda c: (not c.equality, str(c))))


def from_conjunctions(rank: int, parts: Sequence[Sequence[Constraint]]) -> isl.Set:
    """The union of conjunctions as an isl set."""
    result = sets.empty(rank)
    for part in parts:
        points = sets.universe(rank)
        for constraint in part:
            value = to_isl(constraint.expression, rank)
            half = (
                value.zero_basic_set()
                if constraint.equality
                else value.ge_basic_set(value.sub(value))
            )
            points = points.intersect(isl.Set.from_basic_set(half))
        result = result.union(points)
    return result


def _normalised(value: Aff, equality: bool) -> Aff:
    """One spelling per equality: a stride as `x % m == 0`, first terms with positive factors."""
    if not equality or value.is_constant:
        return value
    found = affine.remainder(value)
    if found is not None and found.rest.is_constant:
        expected, off = divmod(-found.rest.const, found.factor)
        if off == 0 and 0 <= expected < found.divisor:
            return (found.argument - expected) % found.divisor
    return -value if value.terms[0][0] < 0 else value


def _always_holds(constraint: Constraint) -> bool:
    """Constants, and what the range of a remainder alone implies: isl may state that too."""
    value = constraint.expression
    if value.is_constant:
        return constraint.holds(())
    found = affine.remainder(value)
    if constraint.equality or found is None or not found.rest.is_constant:
        return False
    return min(0, found.factor * (found.divisor - 1)) + found.rest.const >= 0
