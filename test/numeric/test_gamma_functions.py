"""lgamma and digamma against scipy: values, poles, derivatives of two orders."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import ted
from ted.testing import check_grads

RNG = np.random.default_rng(0)
POSITIVE = np.concatenate([RNG.uniform(1e-3, 20, 2000), np.exp(RNG.uniform(-20, 300, 500))])
NEGATIVE = -(RNG.integers(0, 20, 1000) + RNG.uniform(0.05, 0.95, 1000))
REFERENCES = {"lgamma": scipy.special.gammaln, "digamma": scipy.special.psi}


def compiled(name: str, x: np.ndarray, order: int = 0) -> np.ndarray:
    """The function, or its derivative of an order, on an array."""
    inputs = [ted.placeholder(x.shape, x.dtype.name, name="x")]
    result = getattr(ted, name)(*inputs)
    for _ in range(order):
        (result,) = ted.differentiate(result, inputs, head=ted.ones(x.shape, x.dtype.name))
    return np.asarray(ted.compile(inputs, result)(x))


def assert_near(got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    errors = np.abs(got - expected) / np.maximum(1, np.abs(expected))
    worst = int(np.argmax(errors))
    assert errors[worst] < tolerance, f"{errors[worst]} for {expected[worst]}"


@pytest.mark.parametrize("name", REFERENCES)
def test_values_are_as_accurate_as_stated(name: str) -> None:
    assert_near(compiled(name, POSITIVE), REFERENCES[name](POSITIVE), 2e-14)
    # Left of 0, rounding of x itself is magnified near the poles.
    assert_near(compiled(name, NEGATIVE), REFERENCES[name](NEGATIVE), 1e-13)


@pytest.mark.parametrize("name", REFERENCES)
def test_single_precision_is_rounded_from_double(name: str) -> None:
    x = POSITIVE[POSITIVE < 1e30].astype(np.float32)
    expected = REFERENCES[name](x.astype(np.float64))
    assert_near(compiled(name, x), expected, 1.01 * 2.0**-24)


@pytest.mark.parametrize(("name", "order"), [("lgamma", 1), ("lgamma", 2), ("digamma", 1)])
def test_derivatives_are_polygamma_functions(name: str, order: int) -> None:
    n = order - (name == "lgamma")
    x = POSITIVE[(POSITIVE > 0.1) & (POSITIVE < 1e6)]
    got, expected = compiled(name, x, order), scipy.special.polygamma(n, x)
    assert_near(got, expected, 10.0 ** (order - 14))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_right_around_negative_halves(order: int) -> None:
    x = np.array([-0.5, -1.5, -2.5, -0.5 + 1e-10, -0.5 + 1e-6, -3.49, -0.75, -2.1])
    expected = [float(mpmath.polygamma(order, mpmath.mpf(value))) for value in x.tolist()]
    assert_near(compiled("digamma", x, order), np.array(expected), 1e-11)


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients_match_differences_on_both_sides_of_zero(name: str) -> None:
    x = np.array([-2.3, -0.6, 0.3, 0.5, 1.7, 7.99, 8.01, 30.0])
    check_grads(getattr(ted, name), [x], order=2)


def test_poles_and_ends() -> None:
    x = np.array([0.0, -1.0, -2.0, np.inf, np.nan, 1.0, 2.0])
    np.testing.assert_allclose(
        compiled("lgamma", x), [np.inf, np.inf, np.inf, np.inf, np.nan, 0, 0], atol=1e-14
    )
    np.testing.assert_allclose(
        compiled("digamma", x)[:5], [-np.inf, np.nan, np.nan, np.inf, np.nan], atol=1e-14
    )


def test_numbers_and_integers() -> None:
    assert ted.lgamma(5) == pytest.approx(math.lgamma(5), abs=2e-14)
    assert ted.digamma(1.0) == pytest.approx(-0.5772156649015329, abs=2e-14)
    assert compiled("lgamma", np.array([3, 4], np.int32)).dtype == np.float32
