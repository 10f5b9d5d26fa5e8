"""Random quasi-affine index functions and conditions, each twice: for ted, and as plain Python.

The Python half never goes through an expression of ted, so enumerating it checks everything that
ted derives from the other half.  Forms: skews, strides, constants, `//`, `%`, clamps, diagonals.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, add, apply, compare, dim, index, land, mul

Point = Sequence[int]


@dataclass(frozen=True)
class Formula:
    """An index of ted and the Python function that it means."""

    expr: Expr
    at: Callable[[Point], int]

    def __add__(self, other: Formula) -> Formula:
        return Formula(add(self.expr, other.expr), lambda p: self.at(p) + other.at(p))

    def shifted(self, offset: int) -> Formula:
        """The formula plus a constant."""
        return self + constant(offset)


@dataclass(frozen=True)
class Condition:
    """A condition of ted on the dims and the Python predicate that it means."""

    expr: Expr
    at: Callable[[Point], bool]


EVERYWHERE = Condition(TRUE, lambda _: True)


def constant(value: int) -> Formula:
    """A constant."""
    return Formula(index(value), lambda _: value)


def axis(k: int) -> Formula:
    """Dim k."""
    return Formula(dim(k), lambda p: p[k])


def scaled(formula: Formula, factor: int) -> Formula:
    """A multiple."""
    return Formula(mul(formula.expr, index(factor)), lambda p: factor * formula.at(p))


def divided(name: str, formula: Formula, divisor: int) -> Formula:
    """`floordiv` or `mod` by a constant."""
    expr = apply(name, formula.expr, index(divisor))
    if name == "mod":
        return Formula(expr, lambda p: formula.at(p) % divisor)
    return Formula(expr, lambda p: formula.at(p) // divisor)


def clamped(formula: Formula, low: int, high: int) -> Formula:
    """The nearest value in [low, high]."""
    expr = apply("minimum", apply("maximum", formula.expr, index(low)), index(high))
    return Formula(expr, lambda p: min(max(formula.at(p), low), high))


def points(extents: Sequence[int], where: Condition = EVERYWHERE) -> Iterator[tuple[int, ...]]:
    """The points of a box where a condition holds, in row-major order."""
    box = itertools.product(*(range(extent) for extent in extents))
    return (p for p in box if where.at(p))


class MapGenerator:
    """A seeded source of formulas over a number of dims."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def extents(self, rank: int, largest: int = 6) -> tuple[int, ...]:
        """The extents of a box; 1 now and then."""
        return tuple(self.random.randint(1, largest) for _ in range(rank))

    def skew(self, rank: int) -> Formula:
        """A sum of multiples of one to three dims and a constant."""
        result = constant(self.random.randint(-3, 3))
        dims = self.random.sample(range(rank), min(rank, self.random.choice([1, 1, 2, 2, 3])))
        for k in dims:
            result = result + scaled(axis(k), self.random.choice([1, 1, 1, -1, 2, 2, 3, -2]))
        return result

    def formula(self, rank: int) -> Formula:
        """A skew, or something with a division, a remainder or a clamp in it."""
        kind = self.random.choice(["skew"] * 4 + ["floordiv", "mod", "clamp", "both"])
        base = self.skew(rank)
        if kind == "skew":
            return base
        if kind == "clamp":
            low = self.random.randint(-2, 2)
            return clamped(base, low, low + self.random.randint(0, 6))
        divisor = self.random.randint(2, 5)
        if kind == "both":
            factor = self.random.choice([1, 2, divisor])
            return scaled(divided("floordiv", base, divisor), factor) + divided("mod", base, 2)
        divided_base = divided(kind, base, divisor)
        return divided_base + self.skew(rank) if self.random.random() < 0.3 else divided_base

    def condition(self, rank: int, how_many: int) -> Condition:
        """A conjunction of affine or divided inequalities and, rarely, an equality."""
        result = EVERYWHERE
        for _ in range(how_many):
            left, right = self.formula(rank), self.skew(rank)
            name = self.random.choice(["le", "le", "lt", "eq" if rank > 1 else "le"])
            result = _both(result, _compared(name, left, right))
        return result

    def domain(self, extents: Sequence[int], how_many: int) -> Condition:
        """A condition that holds somewhere in the box, but for a rare empty one."""
        for _ in range(4):
            result = self.condition(len(extents), how_many)
            if any(True for _ in points(extents, result)):
                return result
        return self.condition(len(extents), how_many)

    def placed(
        self, formula: Formula, extents: Sequence[int], where: Condition
    ) -> tuple[Formula, int]:
        """The formula moved to start near 0 on the points, and an extent that holds its values."""
        values = [formula.at(p) for p in points(extents, where)] or [0]
        margin = self.random.choice([0, 0, 1])
        span = max(values) - min(values) + 1
        return formula.shifted(margin - min(values)), span + margin + self.random.choice([0, 0, 2])


def _compared(name: str, a: Formula, b: Formula) -> Condition:
    test = {
        "le": lambda p: a.at(p) <= b.at(p),
        "lt": lambda p: a.at(p) < b.at(p),
        "eq": lambda p: a.at(p) == b.at(p),
    }[name]
    return Condition(compare(name, a.expr, b.expr), test)


def _both(a: Condition, b: Condition) -> Condition:
    return Condition(land(a.expr, b.expr), lambda p: a.at(p) and b.at(p))
