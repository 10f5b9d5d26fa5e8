"""Quasi-affine expressions and constraints over positional dims, as plain Python values.

`Aff` is `const + sum of coefficient * term`, where a term is a dim (its number), a parameter (its
name) or the floor of another `Aff` by a positive constant: exactly what an MLIR affine map or set
can say. Construction
keeps a canonical form (like terms merged, floors reduced, dims before floors), so that equal
spellings compare equal; different spellings may still be the same function, only isl decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

from ted.forking import cached_property
from ted.records import dataclass


@dataclass(frozen=True)
class Floor:
    """`inner // divisor`, rounded towards minus infinity; the divisor is at least 2."""

    inner: Aff
    divisor: int


Term = int | str | Floor


@dataclass(frozen=True)
class Aff:
    """`const + sum(coefficient * term)`; build it with the functions and operators below."""

    terms: tuple[tuple[int, Term], ...] = ()
    const: int = 0

    def __add__(self, other: Aff | int) -> Aff:
        if isinstance(other, int):
            return Aff(self.terms, self.const + other)
        return _collect((*self.terms, *other.terms), self.const + other.const)

    def __radd__(self, other: int) -> Aff:
        return self + other

    def __neg__(self) -> Aff:
        return self * -1

    def __sub__(self, other: Aff | int) -> Aff:
        return self + -other

    def __rsub__(self, other: int) -> Aff:
        return -self + other

    def __mul__(self, factor: int) -> Aff:
        if factor == 0:
            return Aff()
        return Aff(tuple((c * factor, t) for c, t in self.terms), self.const * factor)

    def __rmul__(self, factor: int) -> Aff:
        return self * factor

    def __floordiv__(self, divisor: int) -> Aff:
        return _floor(self, divisor)

    def __mod__(self, divisor: int) -> Aff:
        return self - (self // divisor) * divisor

    @cached_property
    def dims(self) -> frozenset[int]:
        """The dims the value is written in terms of, inside floors too."""
        return frozenset(t for t in self._leaves if isinstance(t, int))

    @property
    def parameters(self) -> frozenset[str]:
        """The parameters the value is written in terms of, inside floors too."""
        return frozenset(t for t in self._leaves if isinstance(t, str))

    @cached_property
    def _leaves(self) -> frozenset[int | str]:
        parts = (t.inner._leaves if isinstance(t, Floor) else (t,) for _, t in self.terms)
        return frozenset[int | str]().union(*parts)

    @property
    def is_affine(self) -> bool:
        """No floor is left."""
        return not any(isinstance(t, Floor) for _, t in self.terms)

    @property
    def is_constant(self) -> bool:
        """No dim and no parameter is left; the value is `const`."""
        return not self.terms

    @property
    def as_dim(self) -> int | None:
        """The dim that this expression is, or None when it is anything else."""
        match self:
            case Aff(((1, int(index)),), 0):
                return index
            case _:
                return None

    def coefficient(self, index: int) -> int:
        """The factor of dim `index` outside of all floors."""
        return next((c for c, t in self.terms if t == index), 0)

    def slope(self, index: int) -> Fraction:
        """The average growth per step of dim `index`."""
        total = Fraction(self.coefficient(index))
        floors = ((c, t) for c, t in self.terms if isinstance(t, Floor))
        return total + sum((c * t.inner.slope(index) / t.divisor for c, t in floors), Fraction())

    def period(self, index: int) -> int:
        """The least known steps of dim `index` after which the value has grown by a constant."""
        result = 1
        for _, term in self.terms:
            if isinstance(term, Floor):
                steps = term.inner.period(index)
                growth = int(term.inner.slope(index) * steps)
                result = lcm(result, steps * term.divisor // gcd(term.divisor, growth))
        return result

    def evaluate(self, point: Sequence[int]) -> int:
        """The value at an integer point, without parameters."""
        total = self.const
        for factor, term in self.terms:
            if isinstance(term, Floor):
                total += factor * (term.inner.evaluate(point) // term.divisor)
            else:
                assert isinstance(term, int), f"a value at a point has no parameters, got {self}"
                total += factor * point[term]
        return total

    def substitute(self, values: Sequence[Aff] | Mapping[int, Aff]) -> Aff:
        """Replace every dim by `values[dim]`."""
        result = Aff((), self.const)
        for factor, term in self.terms:
            if isinstance(term, Floor):
                result = result + (term.inner.substitute(values) // term.divisor) * factor
            elif isinstance(term, str):
                result = result + parameter(term) * factor
            else:
                result = result + values[term] * factor
        return result

    def show(self, names: Sequence[str] | None = None) -> str:
        """Readable text, Python's operators; `names` default to d0, d1, ..."""
        return _show(self, names)

    def __str__(self) -> str:
        return self.show()


