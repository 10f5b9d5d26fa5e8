"""Random quasi-affine index maps, each as isl functions and as a plain Python function."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import islpy as isl

from ted.domain import sets
from ted.domain.loops import LoopNest

Point = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """The same index expression for isl and for Python."""

    function: isl.PwAff
    evaluate: Callable[[Point], int]
    text: str


@dataclass(frozen=True)
class Problem:
    """A domain and an index map on it; `points` are the domain's points by enumeration."""

    domain: isl.Set
    index: tuple[Value, ...]
    points: tuple[Point, ...]
    text: str

    @property
    def functions(self) -> tuple[isl.PwAff, ...]:
        """The index map for isl."""
        return tuple(value.function for value in self.index)

    def target(self, point: Point) -> Point:
        """The index at a point, computed by Python."""
        return tuple(value.evaluate(point) for value in self.index)


def constant(rank: int, c: int) -> Value:
    return Value(isl.PwAff.from_aff(sets.constant_aff(rank, c)), lambda _: c, str(c))


def dim(rank: int, k: int) -> Value:
    return Value(isl.PwAff.from_aff(sets.dim_aff(rank, k)), lambda p: p[k], f"x{k}")


def plus(a: Value, b: Value) -> Value:
    text = f"({a.text} + {b.text})"
    return Value(a.function.add(b.function), lambda p: a.evaluate(p) + b.evaluate(p), text)


def times(a: Value, c: int) -> Value:
    return Value(a.function.scale_val(isl.Val(c)), lambda p: a.evaluate(p) * c, f"{c}*{a.text}")


def floordiv(a: Value, m: int) -> Value:
    quotient = a.function.scale_down_val(isl.Val(m)).floor()
    return Value(quotient, lambda p: a.evaluate(p) // m, f"({a.text} // {m})")


def modulo(a: Value, m: int) -> Value:
    rest = a.function.mod_val(isl.Val(m))
    return Value(rest, lambda p: a.evaluate(p) % m, f"({a.text} % {m})")


def minimum(a: Value, b: Value) -> Value:
    text = f"min({a.text}, {b.text})"
    return Value(a.function.min(b.function), lambda p: min(a.evaluate(p), b.evaluate(p)), text)


def maximum(a: Value, b: Value) -> Value:
    text = f"max({a.text}, {b.text})"
    return Value(a.function.max(b.function), lambda p: max(a.evaluate(p), b.evaluate(p)), text)


def clamp(rank: int, a: Value, lower: int, upper: int) -> Value:
    return maximum(minimum(a, constant(rank, upper)), constant(rank, lower))


def random_value(rng: random.Random, rank: int, depth: int) -> Value:
    """A random expression; skews, divisions, remainders and clamps all occur."""
    if depth == 0 or rng.random() < 0.15:
        return dim(rank, rng.randrange(rank))
    kinds = ["sum", "difference", "scale", "floordiv", "modulo", "clamp", "linear"]
    kind = rng.choices(kinds, [20, 10, 15, 15, 15, 6, 20])[0]
    if kind == "linear":
        value = constant(rank, rng.randint(0, 2))
        for k in range(rank):
            value = plus(value, times(dim(rank, k), rng.randint(-2, 3)))
        return value
    a = random_value(rng, rank, depth - 1)
    if kind == "sum":
        return plus(a, random_value(rng, rank, depth - 1))
    if kind == "difference":
        return plus(a, times(random_value(rng, rank, depth - 1), -1))
    if kind == "scale":
        return plus(times(a, rng.randint(1, 4)), constant(rank, rng.randint(-2, 2)))
    shifted = plus(a, constant(rank, rng.randint(-2, 3)))
    if kind == "floordiv":
        return floordiv(shifted, rng.randint(2, 5))
    if kind == "modulo":
        return modulo(shifted, rng.randint(2, 6))
    return clamp(rank, a, rng.randint(-2, 1), rng.randint(2, 6))


def random_problem(seed: int) -> Problem:
    """A random box, index map and, in some cases, guard."""
    rng = random.Random(seed)
    extents = [rng.randint(1, 7) for _ in range(rng.randint(1, 3))]
    extents += [rng.randint(1, 5) for _ in range(rng.randint(0, 2))]
    rank = len(extents)
    index = tuple(random_value(rng, rank, rng.randint(1, 2)) for _ in range(rng.randint(1, 3)))
    domain, holds, text = sets.box(extents), _always, f"{extents}"
    if rng.random() < 0.4:
        left, right = random_value(rng, rank, 1), random_value(rng, rank, 1)
        domain = domain.intersect(left.function.le_set(right.function))
        holds = lambda p: left.evaluate(p) <= right.evaluate(p)  # noqa: E731
        text += f" if {left.text} <= {right.text}"
    points = tuple(p for p in enumerate_box(extents) if holds(p))
    text += " -> " + ", ".join(value.text for value in index)
    return Problem(domain, index, points, text)


def _always(_: Point) -> bool:
    return True


def enumerate_box(extents: Sequence[int]) -> list[Point]:
    return list(itertools.product(*(range(extent) for extent in extents)))


def enumerate_set(points: isl.Set) -> list[Point]:
    """Every point of a small set, in order, tested one by one against its bounding box."""
    if points.is_empty():
        return []
    ranges = sets.dim_ranges(points)
    assert ranges is not None
    found: list[Point] = []

    def visit(point: isl.Point) -> None:
        rank = sets.rank_of(points)
        found.append(tuple(sets.to_int(point.get_coordinate_val(sets.SET, k)) for k in range(rank)))

    points.foreach_point(visit)
    return sorted(found)


def visited(nest: LoopNest, rank: int) -> list[Point]:
    """The points the loops visit, before the guard, in order of visit."""
    points: list[Point] = []

    def run(depth: int, point: list[int]) -> None:
        if depth == rank:
            points.append(tuple(point))
            return
        loop = nest.loops[depth]
        for at in loop.range(point):
            run(depth + 1, [at if k == loop.dim else x for k, x in enumerate(point)])

    run(0, [0] * rank)
    return points
