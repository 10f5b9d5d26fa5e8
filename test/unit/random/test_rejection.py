"""Numbers of the gamma distribution and made of those: JAX's, with the slopes of their shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma as distribution

import ted
from ted import random
from ted.errors import FrontendError

KEY = random.key(7)
A = np.array([0.3, 1.0, 2.5, 30.0], "f4")
LAM = np.array([0, 0.1, 2, 9.5, 10, 50, 1e4], "f4")
DRAWN: dict[str, Callable[..., Any]] = {
    "loggamma": lambda r, k: r.loggamma(k, A / 10, (30, 4)),
    "beta": lambda r, k: r.beta(k, A, 2.0, (30, 4)),
    "dirichlet": lambda r, k: r.dirichlet(k, A, (30,)),
    "chisquare": lambda r, k: r.chisquare(k, A),
    "t": lambda r, k: r.t(k, A, (30, 4)),
    "gamma": lambda r, k: r.gamma(k, A, (30, 4)),
    "poisson": lambda r, k: r.poisson(k, LAM, (30, 7)),
}


@pytest.mark.slow
def test_numbers_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    found = ted.function(lambda k: [f(random, k) for f in DRAWN.values()])(KEY)
    for (name, function), mine in zip(DRAWN.items(), found, strict=True):
        other = np.asarray(function(jax.random, KEY))
        assert mine.shape == other.shape, name
        np.testing.assert_allclose(mine, other, rtol=2e-5, err_msg=name)


@pytest.mark.slow
def test_slopes_in_a_shape_keep_the_share_of_all_below() -> None:
    a = np.maximum(A.astype("f8"), 0.8)

    def total(a: Any) -> Any:
        return ted.sum(random.gamma(KEY, a, dtype="float64"))

    slope = ted.grad(total)
    z, first, second = ted.function(
        lambda a: (random.gamma(KEY, a, dtype="float64"), slope(a), ted.grad(
            lambda a: ted.sum(slope(a)))(a))
    )(a)  # fmt: skip
    below, e = distribution.cdf(z, a), 1e-3
    up, down = (distribution.ppf(below, a + h) for h in (e, -e))
    np.testing.assert_allclose(first, (up - down) / (2 * e), rtol=1e-4)
    np.testing.assert_allclose(second, (up - 2 * z + down) / e**2, rtol=1e-3)


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "int64"])
def test_counts_that_their_type_does_not_hold_are_the_most_that_it_holds(kind: str) -> None:
    lam, most = np.array([0, 1e9, 1e30, np.inf, -1, np.nan]), np.iinfo(kind).max
    found = ted.function(lambda lam: random.poisson(KEY, lam, dtype=kind))(lam)
    none = most if kind == "uint8" else -1
    assert found[[0, 4, 5]].tolist() == [0, none, none]
    assert found[2:4].tolist() == [most, most]
    assert found[1] == most if kind in ("int8", "uint8") else abs(found[1] - 1e9) < 3e5


def test_counts_have_no_slope() -> None:
    slope = ted.grad(lambda lam: ted.sum(lam * ted.cast(random.poisson(KEY, lam), "float64")))
    lam = np.array([2.0, 20.0])
    np.testing.assert_array_equal(slope(lam), ted.function(lambda x: random.poisson(KEY, x))(lam))


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "shape": (lambda: random.gamma(KEY, A, (3,)), "random.gamma"),
    "scalar": (lambda: random.dirichlet(KEY, A[0]), "random.dirichlet: alpha"),
    "counts": (lambda: random.poisson(KEY, A, dtype="float32"), "must be one of integers"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, text = BAD[name]
    with pytest.raises(FrontendError, match=text):
        made()