@dataclass(frozen=True)
class Constraint:
    """`expression == 0` when `equality`, else `expression >= 0`."""

    expression: Aff
    equality: bool

    def holds(self, point: Sequence[int]) -> bool:
        """Whether an integer point satisfies the constraint."""
        value = self.expression.evaluate(point)
        return value == 0 if self.equality else value >= 0

    def show(self, names: Sequence[str] | None = None) -> str:
        """Readable text such as `i - j >= 0`."""
        return f"{self.expression.show(names)} {'==' if self.equality else '>='} 0"

    def __str__(self) -> str:
        return self.show()


def dim(index: int) -> Aff:
    """The expression that is dim `index`."""
    return Aff(((1, index),))


def parameter(name: str) -> Aff:
    """The expression that is the parameter `name`."""
    return Aff(((1, name),))


def constant(value: int) -> Aff:
    """The expression that is `value` everywhere."""
    return Aff((), value)


def _order(term: Term) -> tuple[int, int, str]:
    if isinstance(term, Floor):
        return (2, term.divisor, str(term.inner))
    return (1, 0, term) if isinstance(term, str) else (0, term, "")


def _collect(terms: Iterable[tuple[int, Term]], offset: int) -> Aff:
    totals: dict[Term, int] = {}
    for factor, term in terms:
        totals[term] = totals.get(term, 0) + factor
    kept = [(factor, term) for term, factor in totals.items() if factor]
    return Aff(tuple(sorted(kept, key=lambda item: _order(item[1]))), offset)


def _floor(value: Aff, divisor: int) -> Aff:
    """Multiples of the divisor leave the floor, common factors cancel, nested floors merge.

    The first term keeps a positive factor by `-y // m == -((y + m - 1) // m)`.
    """
    assert divisor > 0, f"floor division needs a positive divisor, got {divisor}"
    common = gcd(divisor, *(factor for factor, _ in value.terms))
    divisor //= common
    whole: list[tuple[int, Term]] = []
    rest: list[tuple[int, Term]] = []
    for factor, term in value.terms:
        scaled = factor // common
        quotient = abs(scaled) // divisor * (1 if scaled > 0 else -1)
        whole.append((quotient, term))
        rest.append((scaled - quotient * divisor, term))
    offset, remainder = divmod(value.const // common, divisor)
    outside, inside = _collect(whole, offset), _collect(rest, remainder)
    match inside:
        case Aff((), _):
            return outside
        case Aff(((leading, _), *_), _) if leading < 0:
            return outside - _floor(divisor - 1 - inside, divisor)
        case Aff(((1, Floor(inner, inner_divisor)),), shift):
            return outside + _floor(inner + shift * inner_divisor, inner_divisor * divisor)
        case _:
            return _collect((*outside.terms, (1, Floor(inside, divisor))), outside.const)


@dataclass(frozen=True)
class Remainder:
    """`factor * (argument % divisor) + rest`."""

    factor: int
    argument: Aff
    divisor: int
    rest: Aff


def remainder(value: Aff) -> Remainder | None:
    """Find a remainder in a sum: a floor that together with dims of the sum makes a shorter `%`."""
    for factor, term in value.terms:
        if isinstance(term, Floor) and factor % term.divisor == 0:
            scale = -factor // term.divisor
            rest = value - (term.inner % term.divisor) * scale
            if len(rest.terms) < len(value.terms):
                return Remainder(scale, term.inner, term.divisor, rest)
    return None


def _show(value: Aff, names: Sequence[str] | None) -> str:
    parts: list[tuple[int, str]] = []
    while (found := remainder(value)) is not None:
        parts.append((found.factor, f"({_atom(found.argument, names)} % {found.divisor})"))
        value = found.rest
    for factor, term in reversed(value.terms):
        if isinstance(term, Floor):
            parts.append((factor, f"({_atom(term.inner, names)} // {term.divisor})"))
        else:
            parts.append((factor, _leaf(term, names)))
    parts.reverse()
    if value.const or not parts:
        parts.append((value.const, ""))
    text = ""
    for factor, name in parts:
        size = "" if name and abs(factor) == 1 else f"{abs(factor)}" + ("*" if name else "")
        sign = (" - " if text else "-") if factor < 0 else (" + " if text else "")
        text += sign + size + name
    return text


def _leaf(term: int | str, names: Sequence[str] | None) -> str:
    if isinstance(term, str):
        return term
    return names[term] if names else f"d{term}"


def _atom(value: Aff, names: Sequence[str] | None) -> str:
    text = _show(value, names)
    return text if value.as_dim is not None else f"({text})"
