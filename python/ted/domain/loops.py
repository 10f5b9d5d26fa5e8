"""Loop nests that scan exactly the points of a set: affine bounds per dim, and a residual guard.

Each disjoint basic set gets its own nest. Dims are taken in order; the bounds of one come from the
constraints of the projection on it and the dims before it, so a triangle is scanned as a triangle.
Constraints that no bound can say (a remainder, a rounded projection) stay as a residual guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.domain import affine, conversion, isl, sets
from ted.domain.affine import Aff, Constraint
from ted.domain.budget import bounded, total_budget
from ted.domain.components import Factor, factors
from ted.errors import DomainError
from ted.records import dataclass


@dataclass(frozen=True)
class LoopBounds:
    """`for dim in range(max(lower), min(upper))`, in terms of the dims of the loops outside."""

    dim: int
    lower: tuple[Aff, ...]
    upper: tuple[Aff, ...]

    def range(self, point: Sequence[int]) -> range:
        """The trips of the loop, where `point` holds the values of the dims outside."""
        return range(
            max(bound.evaluate(point) for bound in self.lower),
            min(bound.evaluate(point) for bound in self.upper),
        )


@dataclass(frozen=True)
class LoopNest:
    """Loops from the outermost to the innermost and the guard that remains inside."""

    loops: tuple[LoopBounds, ...]
    guard: tuple[Constraint, ...]


def loop_nests(domain: isl.Set, order: Sequence[int] | None = None) -> tuple[LoopNest, ...]:
    """Disjoint loop nests that together visit every point of a bounded set once.

    `order` lists the dims from the outermost loop inwards, by default in their own order.

    Raises: BudgetExhausted; DomainError when the set is unbounded.
    """
    rank = sets.rank_of(domain)
    order = tuple(range(rank)) if order is None else tuple(order)
    assert sorted(order) == list(range(rank)), f"order {order} is no permutation of {rank} dims"
    # In the permuted space loop k is dim k; at the end dims get their own numbers back.
    position = {dim: k for k, dim in enumerate(order)}
    permuted = [sets.dim_aff(rank, position[dim]) for dim in range(rank)]
    with total_budget():
        points = sets.preimage(sets.anonymous(domain), rank, permuted)
        parts = [_factors(part) for part in sets.disjoint_parts(points)]
    return tuple(_nest(part, order) for part in parts)


def _factors(part: isl.BasicSet) -> list[Factor]:
    """The factors of a basic set, or itself alone should one of them be a union."""
    split = factors(part)
    if all(factor.points.n_basic_set() == 1 for factor in split):
        return split
    return [Factor(tuple(range(part.dim(sets.SET))), isl.Set.from_basic_set(part))]


def _nest(part: Sequence[Factor], order: Sequence[int]) -> LoopNest:
    """The loops of all factors in order; a bound only sees dims of its own factor."""
    loops: dict[int, LoopBounds] = {}
    guard: list[Constraint] = []
    for factor in part:
        with total_budget():
            bounds, left = _factor_loops(factor.points)
        names = [affine.dim(order[k]) for k in factor.dims]
        for k, (lower, upper) in zip(factor.dims, bounds, strict=True):
            loops[k] = LoopBounds(
                order[k],
                tuple(conversion.from_isl(bound).substitute(names) for bound in lower),
                tuple(conversion.from_isl(bound).substitute(names) + 1 for bound in upper),
            )
        guard += [Constraint(c.expression.substitute(names), c.equality) for c in left]
    return LoopNest(tuple(loops[k] for k in sorted(loops)), tuple(guard))


_Bounds = tuple[list[isl.Aff], list[isl.Aff]]


def _factor_loops(points: isl.Set) -> tuple[list[_Bounds], tuple[Constraint, ...]]:
    """Inclusive bounds of every dim of a basic set, and the guard that remains."""
    rank = sets.rank_of(points)
    scanned = sets.universe(rank)
    result: list[_Bounds] = []
    for k in range(rank):
        prefix = bounded(_prefix, points, k) or _relaxed_prefix(points, k)
        lower, upper = _bounds(prefix, k)
        for bound in lower:
            scanned = scanned.intersect(_at_least(sets.dim_aff(rank, k), bound, rank))
        for bound in upper:
            scanned = scanned.intersect(_at_least(bound, sets.dim_aff(rank, k), rank))
        result.append((lower, upper))
    return result, _residual(points, scanned)


def _prefix(points: isl.Set, k: int) -> isl.Set:
    """The projection on the first dims up to k."""
    return points.project_out(sets.SET, k + 1, sets.rank_of(points) - k - 1).compute_divs()


def _relaxed_prefix(points: isl.Set, k: int) -> isl.Set:
    """A cheap superset of the projection, without divisions: more trips, and the guard decides."""
    later = sets.rank_of(points) - k - 1
    return _undivided(_undivided(points).project_out(sets.SET, k + 1, later).compute_divs())


def _undivided(points: isl.Set) -> isl.Set:
    """The set without its constraints that mention a division."""
    parts = [
        [c for c in part if c.expression.is_affine] for part in conversion.conjunctions(points)
    ]
    return conversion.from_conjunctions(sets.rank_of(points), parts)


def _residual(points: isl.Set, scanned: isl.Set) -> tuple[Constraint, ...]:
    """The constraints of a basic set that the scanned points do not satisfy anyway."""
    (whole,) = points.get_basic_sets()
    if bounded(scanned.is_subset, points):
        return ()
    left = bounded(lambda: points.gist(scanned).compute_divs().get_basic_sets())
    return conversion.constraints(left[0] if left and len(left) == 1 else whole)


def _at_least(value: isl.Aff, bound: isl.Aff, rank: int) -> isl.Set:
    return isl.Set.from_basic_set(_over(value, rank).ge_basic_set(_over(bound, rank)))


def _over(value: isl.Aff, rank: int) -> isl.Aff:
    """The same function of the first dims, over points with `rank` coordinates."""
    known = value.dim(sets.IN)
    if known == rank:
        return value
    first = [sets.dim_aff(rank, k) for k in range(known)]
    return value.pullback_multi_aff(sets.multi_aff(rank, first))


def _bounds(prefix: isl.Set, k: int) -> _Bounds:
    """Inclusive bounds of dim k, the last of `prefix`, without those that others imply."""
    limits = sets.dim_range(prefix, k)
    if limits is None:
        raise DomainError(f"loop bounds: every dim must be bounded, got {prefix} (dim {k})")
    lower, upper = ([sets.constant_aff(k + 1, limit)] for limit in limits)
    constraints = prefix.simple_hull().get_constraints()
    simpler = prefix.remove_divs_involving_dims(sets.SET, k, 1).compute_divs()
    # With two divisions of one dim, isl's removal can lose points; it has to be seen to keep them.
    if bounded(prefix.is_subset, simpler):
        constraints += simpler.simple_hull().get_constraints()
    for c in constraints:
        for is_lower, bound in bounds_of_constraint(c, k):
            (lower if is_lower else upper).append(bound)
    return (
        _without_implied(prefix, lower, isl.Aff.le_set),
        _without_implied(prefix, upper, isl.Aff.ge_set),
    )


def bounds_of_constraint(constraint: isl.Constraint, k: int) -> list[tuple[bool, isl.Aff]]:
    """The `(is lower, inclusive bound)` that a constraint says about dim k, if it is explicit."""
    value = constraint.get_aff()
    factor = sets.to_int(constraint.get_coefficient_val(sets.SET, k))
    divisions = (value.get_div(j) for j in range(value.dim(sets.DIV)))
    if factor == 0 or any(d.involves_dims(sets.IN, k, 1) for d in divisions):
        return []
    rest = value.set_coefficient_val(sets.IN, k, isl.Val(0))
    positive = rest.neg() if factor > 0 else rest
    bound = positive.scale_down_val(isl.Val(abs(factor)))
    if constraint.is_equality():
        return [(True, bound.ceil()), (False, bound.floor())]
    return [(True, bound.ceil())] if factor > 0 else [(False, bound.floor())]


def _without_implied(
    prefix: isl.Set, bounds: list[isl.Aff], weaker: Callable[[isl.Aff, isl.Aff], isl.Set]
) -> list[isl.Aff]:
    """Drop each bound that another one makes superfluous on all of `prefix`."""
    kept = list(bounds)
    for bound in bounds:
        others = [other for other in kept if other is not bound]
        implied = (bounded(prefix.is_subset, weaker(bound, other)) for other in others)
        if any(implied):
            kept = others
    return kept
