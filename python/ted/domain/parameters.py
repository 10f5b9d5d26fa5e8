"""Symbolic sizes in integer sets: a size is a parameter of isl, or a dim of a family of sets.

Over parameters isl decides almost everything itself. The fibre solver wants bounded sets of plain
dims: for it a set with parameters becomes a *family*, in which the parameters are the first dims,
and its answer is read back at the parameters.

A parameter stands for a size divided by what it is a multiple of. What integer sets cannot express,
a product of sizes, is one parameter of its own: then more is possible in the set than in truth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ted.domain import affine, conversion, isl, sets
from ted.domain.affine import Aff, Floor
from ted.domain.size_factors import Symbol
from ted.domain.sizes import (
    LARGEST,
    Extent,
    Factor,
    Monomial,
    Quotient,
    Size,
    is_symbolic,
    surely_at_most,
)
from ted.records import dataclass

_monomials: dict[str, Monomial] = {}


def parameter(monomial: Monomial) -> str:
    """The name of the parameter for a size or a product of sizes; always the same one."""
    name = "_x_".join(map(_word, monomial))
    while _monomials.setdefault(name, monomial) != monomial:
        name += "_"  # floors of sizes of one name that promise different things
    return name


def _word(factor: Factor) -> str:
    """A factor as a name; what a size promises is part of it."""
    if isinstance(factor, Quotient):
        return re.sub(r"\W+", "_", str(factor)).strip("_")
    least = f"_from_{factor.minimum}" if factor.minimum != 1 else ""
    return factor.name + least + (f"_by_{factor.multiple_of}" if factor.multiple_of > 1 else "")


def monomial_of(name: str) -> Monomial:
    """The sizes that a parameter stands for."""
    return _monomials[name]


def unit(monomial: Monomial) -> int:
    """What a parameter times this is the size, or the product of sizes."""
    (only, *others) = monomial
    return only.multiple_of if isinstance(only, Symbol) and not others else 1


def parameters_of(points: isl.Set | isl.PwAff | isl.Aff) -> list[str]:
    """The names of the parameters, in order."""
    return [points.get_dim_name(sets.PARAM, k) or "" for k in range(points.dim(sets.PARAM))]


# ---- sizes -> isl --------------------------------------------------------------------------------


def extent_value(rank: int, extent: Extent) -> isl.PwAff:
    """An extent as a function on points with `rank` coordinates, constant but for parameters."""
    if isinstance(extent, int):
        return isl.PwAff.from_aff(sets.constant_aff(rank, extent))
    result = isl.PwAff.from_aff(sets.constant_aff(rank, extent.const))
    for coefficient, monomial in extent.terms:
        result = result.add(_term(rank, Fraction(coefficient), monomial))
    return result


def _term(rank: int, coefficient: Fraction, monomial: Monomial) -> isl.PwAff:
    if len(monomial) == 1 and isinstance(monomial[0], Quotient):
        part = extent_value(rank, monomial[0].inner)
        part = part.scale_down_val(isl.Val(monomial[0].divisor)).floor()
    else:
        part = _value(rank, parameter(monomial))
        coefficient *= unit(monomial)
    return part.scale_val(isl.Val(coefficient.numerator)).scale_down_val(
        isl.Val(coefficient.denominator)
    )


def _value(rank: int, name: str) -> isl.PwAff:
    """A parameter as a function on points with `rank` coordinates."""
    return conversion.to_piecewise(affine.parameter(name), rank)


def box(extents: Sequence[Extent]) -> isl.Set:
    """The points with `0 <= dim k < extents[k]`, for sizes that keep their promises."""
    if not is_symbolic(extents):
        return sets.box([n for n in extents if isinstance(n, int)])
    rank = len(extents)
    points = sets.universe(rank)
    for k, extent in enumerate(extents):
        below = isl.PwAff.from_aff(sets.dim_aff(rank, k)).lt_set(extent_value(rank, extent))
        points = points.lower_bound_val(sets.SET, k, isl.Val(0)).intersect(below)
    return points.intersect(promises(rank, parameters_of(points)))


def beyond_box(points: isl.Set, extents: Sequence[Extent]) -> isl.Set:
    """What a set demands of points of the box, of sizes that keep their promises."""
    known = promises(len(extents), parameters_of(points))
    return points.gist(box(extents).intersect(known))


def promises(rank: int, names: Iterable[str]) -> isl.Set:
    """All points with `rank` coordinates, where every parameter is as large as promised."""
    points = sets.universe(rank)
    for name in names:
        enough = _value(rank, name).ge_set(extent_value(rank, _least(name)))
        points = points.intersect(enough)
    return points


def _least(name: str) -> int:
    monomial = monomial_of(name)
    if len(monomial) == 1 and isinstance(monomial[0], Symbol):
        return monomial[0].least_unit
    low, _ = Size(((1, monomial),)).range
    return int(low)


def at(points: isl.Set, values: Mapping[str, int]) -> isl.Set:
    """The set for given sizes, by name: without parameters."""
    for name in parameters_of(points):
        monomial = monomial_of(name)
        value = Size(((1, monomial),)).evaluate(values) // unit(monomial)
        points = points.fix_val(
            sets.PARAM, points.find_dim_by_name(sets.PARAM, name), isl.Val(value)
        )
    return points.project_out(sets.PARAM, 0, points.dim(sets.PARAM))


def somewhere(points: isl.Set) -> tuple[isl.Set, dict[str, int]]:
    """A set that is not empty at parameters where it has a point, and these by name."""
    names = parameters_of(points)
    if not names:
        return points, {}
    place = points.params().lexmin().sample_point()
    values = {
        name: sets.to_int(place.get_coordinate_val(sets.PARAM, k)) for k, name in enumerate(names)
    }
    return _fixed(points, values), values


def sizes_at(values: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Sizes, and products of sizes, as users write them, with what they are at parameters."""
    return tuple(
        (str(Size(((1, monomial_of(name)),))), value * unit(monomial_of(name)))
        for name, value in values.items()
    )


