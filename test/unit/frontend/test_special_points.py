"""Functions at zeros with a sign, infinities and counts of nothing give what others give there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import ted
from unit.frontend.tracing import run

INF = np.inf


def test_gamma_functions_are_those_of_scipy_at_poles_and_ends() -> None:
    x = np.array([0.0, -0.0, -1.0, -2.5, INF, -INF, -1e306, np.nan])
    log, slope = run(lambda x: [ted.lgamma(x), ted.digamma(x)], x)
    below = x == -INF  # where scipy has -infinity, C and torch infinity
    np.testing.assert_allclose(
        log, np.where(below, INF, special.gammaln(x)), rtol=1e-14, atol=1e-14
    )
    np.testing.assert_allclose(slope, special.digamma(x), rtol=1e-13)


@pytest.mark.parametrize("correction", [3, 5])
def test_a_variance_of_too_few_points_is_infinite(correction: int) -> None:
    x = np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0]])
    (found,) = run(lambda x: [ted.var(x, 0, correction=correction)], x)
    np.testing.assert_array_equal(found, [INF, np.nan])


def test_systems_of_halves_are_solved_in_f32() -> None:
    a = np.array([[1.0, 1.0], [1.0, 1.001]]).astype(np.float16)
    b = np.array([3.0, 2.998]).astype(np.float16)
    x, inverse, volume, sign, log = run(
        lambda a, b: [f(a) for f in (lambda a: ted.linalg.solve(a, b), ted.linalg.inv,
                                     ted.linalg.det, ted.linalg.slogdet)], a, b,
    )  # fmt: skip
    wide = a.astype(np.float64)
    for one, other in (
        (x, np.linalg.solve(wide, b.astype(np.float64))), (inverse, np.linalg.inv(wide)),
        (volume, np.linalg.det(wide)), (sign, 1), (log, np.linalg.slogdet(wide)[1]),
    ):  # fmt: skip
        assert one.dtype == np.float16
        np.testing.assert_allclose(one, other, rtol=2**-10)
