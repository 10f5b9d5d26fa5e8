"""Symbolic extents: integer polynomials in named sizes, with floors by constants.

`n`, `2*n + 1`, `(n - 3)//2 + 1` and `n*m` are extents of tensors whose sizes are known only when a
function is called. Construction keeps a canonical form, so that equal spellings compare equal; a
polynomial without a size in it is a plain `int`. A comparison is answered from what is promised of
the sizes (`min`), and refused where that does not decide it.
"""

from __future__ import annotations

import math
import numbers as abstract
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from ted.domain import size_factors as factors
from ted.domain.size_factors import Coefficient, Symbol
from ted.domain.size_ranges import Bound, range_of
from ted.errors import DomainError, user_location
from ted.forking import cached_property
from ted.records import dataclass

Extent: TypeAlias = "int | Size"

LARGEST = 2**40
"""Where every dim has to be bounded, a size counts as this large."""
GROWING = 2**20
"""There, an extent from here on is taken for one that grows with the sizes."""

Factor: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[Factor, ...]"


@dataclass(frozen=True, eq=False)
class Size:
    """`const + sum(coefficient * product of factors)` with at least one term.

    Build it with `symbolic` and Python's operators. A coefficient is a fraction where a size is
    divided by what it is a multiple of; the term is an integer all the same.
    """

    terms: tuple[tuple[Coefficient, Monomial], ...]
    const: int = 0

    def __add__(self, other: Any) -> Extent:
        added = _operand(self, "+", other)
        if added is None:
            return NotImplemented
        if isinstance(added, int):
            return _collect(self.terms, self.const + added)
        return _collect((*self.terms, *added.terms), self.const + added.const)

    __radd__ = __add__

    def __neg__(self) -> Extent:
        return self * -1

    def __pos__(self) -> Extent:
        return self

    def __abs__(self) -> Extent:
        return self if self >= 0 else -self

    def __sub__(self, other: Any) -> Extent:
        taken = _operand(self, "-", other)
        return NotImplemented if taken is None else self + -taken

    def __rsub__(self, other: Any) -> Extent:
        start = _operand(self, "-", other)
        return NotImplemented if start is None else -self + start

    def __mul__(self, other: Any) -> Extent:
        factor = _operand(self, "*", other)
        if factor is None:
            return NotImplemented
        if isinstance(factor, int):
            return _collect(((c * factor, m) for c, m in self.terms), self.const * factor)
        return _product(self, factor)

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Extent:
        times = _operand(self, "**", exponent)
        if times is None:
            return NotImplemented
        if not isinstance(times, int) or times < 0:
            _refuse("the exponent of a size must be an integer from 0 on", self, "**", exponent)
        return math.prod([self] * times)

    def __floordiv__(self, divisor: Any) -> Extent:
        by = _operand(self, "//", divisor)
        if by is None:
            return NotImplemented
        if not isinstance(by, int) or by <= 0:
            _refuse(_DIVISION, self, "//", divisor)
        return _floor(self, by)

    def __mod__(self, divisor: Any) -> Extent:
        by = _operand(self, "%", divisor)
        if by is None:
            return NotImplemented
        if not isinstance(by, int) or by <= 0:
            _refuse(_DIVISION, self, "%", divisor)
        return self - (self // by) * by

    def __divmod__(self, divisor: Any) -> tuple[Extent, Extent]:
        return self // divisor, self % divisor

    def __truediv__(self, other: Any) -> Any:
        return _not_exact(self, other, self, "/", other)

    def __rtruediv__(self, other: Any) -> Any:
        return _not_exact(self, other, other, "/", self)

    def __rfloordiv__(self, other: Any) -> NoReturn:
        return _refuse(_DIVISION, other, "//", self)

    def __rmod__(self, other: Any) -> NoReturn:
        return _refuse(_DIVISION, other, "%", self)

    def __rpow__(self, other: Any) -> NoReturn:
        return _refuse("the exponent must be a number", other, "**", self)

    def __index__(self) -> NoReturn:
        raise DomainError(
            f"size: a number is needed here, and a size has one only when a function is called, "
            f"got {self}; use it in shapes, subscripts, slices and values",
            user_location(),
        )

    __int__ = __float__ = __index__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Size):
            return self._key == other._key
        return False if isinstance(other, abstract.Number) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Any) -> bool:
        return _compared(self, "<", other)

    def __le__(self, other: Any) -> bool:
        return _compared(self, "<=", other)

    def __gt__(self, other: Any) -> bool:
        return _compared(self, ">", other)

    def __ge__(self, other: Any) -> bool:
        return _compared(self, ">=", other)

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
    def range(self) -> tuple[Bound, Bound]:
        """A lower and an upper bound over all values of the sizes; possibly infinite."""
        return range_of(self)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value for given sizes, by name.

        Raises: DomainError for a size without a value.
        """
        total: Coefficient = self.const
        for coefficient, monomial in self.terms:
            total += coefficient * math.prod(_factor_value(f, values) for f in monomial)
        return int(total) if isinstance(total, Fraction) else total

    def __str__(self) -> str:
        return factors.text_of(self.terms, self.const)

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
    (over, over_factors), (under, divisors) = ((Fraction(c), list(m)) for c, m in rows)  # type: ignore[misc]
    for factor in divisors:
        if factor not in over_factors:
            return None
        over_factors.remove(factor)
    ratio = over / under if under else Fraction(1, 2)
    if ratio.denominator != 1:
        return None
    return (
        _collect([(ratio.numerator, tuple(over_factors))], 0) if over_factors else ratio.numerator
    )


def _only_term(extent: Size) -> tuple[Coefficient, Monomial] | None:
    return extent.terms[0] if len(extent.terms) == 1 and not extent.const else None


# ---- canonical forms -----------------------------------------------------------------------------


def _collect(terms: Iterable[tuple[Coefficient, Monomial]], const: int) -> Extent:
    totals: dict[Monomial, Coefficient] = {}
    for coefficient, monomial in terms:
        totals[monomial] = totals.get(monomial, 0) + coefficient
    kept = [(factors.ratio_of(c, 1), m) for m, c in totals.items() if c]
    if not kept:
        return const
    return Size(tuple(sorted(kept, key=lambda item: factors.order_of(item[1]))), const)


def _product(a: Size, b: Size) -> Extent:
    rows: list[tuple[Coefficient, Monomial]] = [(c * b.const, m) for c, m in a.terms]
    rows += [(c * a.const, m) for c, m in b.terms]
    for ca, ma in a.terms:
        for cb, mb in b.terms:
            rows.append((ca * cb, tuple(sorted((*ma, *mb), key=str))))
    return _collect(rows, a.const * b.const)


def _floor(value: Size, divisor: int) -> Extent:
    """What the divisor divides for certain leaves the floor, common factors cancel.

    `5*n // 2` is `2*n + n//2`, and the first term in a floor is positive: `-n // 2` is
    `-((n + 1)//2)`.
    """
    outside: list[tuple[Coefficient, Monomial]] = []
    inside: list[tuple[Coefficient, Monomial]] = []
    for coefficient, monomial in value.terms:
        step = factors.step_of(coefficient, monomial)
        rest = step % divisor if step > 0 else -(-step % divisor)
        multiple = factors.multiple_of(monomial)
        outside.append((factors.ratio_of((step - rest) // divisor, multiple), monomial))
        inside.append((factors.ratio_of(rest, multiple), monomial))
    carried, const = divmod(value.const, divisor)
    whole = _collect(outside, carried)
    kept = _collect(inside, 0)
    if isinstance(kept, int):
        return whole
    common = math.gcd(divisor, *(factors.step_of(c, m) for c, m in kept.terms))
    scaled = _collect([(factors.ratio_of(c, common), m) for c, m in kept.terms], const // common)
    assert isinstance(scaled, Size), "terms that a division keeps do not vanish by it"
    return whole + _proper(scaled, divisor // common)


def _proper(inner: Size, divisor: int) -> Extent:
    """A floor of terms without common factors: of a positive first term, and of no sole floor."""
    if inner.terms[0][0] < 0:
        turned = (divisor - 1) - inner
        assert isinstance(turned, Size), "a size with its sign turned stays one"
        return -_proper(turned, divisor)
    match inner.terms:
        case ((1, (Quotient(nested, steps),)),):
            return (nested + inner.const * steps) // (steps * divisor)
        case _:
            return Size(((1, (Quotient(inner, divisor),)),))


# ---- operands and values -------------------------------------------------------------------------


def _factor_value(factor: Factor, values: Mapping[str, int]) -> int:
    if isinstance(factor, Quotient):
        return factor.inner.evaluate(values) // factor.divisor
    if factor.name not in values:
        raise DomainError(f"size {factor.name}: must have a value, got {dict(values)}")
    return values[factor.name]


_DIVISION = "the divisor must be a positive integer"


@dataclass(frozen=True)
class Quotient:
    """`inner // divisor`, rounded down; the divisor is at least 2."""

    inner: Size
    divisor: int

    def __str__(self) -> str:
        return f"{_atom(self.inner)}//{self.divisor}"


def _atom(value: Size) -> str:
    alone = len(value.terms) == 1 and not value.const and value.terms[0][0] == 1
    return str(value) if alone and len(value.terms[0][1]) == 1 else f"({value})"


def _operand(size: Size, sign: str, other: Any) -> Extent | None:
    """The other operand as an extent; None for what has operators of its own.

    Raises: DomainError for a float.
    """
    if isinstance(other, (int, Size)):
        return other
    if isinstance(other, abstract.Integral):
        return int(other)
    return _not_exact(size, other, size, sign, other)


def _not_exact(size: Size, other: Any, left: Any, sign: str, right: Any) -> Any:
    """None for what has operators of its own: a tensor, a scalar."""
    if not isinstance(other, (abstract.Real, Size)):
        return NotImplemented if sign == "/" else None
    return _refuse("beside integers and sizes a size takes + - *, // and %", left, sign, right)


def _refuse(rule: str, left: Any, sign: str, right: Any) -> NoReturn:
    raise DomainError(
        f"size: {rule}, got {left} {sign} {right}; in a value write ted.cast(size, 'float64')",
        user_location(),
    )


def _way_out(one: Extent, other: Extent) -> str:
    if len(symbols_of([one, other])) == 1:
        return "promise more by ted.size(..., min=)"
    return "promise more by ted.size(..., min=), or state one size by another, as in n = m + k"


def _compared(size: Size, relation: str, other: Any) -> bool:
    """The truth of a comparison by the range of the difference.

    Raises: DomainError where the sizes' minima do not decide it.
    """
    right = _operand(size, relation, other)
    if right is None:
        return NotImplemented
    gap = size - right if relation[0] == ">" else right - size
    least = 0 if relation.endswith("=") else 1
    low, high = (gap, gap) if isinstance(gap, int) else gap.range
    if low >= least:
        return True
    if high < least:
        return False
    known = ", ".join(f"{s.name} >= {s.minimum}" for s in symbols_of([size, right]))
    raise DomainError(
        f"size: a comparison must follow from what is known of the sizes ({known}), "
        f"got {size} {relation} {other}; {_way_out(size, right)}",
        user_location(),
    )
