"""Slopes where something on the way overflows or underflows, and value and slope do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted

Case = tuple[Callable[[Any], Any], str, float, float, "float | None"]


def _logistic(x: Any) -> Any:
    return 1 / (1 + ted.exp(-x))


def _bell(x: Any) -> Any:
    return 1 / (1 + x * x)


# Function, type, where, and what its first and second derivatives are there (None: below 8 units of
# the last place of a sum that cancels, or no number).
CASES: dict[str, Case] = {
    "asinh": (ted.asinh, "float32", 1e20, 1e-20, -1e-40),
    "asinh, f64": (ted.asinh, "float64", -1e155, 1e-155, 1e-310),
    "acosh": (ted.acosh, "float32", 1e20, 1e-20, -1e-40),
    "acosh, f64": (ted.acosh, "float64", 1e155, 1e-155, -1e-310),
    "asinh of exp": (lambda x: ted.asinh(ted.exp(x)), "float32", 50, 1, 0),
    "acosh of cosh": (lambda x: ted.acosh(ted.cosh(x)), "float32", 60, 1, None),
    "atan": (ted.atan, "float32", 1e10, 1e-20, -2e-30),
    "atan of exp": (lambda x: ted.atan(ted.exp(x)), "float32", 60, math.exp(-60), -math.exp(-60)),
    "log10": (ted.log10, "float32", 2e38, 1 / (2e38 * math.log(10)), 0),
    "asin near 0": (ted.asin, "float32", 1e-14, 1, 1e-14),
    "atanh near 0": (ted.atanh, "float64", 1e-200, 1, 2e-200),
    "logistic": (_logistic, "float32", -60, math.exp(-60), math.exp(-60)),
    "logistic, f64": (_logistic, "float64", -400, math.exp(-400), math.exp(-400)),
    "logistic far out": (_logistic, "float32", -100, 0, 0),
    "logistic far out, f64": (_logistic, "float64", -720, 0, 0),
    "1 / cosh": (lambda x: 1 / ted.cosh(x), "float32", 60, -2 * math.exp(-60), 2 * math.exp(-60)),
    "1 / cosh far out": (lambda x: 1 / ted.cosh(x), "float32", 100, 0, 0),
    "rsqrt of exp": (lambda x: ted.rsqrt(1 + ted.exp(x)), "float32", 60,
                     -math.exp(-30) / 2, math.exp(-30) / 4),
    "1 / sqrt of exp": (lambda x: 1 / ted.sqrt(1 + ted.exp(x)), "float32", 80,
                        -math.exp(-40) / 2, math.exp(-40) / 4),
    "bell": (_bell, "float32", 1e12, -2e-36, 0),
    "bell, f64": (_bell, "float64", -1e100, 2e-300, 0),
    "1 / x**4": (lambda x: 1 / (1 + x**4), "float32", 1e7, -4e-35, None),
    "1 / x**4 far out": (lambda x: 1 / (1 + x**4), "float32", 1e20, 0, None),
    "near a pole": (lambda x: 1 / (x * x), "float32", 1e-12, -2e36, None),
    "Gompertz": (lambda x: ted.exp(-ted.exp(x)), "float32", 100, 0, 0),
    "tanh of exp": (lambda x: ted.tanh(ted.exp(x)), "float32", 100, 0, 0),
    "erf of sinh": (lambda x: ted.erf(ted.sinh(x)), "float32", -100, 0, 0),
}  # fmt: skip


@pytest.mark.fast(8)
@pytest.mark.parametrize("whole", [False, True], ids=["scalars", "tensors"])
@pytest.mark.parametrize("name", CASES)
def test_slopes_are_right_where_something_on_the_way_is_not_finite(name: str, whole: bool) -> None:
    function, kind, at, first, second = CASES[name]
    x = ted.placeholder((1,), kind, name="x")
    results = [function(x) if whole else ted.vectorize(lambda v: function(v))(x)]
    for _ in range(2):
        results += ted.differentiate(results[-1], [x], head=ted.ones((1,), kind))
    found = ted.compile([x], results[1:])(np.array([at], kind))
    about = np.finfo(kind)
    for got, exact in zip(found, (first, second), strict=True):
        if exact is not None:
            np.testing.assert_allclose(
                got, exact, rtol=64 * about.eps, atol=8 * float(about.smallest_subnormal)
            )


def test_a_slope_is_not_lost_in_forward_mode() -> None:
    x, one = np.array([-60.0, -100.0], np.float32), np.ones(2, np.float32)
    found = ted.jvp(_logistic, (x,), (one,))[1]
    np.testing.assert_allclose(found, [math.exp(-60), 0], rtol=1e-5)


def test_what_is_infinite_itself_keeps_a_slope_that_says_so() -> None:
    slope = ted.grad(lambda x: ted.sum(ted.log(1 + ted.exp(x))))
    assert np.isnan(slope(np.array([100.0], np.float32))).all()
    pole = ted.grad(lambda x: ted.sum(1 / (1 + 1 / x)))  # has the limit 1 at 0
    assert np.isnan(pole(np.zeros(1))).all()
