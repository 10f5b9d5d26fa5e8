"""Ranges of symbolic extents: bounds over all values that the sizes may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from ted.domain.size_factors import AnyFactor, Symbol, Terms

Bound: TypeAlias = "int | float"
"""An exact integer, or an infinity."""


def range_of(size: Terms) -> tuple[Bound, Bound]:
    """A lower and an upper bound over all values of the sizes; possibly infinite."""
    lows: list[Fraction | None] = []  # None for an end without bound
    highs: list[Fraction | None] = []
    for unknowns, coefficient in _expanded(size).items():
        ends = _ends(unknowns, coefficient)
        lows.append(ends[0])
        highs.append(ends[1])
    return _total(lows, math.ceil, -math.inf), _total(highs, math.floor, math.inf)


def _ends(
    unknowns: tuple[_Unknown, ...], coefficient: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    """The range of a coefficient times unknowns; None where it has no end."""
    zero = Fraction(0)
    if not unknowns:
        return coefficient, coefficient
    most = [u.most for u in unknowns if u.most is not None]
    grown = coefficient * math.prod(most) if len(most) == len(unknowns) or not coefficient else None
    return (grown, zero) if coefficient < 0 else (zero, grown)


@dataclass(frozen=True, order=True)
class _Unknown:
    """A number from 0 to `most`: what a size exceeds its minimum by, or the rest of a division."""

    name: str
    most: int | None = field(compare=False)  # None for no bound


_Polynomial: TypeAlias = "dict[tuple[_Unknown, ...], Fraction]"


def _expanded(extent: int | Terms) -> _Polynomial:
    """An extent over unknowns that are not negative: `n - 1` is `n'` where n is at least 1.

    A quotient is `(inner - rest) / divisor`, so that terms cancel across floors.
    """
    if isinstance(extent, int):
        return {(): Fraction(extent)}
    total: _Polynomial = {(): Fraction(extent.const)}
    for coefficient, monomial in extent.terms:
        product: _Polynomial = {(): Fraction(coefficient)}
        for factor in monomial:
            product = _multiplied(product, _expanded_factor(factor))
        for unknowns, value in product.items():
            total[unknowns] = total.get(unknowns, Fraction()) + value
    return total


def _expanded_factor(factor: AnyFactor) -> _Polynomial:
    if isinstance(factor, Symbol):
        least = Fraction(factor.least_unit * factor.multiple_of)
        excess = _Unknown(factor.name, None)
        return {(): least, (excess,): Fraction(factor.multiple_of)}
    rest = _Unknown(str(factor), factor.divisor - 1)
    found = {unknowns: c / factor.divisor for unknowns, c in _expanded(factor.inner).items()}
    return {**found, (rest,): Fraction(-1, factor.divisor)}


def _total(
    ends: Sequence[Fraction | None], rounded: Callable[[Fraction], int], infinity: float
) -> Bound:
    """The sum of the ends of ranges: infinite if one is, else rounded into the range."""
    finite = [end for end in ends if end is not None]
    return rounded(sum(finite, Fraction())) if len(finite) == len(ends) else infinity


def _multiplied(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    result: _Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            unknowns = tuple(sorted((*left, *right)))
            result[unknowns] = result.get(unknowns, Fraction()) + x * y
    return result
