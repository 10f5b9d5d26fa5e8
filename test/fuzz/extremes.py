"""Scalar functions at hard points: the value and two derivatives against extended precision.

    make fuzz ORACLE=extremes FIRST=0 COUNT=144

A seed is a function in float32 or float64 at 10,000 points (special ones at 1,000): every
magnitude down to subnormal numbers, both signs, powers of two and their neighbours, neighbours of
kinks, roots, poles and of where results overflow.  The errors, in units in the last place of the
exact result, are held to the bounds of docs/accuracy.md, which `test/docs/slopes_page.py` writes.
Where the exact result is subnormal the unit is the smallest number of the type; beyond the largest
one it is infinite.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

import ted
from fuzz.extreme_rows import ROWS, Row
from fuzz.outcomes import Outcome

DIGITS = 45
KINDS = ("float32", "float64")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Found:
    """What a function gives at points, and what it should: value, first and second derivative."""

    points: tuple[Array, ...]
    got: tuple[Array, ...]
    exact: tuple[Array, ...]  # rounded to float64
    errors: tuple[Array, ...]  # in units in the last place
    absolute: tuple[Array, ...]  # the same, of 1 where the result is smaller

    def worst(self, order: int, column: tuple[Array, ...] | None = None) -> tuple[float, str]:
        """The largest error of an order, and where it is."""
        errors = (self.errors if column is None else column)[order]
        k = int(np.argmax(errors))
        at = ", ".join(repr(float(p[k])) for p in self.points)
        return float(errors[k]), f"{self.got[order][k]!r} for {self.exact[order][k]!r} at {at}"


# ------------------------------------------------------------------ points


def drawn(row: Row, kind: str, count: int, seed: int) -> tuple[Array, ...]:
    """Hard arguments of a function, and ordinary ones beside them where it has another one."""
    rng = np.random.default_rng(seed)
    pools = [_magnitudes(rng, kind, count), _powers(rng, kind, count // 2)]
    pools += [rng.uniform(*row.ends, count).astype(kind), _subnormals(rng, kind, count // 8)]
    for p in row.near:
        pools += [_around(rng, p, kind, max(count // (2 * len(row.near)), 8))]
    x = np.concatenate(pools)
    with np.errstate(all="ignore"):
        inside = (x > row.least) & (x < row.most) & np.isfinite(x)
    x = x[inside & ~np.vectorize(row.poles, otypes=[bool])(x.astype(np.float64))]
    x = rng.permutation(x)[:count]
    if row.other is None:
        return (x,)
    low, high = row.other
    plain = rng.uniform(low, high, len(x))
    if low > 0:
        plain = np.exp(rng.uniform(np.log(low), np.log(high), len(x)))
        plain = np.where(rng.random(len(x)) < 0.5, plain, rng.uniform(0.1, 2.0, len(x)))
    return x, plain.astype(kind)


def _signs(rng: np.random.Generator, count: int) -> Array:
    return np.where(rng.random(count) < 0.5, -1.0, 1.0)


def _magnitudes(rng: np.random.Generator, kind: str, count: int) -> Array:
    info = np.finfo(kind)
    exponents = rng.integers(info.minexp - info.nmant, info.maxexp, count)
    return np.ldexp(rng.uniform(1, 2, count) * _signs(rng, count), exponents).astype(kind)


def _powers(rng: np.random.Generator, kind: str, count: int) -> Array:
    info = np.finfo(kind)
    exponents = rng.integers(info.minexp, info.maxexp, count)
    exponents = np.where(rng.random(count) < 0.5, exponents, rng.integers(-8, 9, count))
    return _moved(rng, (np.ldexp(_signs(rng, count), exponents)).astype(kind))


def _subnormals(rng: np.random.Generator, kind: str, count: int) -> Array:
    units = np.exp2(rng.uniform(0, np.finfo(kind).nmant + 1, count)).astype(np.int64)
    return (units * np.finfo(kind).smallest_subnormal * _signs(rng, count)).astype(kind)


def _around(rng: np.random.Generator, p: float, kind: str, count: int) -> Array:
    """Neighbours of a point, and points that come nearer and nearer to it."""
    depth = np.finfo(kind).nmant + 2
    near = p + _signs(rng, count) * np.exp2(-rng.uniform(0, depth, count))
    ulps = _moved(rng, np.full(count // 4 + 1, p, kind))
    return np.concatenate([near.astype(kind), ulps])


def _moved(rng: np.random.Generator, x: Array) -> Array:
    """Some units in the last place away."""
    for _ in range(3):
        step = rng.integers(-1, 2, len(x))
        to = np.where(step < 0, -np.inf, np.inf).astype(x.dtype)
        x = np.where(step == 0, x, np.nextafter(x, to))
    return x


# ------------------------------------------------------------------ both sides


@functools.cache
def compiled(name: str, kind: str, count: int) -> Any:
    """The value and the two derivatives by the first argument, as one program."""
    row = ROWS[name]
    inputs = [ted.placeholder((count,), kind, name=n) for n in ("x", "other")]
    inputs = inputs[: 1 if row.other is None else 2]
    results = [row.mine(*inputs)]
    for _ in range(2):
        (slope,) = ted.differentiate(results[-1], inputs[:1], head=ted.ones((count,), kind))
        results.append(slope)
    return ted.compile(inputs, results)


def exact_results(row: Row, points: tuple[Array, ...]) -> list[list[Any]]:
    """For each order the exact results at the points."""
    from fuzz.jets import variable

    found: list[list[Any]] = [[], [], []]
    with mp.workdps(DIGITS):
        for x, *others in zip(*(p.tolist() for p in points), strict=True):
            jet = row.exact(variable(x), *others)
            for column, value in zip(found, (jet.value, jet.first, jet.second), strict=True):
                column.append(value)
    return found


def errors(got: Array, exact: list[Any]) -> tuple[Array, Array, Array]:
    """The exact results as floats, and how far off others are, in units of the last place and of 1.

    The unit of a subnormal result is the smallest number; both sides may be infinite from 8 units
    below the largest number on.
    """
    with mp.workdps(DIGITS):
        high = np.array([_as_float(v) for v in exact])
        pairs = zip(exact, high.tolist(), strict=True)
        low = np.array([float(mp.re(v) - h) if np.isfinite(h) else 0.0 for v, h in pairs])
    about = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded, wide = high.astype(got.dtype), got.astype(np.float64)
        unit = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1))).astype(np.float64)
        distance = np.abs((wide - high) - low)
        end = float(about.max) * (1 - 8 * float(about.eps))
        at_end = (np.abs(high) > end) & (np.abs(wide) > end) & (np.sign(high) == np.sign(wide))
        lost = ~np.isfinite(wide) | np.isinf(rounded)
        one = np.maximum(unit, float(about.eps))
        columns = [np.where(lost, np.inf, distance / u) for u in (unit, one)]
    return high, *(np.where(at_end, 0.0, c) for c in columns)


def _as_float(value: Any) -> float:
    try:
        return float(mp.re(value))
    except OverflowError:  # an exponent beyond machine integers
        return float(mp.sign(mp.re(value))) * (np.inf if mp.mag(value) > 0 else 0.0)


def examined(name: str, kind: str, count: int = 0, seed: int = 0) -> Found:
    """A function at hard points; where the value overflows, derivatives are not compared."""
    count = count or ROWS[name].points
    points = drawn(ROWS[name], kind, count, seed)
    full = [np.resize(p, count) for p in points]
    got = [np.asarray(a)[: len(points[0])] for a in compiled(name, kind, count)(*full)]
    columns = [errors(a, e) for a, e in zip(got, exact_results(ROWS[name], points), strict=True)]
    with np.errstate(over="ignore"):
        overflowed = np.isinf(columns[0][0].astype(kind))
    relative, absolute = (
        [np.where(overflowed & (k > 0), 0.0, c[part]) for k, c in enumerate(columns)]
        for part in (1, 2)
    )
    return Found(points, tuple(got), tuple(c[0] for c in columns), tuple(relative), tuple(absolute))


# ------------------------------------------------------------------ bounds

SUBJECTS = [(name, kind) for name in ROWS for kind in KINDS]
MOST = 32.0  # units; what is further off is given as an absolute error, or as it is


def spelled(relative: float, absolute: float) -> str:
    """An error as docs/accuracy.md has it: in units of the last place, or with an `a` of 1."""
    if relative > MOST and absolute <= MOST:
        return f"{_up(absolute)}a"
    return _up(relative)


def _up(error: float) -> str:
    """Two digits, rounded up."""
    if not 0 < error < np.inf:
        return "0" if error == 0 else "inf"
    scale = 10.0 ** (np.floor(np.log10(error)) - 1)
    return f"{float(np.ceil(error / scale) * scale):.2g}"


def bounds() -> dict[str, list[list[str]]]:
    """The rows of docs/accuracy.md: a function, and for each type three errors."""
    from docs.slopes_page import HEADER, PAGE

    table = PAGE.read_text().partition(HEADER)[2].partition("\n\n")[0].strip().splitlines()[1:]
    cells = [[c.strip() for c in line.strip("|").split(" | ")] for line in table]
    return {row[0].strip("` "): [c.split("; ") for c in row[1:]] for row in cells if row[0]}


SLACK = 1.5  # other points can be as much worse than those of the table


def over_bounds(name: str, kind: str, found: Found) -> list[str]:
    """What is further off than the document says."""
    wrong = []
    for order, bound in enumerate(bounds()[name][KINDS.index(kind)]):
        column = found.absolute if bound.endswith("a") else found.errors
        worst, at = found.worst(order, column)
        if worst > SLACK * float(bound.rstrip("a")):
            wrong.append(f"{name} in {kind}, order {order}: {worst:.3g}, at most {bound}: {at}")
    return wrong


def check(seed: int, count: int = 0) -> Outcome:
    """The function of a seed."""
    name, kind = SUBJECTS[seed % len(SUBJECTS)]
    found = examined(name, kind, count, seed // len(SUBJECTS))
    wrong = over_bounds(name, kind, found)
    counts = {"points": len(found.points[0])}
    return Outcome("wrong", name, "\n".join(wrong)) if wrong else Outcome("ok", counts=counts)