def value_at(value: isl.PwAff, values: Mapping[str, int]) -> isl.PwAff:
    """A function at given parameters."""
    if not value.dim(sets.PARAM):
        return value
    return isl.PwMultiAff.from_map(_fixed(isl.Map.from_pw_aff(value), values)).get_pw_aff(0)


def _fixed(points: isl.Set | isl.Map, values: Mapping[str, int]) -> Any:
    for name, value in values.items():
        place = points.find_dim_by_name(sets.PARAM, name)
        if place >= 0:
            points = points.fix_val(sets.PARAM, place, isl.Val(value))
    return points.project_out(sets.PARAM, 0, points.dim(sets.PARAM))


# ---- families ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """The parameters of a problem in order: the first dims of its sets, once lifted."""

    names: tuple[str, ...]

    def lifted(self, points: isl.Set) -> isl.Set:
        """The set with the parameters as its first dims, bounded."""
        kept = points.intersect(promises(sets.rank_of(points), self.names))
        points = kept.align_params(self._space)
        points = points.move_dims(sets.SET, 0, sets.PARAM, 0, len(self.names))
        points = sets.anonymous(points)
        for k in range(len(self.names)):
            points = points.upper_bound_val(sets.SET, k, isl.Val(LARGEST))
        return points

    def lifted_value(self, value: isl.PwAff) -> isl.PwAff:
        """A function on points with the parameters as their first coordinates."""
        graph = isl.Map.from_pw_aff(value)
        graph = graph.align_params(self._space).move_dims(
            sets.IN, 0, sets.PARAM, 0, len(self.names)
        )
        return sets.anonymous_value(isl.PwMultiAff.from_map(graph).get_pw_aff(0))

    def identity(self, rank: int) -> list[isl.PwAff]:
        """The parameters as functions of lifted points with `rank` coordinates in all."""
        return [isl.PwAff.from_aff(sets.dim_aff(rank, k)) for k in range(len(self.names))]

    def lowered(self, points: isl.Set) -> isl.Set:
        """The set with its first dims as the parameters again."""
        count = len(self.names)
        points = points.move_dims(sets.PARAM, 0, sets.SET, 0, count)
        for k, name in enumerate(self.names):
            points = points.set_dim_name(sets.PARAM, k, name)
        return sets.anonymous(points)

    @property
    def _space(self) -> isl.Space:
        return sets.space(0, self.names)


def family_of(*parts: isl.Set | isl.PwAff) -> Family:
    """The parameters that occur in any of the parts."""
    return Family(tuple(dict.fromkeys(name for part in parts for name in parameters_of(part))))


# ---- isl -> sizes --------------------------------------------------------------------------------


def extent_of(value: Aff, family: Family) -> Extent:
    """A quasi-affine function of the parameters (its dims) as an extent."""
    total: Extent = value.const
    for coefficient, term in value.terms:
        if isinstance(term, Floor):
            part = extent_of(term.inner, family)
            part = part // term.divisor
        else:
            assert isinstance(term, int), "in a family parameters are dims"
            part = value_of(family.names[term])
        total = total + part * coefficient
    return total


def value_of(name: str) -> Extent:
    """The value of a parameter in terms of sizes."""
    monomial = monomial_of(name)
    return Size(((1, monomial),)) // unit(monomial)


def largest(points: isl.Set, family: Family, dim: int) -> Extent | None:
    """An upper bound of coordinate `dim` of a lifted set, as an extent; None when none is found."""
    count = len(family.names)
    kept = sets.project(points, [*range(count), dim])
    found = isl.PwMultiAff.from_map(sets.as_function(kept, count).lexmax()).coalesce()
    bounds: list[Extent] = []
    for part, value in sets.pieces_of(found):
        plain = conversion.from_isl(value.get_aff(0).gist(part))
        bounds.append(extent_of(plain, family))
    return _upper(bounds)


def _upper(bounds: Sequence[Extent]) -> Extent | None:
    """One bound that no other exceeds, or else their sum where none is negative."""
    for bound in bounds:
        if all(surely_at_most(other, bound) for other in bounds):
            return bound
    if bounds and all(surely_at_most(0, bound) for bound in bounds):
        return sum(bounds[1:], bounds[0])
    return None
