"""Functions with rare cases: accurate for every argument, whatever stands beside it.

Errors are at most 1 unit in the last place in f64 and 2 in f32, of exact values by mpmath or in
extended precision.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from unit.math.test_expand_math import TYPES, apply, ulps

LIMITS = {"f32": 2.0, "f64": 1.0}
WAVES = ("sin", "cos", "tan")
# The f32 that is closest to a multiple of pi/2, for its size.
NEAR_ZERO = 16367173 * 2.0**72


def some_of_every_size(kind: str, count: int) -> np.ndarray:
    """Finite numbers of random bits."""
    word = np.uint32 if kind == "f32" else np.uint64
    rng = np.random.default_rng(4)
    bits = rng.integers(0, np.iinfo(word).max, count, word)
    numbers = bits.view(TYPES[kind])
    return numbers[np.isfinite(numbers)]


def angles(kind: str) -> np.ndarray:
    """Ordinary ones, neighbours of multiples of pi/2, and both sides of where cases part."""
    rng = np.random.default_rng(5)
    limit = 2.0**17 if kind == "f32" else 2.0**30
    multiples = np.concatenate([np.arange(1, 4000), rng.integers(4000, int(limit), 4000)])
    near = (multiples * (np.pi / 2)).astype(TYPES[kind])
    parts = [
        near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), rng.uniform(-7, 7, 20000),
        limit + rng.uniform(-10, 10, 1000),
        np.ldexp(rng.uniform(1, 2, 4000), rng.integers(-30, 30, 4000)),
        [NEAR_ZERO, np.finfo(TYPES[kind]).max, np.finfo(TYPES[kind]).smallest_subnormal],
    ]  # fmt: skip
    found = np.concatenate(parts).astype(TYPES[kind])
    return np.concatenate([found, -found])


def exact(name: str, numbers: np.ndarray) -> np.ndarray:
    with mpmath.workdps(350 if numbers.dtype == np.float64 else 80):
        return np.array(
            [np.longdouble(str(getattr(mpmath, name)(float(v)))) for v in numbers], np.longdouble
        )


def assert_within(kind: str, got: np.ndarray, wanted: np.ndarray, x: np.ndarray) -> None:
    errors = ulps(got, wanted)
    worst = int(np.argmax(errors))
    assert errors[worst] <= LIMITS[kind], f"{errors[worst]:.3f} at {x[worst]!r}"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WAVES)
def test_waves_are_right_near_their_zeros_and_where_cases_part(name, kind):
    x = angles(kind)
    x = np.concatenate([x[:: len(x) // 3000], x[-3:]])
    assert_within(kind, apply(name, kind, x), exact(name, x), x)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WAVES)
def test_waves_are_right_for_numbers_of_every_size(name, kind):
    ordinary = angles(kind)
    for x in (some_of_every_size(kind, 2**20), ordinary[np.abs(ordinary) < 2.0**20]):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x.astype(np.longdouble))
        assert_within(kind, apply(name, kind, x), wanted, x)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WAVES)
def test_an_element_does_not_depend_on_its_neighbours(name, kind):
    x = np.random.default_rng(6).uniform(-50, 50, 67).astype(TYPES[kind])
    alone = apply(name, kind, x)
    for count in (1, 3, 35):  # in the remainder, and in vectors of any length
        np.testing.assert_array_equal(apply(name, kind, x[:count]), alone[:count])
    places = [(rare, k) for rare in (np.nan, np.inf, 1e9, 1e30) for k in range(67)]
    mixed = np.tile(x, (len(places), 1))
    for row, (rare, k) in zip(mixed, places, strict=True):
        row[k] = rare
    got = apply(name, kind, mixed.ravel()).reshape(mixed.shape)
    np.testing.assert_array_equal(np.where(mixed == x, got, alone), np.tile(alone, (len(got), 1)))
