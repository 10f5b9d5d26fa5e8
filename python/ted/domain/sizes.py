"""Symbolic extents: integer polynomials in named sizes, with floors by constants.

`n`, `2*n + 1`, `(n - 3)//2 + 1` and `n*m` are extents of tensors whose sizes are known only when a
function is called. Construction keeps a canonical form, so that equal spellings compare equal; a
polynomial without a size in it is a plain `int`. A comparison is answered from what is promised of
the sizes (`min`), and refused where that does not decide it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from ted.errors import DomainError


@dataclass(frozen=True)
class Symbol:
    """A size by name: a multiple of `multiple_of` that is at least `minimum`."""

    name: str
    minimum: int = 1
    multiple_of: int = 1

    @property
    def least_unit(self) -> int:
        """The least value of the size divided by `multiple_of`."""
        return -(-self.minimum // self.multiple_of)

    def refusal(self, value: int) -> str | None:
        """Why the size cannot have a value, or None when it can."""
        if value < self.minimum:
            return f"must be at least {self.minimum}"
        return f"must be a multiple of {self.multiple_of}" if value % self.multiple_of else None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """`inner // divisor`, rounded down; the divisor is at least 2."""

    inner: Size
    divisor: int

    def __str__(self) -> str:
        return f"{_atom(self.inner)}//{self.divisor}"


Factor: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[Factor, ...]"
Coefficient: TypeAlias = "int | Fraction"
Extent: TypeAlias = "int | Size"

LARGEST = 2**40
"""Where every dim has to be bounded, a size counts as this large."""
GROWING = 2**20
"""There, an extent from here on is taken for one that grows with the sizes."""


@dataclass(frozen=True, eq=False)
class Size:
    """`const + sum(coefficient * product of factors)` with at least one term.

    Build it with `symbolic` and Python's operators. A coefficient is a fraction where a size is
    divided by what it is a multiple of; the term is an integer all the same.
    """

    terms: tuple[tuple[Coefficient, Monomial], ...]
    const: int = 0

    def __add__(self, other: object) -> Extent:
        if isinstance(other, int):
            return _collect(self.terms, self.const + other)
        if not isinstance(other, Size):
            return NotImplemented
        return _collect((*self.terms, *other.terms), self.const + other.const)

    def __radd__(self, other: int) -> Extent:
        return self + other

    def __neg__(self) -> Extent:
        return self * -1

    def __sub__(self, other: object) -> Extent:
        return self + -other if isinstance(other, (int, Size)) else NotImplemented

    def __rsub__(self, other: int) -> Extent:
        return -self + other

    def __mul__(self, other: object) -> Extent:
        if isinstance(other, int):
            return _collect(((c * other, m) for c, m in self.terms), self.const * other)
        if not isinstance(other, Size):
            return NotImplemented
        return _product(self, other)

    def __rmul__(self, other: int) -> Extent:
        return self * other

    def __floordiv__(self, divisor: object) -> Extent:
        if not isinstance(divisor, int) or divisor <= 0:
            raise DomainError(f"size: division by a positive integer, got {self} // {divisor}")
        return _floor(self, divisor)

    def __mod__(self, divisor: object) -> Extent:
        if not isinstance(divisor, int):
            raise DomainError(f"size: division by a positive integer, got {self} % {divisor}")
        return self - (self // divisor) * divisor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Extent) -> bool:
        return _decided(other - self, lambda gap: gap >= 1, lambda gap: gap <= 0, self, "<", other)

    def __le__(self, other: Extent) -> bool:
        return _decided(other - self, lambda gap: gap >= 0, lambda gap: gap < 0, self, "<=", other)

    def __gt__(self, other: Extent) -> bool:
        return _decided(self - other, lambda gap: gap >= 1, lambda gap: gap <= 0, self, ">", other)

    def __ge__(self, other: Extent) -> bool:
        return _decided(self - other, lambda gap: gap >= 0, lambda gap: gap < 0, self, ">=", other)

    def __bool__(self) -> bool:
        return self > 0

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return (self.terms, self.const)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The sizes in it, floors included, in order of first use."""
        found: dict[Symbol, None] = {}
        for _, monomial in self.terms:
            for factor in monomial:
                inside = (factor,) if isinstance(factor, Symbol) else factor.inner.symbols
                found.update(dict.fromkeys(inside))
        return tuple(found)

    @property
    def is_linear(self) -> bool:
        """No product of sizes is in it: what integer sets can express."""
        return all(
            len(monomial) == 1 and (isinstance(monomial[0], Symbol) or monomial[0].inner.is_linear)
            for _, monomial in self.terms
        )

    @cached_property
    def range(self) -> tuple[float, float]:
        """A lower and an upper bound over all values of the sizes; possibly infinite."""
        ends: list[list[Fraction | float]] = [[], []]
        for unknowns, coefficient in _expanded(self).items():
            most = math.prod(u.most for u in unknowns)
            grown = coefficient * (most if math.isinf(most) else int(most)) if coefficient else 0
            both = (0, grown) if unknowns else (coefficient, coefficient)
            ends[0].append(min(both))
            ends[1].append(max(both))
        return _total(ends[0], math.ceil), _total(ends[1], math.floor)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value for given sizes, by name."""
        total: Coefficient = self.const
        for coefficient, monomial in self.terms:
            total += coefficient * math.prod(_factor_value(f, values) for f in monomial)
        return int(total)

    def __str__(self) -> str:
        text = ""
        for coefficient, monomial in self.terms:
            sign = (" - " if text else "-") if coefficient < 0 else (" + " if text else "")
            text += sign + _term_text(Fraction(abs(coefficient)), monomial)
        if self.const:
            text += f" {'-' if self.const < 0 else '+'} {abs(self.const)}"
        return text

    __repr__ = __str__


def symbolic(symbol: Symbol) -> Size:
    """The extent that is a size itself."""
    return Size(((1, (symbol,)),))


def evaluate(extent: Extent, values: Mapping[str, int]) -> int:
    """An extent for given sizes, by name; never negative."""
    return max(extent.evaluate(values), 0) if isinstance(extent, Size) else extent


def numbers(extents: Iterable[Extent]) -> tuple[int, ...]:
    """Extents that have to be plain numbers.

    Raises: DomainError for a symbolic one.
    """
    found = tuple(extents)
    plain = tuple(n for n in found if isinstance(n, int))
    if len(plain) < len(found):
        raise DomainError(
            f"size: extents must be numbers here, got {found}; specialise the program for its sizes"
        )
    return plain


def estimate(extent: Extent) -> int:
    """An extent, every size taken for a middling one: for choices that are only about cost."""
    if isinstance(extent, int):
        return extent
    return evaluate(extent, {s.name: s.multiple_of * max(s.least_unit, 64) for s in extent.symbols})


def symbols_of(extents: Iterable[Extent]) -> tuple[Symbol, ...]:
    """The sizes in extents, in order of first use."""
    found: dict[Symbol, None] = {}
    for extent in extents:
        if isinstance(extent, Size):
            found.update(dict.fromkeys(extent.symbols))
    return tuple(found)


def is_symbolic(extents: Iterable[Extent]) -> bool:
    """Whether some extent is not a plain number."""
    return any(isinstance(extent, Size) for extent in extents)


def surely_at_most(one: Extent, other: Extent) -> bool:
    """Whether `one <= other` follows from what is promised of the sizes."""
    gap = other - one
    return gap >= 0 if isinstance(gap, int) else gap.range[0] >= 0


def divided(size: Extent, by: Extent) -> Extent | None:
    """The quotient of two extents of one term each where it is a product of sizes; else None."""
    rows = [(Fraction(e), ()) if isinstance(e, int) else _only_term(e) for e in (size, by)]
    if None in rows:
        return None
    (over, factors), (under, divisors) = ((Fraction(c), list(m)) for c, m in rows)  # type: ignore[misc]
    for factor in divisors:
        if factor not in factors:
            return None
        factors.remove(factor)
    ratio = over / under if under else Fraction(1, 2)
    if ratio.denominator != 1:
        return None
    return _collect([(ratio.numerator, tuple(factors))], 0) if factors else ratio.numerator


def _only_term(extent: Size) -> tuple[Coefficient, Monomial] | None:
    return extent.terms[0] if len(extent.terms) == 1 and not extent.const else None


# ---- canonical forms -----------------------------------------------------------------------------


def _collect(terms: Iterable[tuple[Coefficient, Monomial]], const: int) -> Extent:
    totals: dict[Monomial, Coefficient] = {}
    for coefficient, monomial in terms:
        totals[monomial] = totals.get(monomial, 0) + coefficient
    kept = [(_ratio(c, 1), m) for m, c in totals.items() if c]
    if not kept:
        return const
    return Size(tuple(sorted(kept, key=lambda item: _order(item[1]))), const)


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    return (-len(monomial), tuple(map(str, monomial)))


def _product(a: Size, b: Size) -> Extent:
    rows: list[tuple[Coefficient, Monomial]] = [(c * b.const, m) for c, m in a.terms]
    rows += [(c * a.const, m) for c, m in b.terms]
    for ca, ma in a.terms:
        for cb, mb in b.terms:
            rows.append((ca * cb, tuple(sorted((*ma, *mb), key=str))))
    return _collect(rows, a.const * b.const)


def _floor(value: Size, divisor: int) -> Extent:
    """What the divisor divides for certain leaves the floor, common factors cancel."""
    outside = [(_ratio(c, divisor), m) for c, m in value.terms if _divides(divisor, c, m)]
    inside = [(c, m) for c, m in value.terms if not _divides(divisor, c, m)]
    carried, rest = divmod(value.const, divisor)
    whole = _collect(outside, carried)
    if not inside:
        return whole
    common = math.gcd(divisor, *(_step(c, m) for c, m in inside))
    inner = _collect([(_ratio(c, common), m) for c, m in inside], rest // common)
    assert isinstance(inner, Size), "terms that a division keeps do not vanish by it"
    divisor //= common
    match inner.terms:
        case ((1, (Quotient(nested, steps),)),) if not inner.const:
            return whole + _floor(nested, steps * divisor)
        case _:
            return whole + Size(((1, (Quotient(inner, divisor),)),))


def _divides(divisor: int, coefficient: Coefficient, monomial: Monomial) -> bool:
    return _step(coefficient, monomial) % divisor == 0


def _step(coefficient: Coefficient, monomial: Monomial) -> int:
    """What a term is certainly a multiple of."""
    step = coefficient * _multiple(monomial)
    return int(step)


def _ratio(coefficient: Coefficient, divisor: int) -> Coefficient:
    ratio = Fraction(coefficient, divisor)
    return ratio.numerator if ratio.denominator == 1 else ratio


def _multiple(monomial: Monomial) -> int:
    return math.prod(f.multiple_of for f in monomial if isinstance(f, Symbol))


# ---- ranges --------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class _Unknown:
    """A number from 0 to `most`: what a size exceeds its minimum by, or the rest of a division."""

    name: str
    most: float


_Polynomial: TypeAlias = "dict[tuple[_Unknown, ...], Fraction]"


def _expanded(extent: Extent) -> _Polynomial:
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


def _expanded_factor(factor: Factor) -> _Polynomial:
    if isinstance(factor, Symbol):
        least = Fraction(factor.least_unit * factor.multiple_of)
        excess = _Unknown(factor.name, math.inf)
        return {(): least, (excess,): Fraction(factor.multiple_of)}
    rest = _Unknown(str(factor), float(factor.divisor - 1))
    found = {unknowns: c / factor.divisor for unknowns, c in _expanded(factor.inner).items()}
    return {**found, (rest,): Fraction(-1, factor.divisor)}


def _total(ends: Sequence[Fraction | float], rounded: Callable[[Fraction], int]) -> float:
    """The sum of the ends of ranges: infinite if one is, else rounded into the range."""
    infinite = [end for end in ends if math.isinf(end)]
    finite = [Fraction(end) for end in ends if not math.isinf(end)]
    return float(infinite[0]) if infinite else float(rounded(sum(finite, Fraction())))


def _multiplied(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    result: _Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            unknowns = tuple(sorted((*left, *right)))
            result[unknowns] = result.get(unknowns, Fraction()) + x * y
    return result


# ---- values and texts ----------------------------------------------------------------------------


def _factor_value(factor: Factor, values: Mapping[str, int]) -> int:
    if isinstance(factor, Quotient):
        return factor.inner.evaluate(values) // factor.divisor
    if factor.name not in values:
        raise DomainError(f"size {factor.name}: must have a value, got {dict(values)}")
    return values[factor.name]


def _decided(
    gap: Extent,
    yes: Callable[[float], bool],
    no: Callable[[float], bool],
    left: Extent,
    relation: str,
    right: Extent,
) -> bool:
    """The truth of a comparison by the range of `right - left`.

    Raises: DomainError where the sizes' minima do not decide it.
    """
    low, high = (float(gap), float(gap)) if isinstance(gap, int) else gap.range
    if yes(low):
        return True
    if no(high):
        return False
    known = ", ".join(f"{s.name} >= {s.minimum}" for s in symbols_of([left, right]))
    raise DomainError(
        f"size: a comparison must follow from what is known of the sizes ({known}), "
        f"got {left} {relation} {right}; promise more by ted.size(..., min=)"
    )


def _term_text(coefficient: Fraction, monomial: Monomial) -> str:
    alone = len(monomial) == 1 and coefficient == 1
    name = "*".join(str(f) if alone or isinstance(f, Symbol) else f"({f})" for f in monomial)
    if coefficient.denominator > 1:
        name = f"{name}//{coefficient.denominator}"
        return name if coefficient.numerator == 1 else f"{coefficient.numerator}*({name})"
    return name if coefficient == 1 else f"{coefficient}*{name}"


def _atom(value: Size) -> str:
    alone = len(value.terms) == 1 and not value.const and value.terms[0][0] == 1
    return str(value) if alone and len(value.terms[0][1]) == 1 else f"({value})"
