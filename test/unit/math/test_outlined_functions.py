"""Functions with rare cases: accurate for every argument, whatever stands beside it.

Errors are at most 1 unit in the last place in f64 and 2 in f32, of exact values by mpmath or in
extended precision.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import ted
from ted.api.host import host_cpu
from ted.math.ted_outline_math import MANY
from unit.math.test_expand_math import TYPES, apply, ulps

LIMITS = {"f32": 2.0, "f64": 1.0}
WAVES = ("sin", "cos", "tan")
# The numbers of each format that are closest to multiples of pi/2, for their size. Source of the
# second: J.-M. Muller, Elementary Functions, worst cases for range reduction. The C library errs by
# 8 units there, and computes f64 where processors have no fused operations.
NEAR_ZERO = {"f32": 16367173 * 2.0**72, "f64": 6381956970095103 * 2.0**797}


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
    limit = 2.0**17 if kind == "f32" else 2.0**24
    multiples = np.concatenate([np.arange(1, 4000), rng.integers(4000, int(limit), 4000)])
    near = (multiples * (np.pi / 2)).astype(TYPES[kind])
    parts = [
        near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), rng.uniform(-7, 7, 20000),
        limit + rng.uniform(-10, 10, 1000),
        np.ldexp(rng.uniform(1, 2, 4000), rng.integers(-30, 30, 4000)),
        [NEAR_ZERO[kind] if host_cpu().fuses else 0],
        [np.finfo(TYPES[kind]).max, np.finfo(TYPES[kind]).smallest_subnormal],
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


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WAVES)
def test_waves_are_right_near_their_zeros_and_where_cases_part(name, kind):
    x = angles(kind)
    x = np.concatenate([x[:: len(x) // 3000], x[-3:]])
    assert_within(kind, apply(name, kind, x), exact(name, x), x)


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WAVES)
def test_waves_are_right_for_numbers_of_every_size(name, kind):
    ordinary = angles(kind)
    for x in (some_of_every_size(kind, 2**20), ordinary[np.abs(ordinary) < 2.0**20]):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x.astype(np.longdouble))
        assert_within(kind, apply(name, kind, x), wanted, x)


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", [*WAVES, "powf", "arith.remf"])
def test_an_element_does_not_depend_on_its_neighbours(name, kind):
    x = np.random.default_rng(6).uniform(-50, 50, 67).astype(TYPES[kind])
    others = np.random.default_rng(7).uniform(0.5, 3, (1 if name in WAVES else 2, 67))[1:]

    def at(x: np.ndarray) -> np.ndarray:
        return apply(name, kind, x, *(np.resize(y, x.shape).astype(x.dtype) for y in others))

    alone = at(x)
    for count in (1, 3, 35):  # in the remainder, and in vectors of any length
        np.testing.assert_array_equal(at(x[:count]), alone[:count])
    places = [(rare, k) for rare in (np.nan, np.inf, 1e9, 1e30) for k in range(67)]
    mixed = np.tile(x, (len(places), 1))
    for row, (rare, k) in zip(mixed, places, strict=True):
        row[k] = rare
    got = at(mixed.ravel()).reshape(mixed.shape)
    np.testing.assert_array_equal(np.where(mixed == x, got, alone), np.tile(alone, (len(got), 1)))


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["tanh", "log", "exp", "erf", "atan"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_bits_are_the_same_alone_and_among_many_uses(name, kind):
    function = getattr(ted, name)
    x = ted.placeholder((43,), kind, name="x")
    numbers = np.random.default_rng(8).uniform(0.01, 4, 43).astype(kind)
    many = ted.compile([x], [function(x * (1 + k)) for k in range(MANY)])(numbers)
    for k in (0, 5):
        alone = ted.compile([x], function(x * (1 + k)))(numbers)
        np.testing.assert_array_equal(many[k], alone)


def pairs_of(numbers: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.meshgrid(numbers, others)
    return first.ravel(), second.ravel()


def special_numbers(kind: str) -> np.ndarray:
    limits = np.finfo(TYPES[kind])
    sizes = [0, 1, 3, limits.smallest_subnormal, limits.tiny, limits.max, np.inf, np.nan]
    return np.array([*sizes, *(-v for v in sizes)], TYPES[kind])


def assert_same_with_zeros(got: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(got, wanted)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("kind", TYPES)
def test_remainders_are_exact_for_all_quotients(kind):
    rng = np.random.default_rng(3)
    random = some_of_every_size(kind, 2 * 10**5)
    near = (rng.integers(1, 50, (2, 20000)) * rng.choice([0.1, 0.25, 3.0], 20000)).astype(
        TYPES[kind]
    )
    next_to = np.array([np.nextafter(near[0], 0), near[0]]), np.array([near[0], near[0] * 7])
    half = len(random) // 2
    cases = [(random[:half], random[half : 2 * half]), near, *next_to]
    cases.append(pairs_of(special_numbers(kind), special_numbers(kind)))
    x, y = (np.concatenate(parts) for parts in zip(*cases, strict=True))
    with np.errstate(all="ignore"):
        assert_same_with_zeros(apply("arith.remf", kind, x, y), np.fmod(x, y))


@pytest.mark.parametrize("kind", TYPES)
def test_special_powers_are_those_of_ieee(kind):
    bases = [0.0, 1.0, 2.0, 0.5, 3.7, 1e-40, 1e-310, np.inf, np.nan]
    exponents = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, np.inf, np.nan, 127.0, 1e20, 1e-30, 1e17]
    x, y = pairs_of(
        np.array(bases + [-v for v in bases]), np.array(exponents + [-v for v in exponents])
    )
    x, y = x.astype(TYPES[kind]), y.astype(TYPES[kind])
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.longdouble), y.astype(np.longdouble)).astype(TYPES[kind])
    got = apply("powf", kind, x, y)
    np.testing.assert_allclose(got, wanted, rtol=float(np.finfo(TYPES[kind]).eps))
    exact = (wanted == 0) | np.isinf(wanted) | np.isnan(wanted) | (np.abs(wanted) == 1)
    assert_same_with_zeros(got[exact], wanted[exact])


@pytest.mark.parametrize("kind", TYPES)
def test_powers_are_right_for_results_of_every_size(kind):
    rng = np.random.default_rng(7)
    most = 100 if kind == "f32" else 740
    bases = np.concatenate(
        [
            np.exp(rng.uniform(-most, most, 10**5) * 0.85), rng.uniform(0.5, 2, 10**5),
            1 + rng.uniform(-1, 1, 10**5) * 10.0 ** rng.uniform(-12, -1, 10**5),
        ]
    ).astype(TYPES[kind])  # fmt: skip
    bases = bases[bases != 1]
    results = rng.uniform(-most, most, len(bases))
    with np.errstate(all="ignore"):
        y = (results / np.log(bases.astype(np.float64))).astype(TYPES[kind])
        wanted = np.power(bases.astype(np.longdouble), y.astype(np.longdouble))
    with np.errstate(over="ignore"):
        assert_within(kind, apply("powf", kind, bases, y), wanted, bases)
