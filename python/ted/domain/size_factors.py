"""The factors of symbolic extents: named sizes, and floors of extents by constants."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol, TypeAlias

from ted.records import dataclass

LONGEST = 2**63
"""No size is this large: what the machine counts with."""


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

    @property
    def promise(self) -> str:
        """What is promised, as it was written."""
        return f"min={self.minimum}, multiple_of={self.multiple_of}"

    def refusal(self, value: int) -> str | None:
        """Why the size cannot have a value, or None when it can."""
        if value < self.minimum:
            return f"must be at least {self.minimum}"
        if value >= LONGEST:
            return "must be below 2**63"
        return f"must be a multiple of {self.multiple_of}" if value % self.multiple_of else None

    def __str__(self) -> str:
        return self.name


class Terms(Protocol):
    """What `ted.domain.sizes.Size` is: a sum of products of factors, and a constant."""

    @property
    def terms(self) -> tuple[tuple[Coefficient, AnyMonomial], ...]:
        """The products, each with its coefficient."""
        ...

    @property
    def const(self) -> int:
        """The constant."""
        ...


class Floor(Protocol):
    """What `ted.domain.sizes.Quotient` is: `inner // divisor`."""

    @property
    def inner(self) -> Terms:
        """What is divided."""
        ...

    @property
    def divisor(self) -> int:
        """At least 2."""
        ...


AnyFactor: TypeAlias = "Symbol | Floor"
AnyMonomial: TypeAlias = "tuple[AnyFactor, ...]"
Coefficient: TypeAlias = "int | Fraction"


# ---- terms ---------------------------------------------------------------------------------------


def step_of(coefficient: Coefficient, monomial: AnyMonomial) -> int:
    """What a term is certainly a multiple of."""
    return int(coefficient * multiple_of(monomial))


def ratio_of(coefficient: Coefficient, divisor: int) -> Coefficient:
    """A coefficient divided: an integer where it is one."""
    ratio = Fraction(coefficient, divisor)
    return ratio.numerator if ratio.denominator == 1 else ratio


def multiple_of(monomial: AnyMonomial) -> int:
    """What a product of factors is certainly a multiple of."""
    return math.prod(f.multiple_of for f in monomial if isinstance(f, Symbol))


def order_of(monomial: AnyMonomial) -> tuple[int, tuple[str, ...]]:
    """Where a product of factors stands in a sum: long products first, then by name."""
    return (-len(monomial), tuple(map(str, monomial)))


# ---- texts ---------------------------------------------------------------------------------------


def text_of(terms: tuple[tuple[Coefficient, AnyMonomial], ...], const: int) -> str:
    """A sum of terms as Python has it."""
    text = ""
    for coefficient, monomial in terms:
        sign = (" - " if text else "-") if coefficient < 0 else (" + " if text else "")
        term = _term_text(Fraction(abs(coefficient)), monomial)
        text += sign + (f"({term})" if sign == "-" and "//" in term else term)
    if const:
        text += f" {'-' if const < 0 else '+'} {abs(const)}"
    return text


def _term_text(coefficient: Fraction, monomial: AnyMonomial) -> str:
    alone = len(monomial) == 1 and coefficient == 1
    name = "*".join(str(f) if alone or isinstance(f, Symbol) else f"({f})" for f in monomial)
    if coefficient.denominator > 1:
        name = f"{name}//{coefficient.denominator}"
        return name if coefficient.numerator == 1 else f"{coefficient.numerator}*({name})"
    return name if coefficient == 1 else f"{coefficient}*{name}"
