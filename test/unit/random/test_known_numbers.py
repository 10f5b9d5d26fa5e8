"""Random numbers by the interpreter: some of those that JAX 0.10 draws of the same keys.

`test_random.py` and `test_rejection.py` compare all of them, compiled, with JAX itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import ted
from ted import random
from ted.random import rejection
from ted.random.inverse_erf import inverse_erf
from unit.frontend.tracing import run
from unit.random.test_random import KEY, WORDS

WORDS = {
    **WORDS,
    "truncated_normal": (lambda r, k: r.truncated_normal(k, -0.5, 1.5, (40,)), 0),
    "gumbel": (lambda r, k: r.gumbel(k, (40,)), 0),
}
KNOWN: dict[str, list[float]] = {
    "split": [1832780943, 270669613, 64467757, 2916123636, 2465931498],
    "split to a shape": [1832780943, 2916123636, 3134548294, 3276725750],
    "fold_in": [1128875147, 2463678267],
    "bits": [2098992034, 2516274904, 1504549425, 3515353000],
    "bits of 8": [162, 217, 249, 215, 21],
    "bits of 16": [5026, 12505, 63993, 49623, 29461],
    "uniform": [0.4887096, 0.590114, 0.0907712, 0.758673, 0.8276566],
    "one": [0.4887096],
    "half": [0.07617188, 0.6015625, 0.6103516, 0.7392578],
    "brain": [0.6328125, 0.1875, 0.2734375, 0.4765625],
    "between": [0.4435478, -0.248474, 0.02282786, 1.78004],
    "bernoulli": [0, 0, 1, 0],
    "bernoulli of a shape": [0, 0, 0, 1, 0],
    "exponential": [0.6708175, 2.18784, 0.8439871, 2.979222],
    "categorical": [1, 3, 3],
    "categorical of a shape": [2, 2, 1, 1],
    "randint": [7, 13, -3, 12],
    "randint of 8": [4, 142, 148, 86],
    "permutation": [35, 42, 20, 23],
    "permutation of rows": [0.7272727, 1.0, 0.1818182, 0.4545455],
    "permutation of columns": [0.1818182, 0.09090909, 0.3636364, 1.0],
    "cauchy": [-0.03548463, 2.719594, 0.2235508, 6.208629],
    "laplace": [0.02283965, -1.494693, -0.15084, -2.286075],
    "logistic": [-0.04516941, 2.068877, 0.281881, 2.927052],
    "maxwell": [0.5535825, 0.7544178, 1.787156, 1.336685, 2.053293],
    "rademacher": [1.0, -1.0, 1.0, -1.0, -1.0],
    "lognormal": [0.9720922, 1.215824, 0.1078717, 5.232322],
    "pareto": [1.955836, 1.0516, 13.49189, 1.050812],
    "rayleigh": [0.5983256, 0.3164681, 0.3739675, 0.9822406],
    "weibull_min": [1.006226, 1.287481, 0.2872957, 2.013042],
    "geometric": [7, 2, 4, 1],
    "multivariate_normal": [-0.03011791, 0.5944808, 0.5975222],
    "choice": [4, 9, 17, 6, 5],
    "choice without": [0.1818182, 0.0, 0.6363636, 0.9090909, 0.7272727],
    "choice by weights": [8, 3, 9, 7, 7],
    "choice by weights without": [11, 9, 7, 8, 10],
    "truncated_normal": [0.2892698, 0.06862897, 0.1541431, 0.7748365],
    "normal": [-0.02830462, -0.1327632, -0.4204429, 0.186882],
    "gumbel": [0.3340934, -0.04779019, 0.09988504, 1.274025],
}
A, LAM, KEY_7 = np.array([0.3, 2.5], "f4"), np.array([0, 2, 50], "f4"), random.key(7)
TRIED: dict[str, Callable[..., Any]] = {
    "loggamma": lambda k: random.loggamma(k, A / 10),
    "beta": lambda k: random.beta(k, A, 2.0),
    "dirichlet": lambda k: random.dirichlet(k, A, (2,)),
    "chisquare": lambda k: random.chisquare(k, A),
    "t": lambda k: random.t(k, A, (2, 2)),
    "gamma": lambda k: random.gamma(k, A),
    "poisson": lambda k: random.poisson(k, LAM, (2, 3)),
}
ACCEPTED: dict[str, list[float]] = {
    "loggamma": [-146.27, -2.105408],
    "beta": [0.001258527, 0.5184746],
    "dirichlet": [4.657281e-07, 0.9999995, 1.630005e-05, 0.9999837],
    "chisquare": [4.406247e-13, 0.7269256],
    "t": [1.139892, 0.1531084, -9031.372, -0.8573719],
    "gamma": [5.715881e-07, 1.227299],
    "poisson": [0, 1, 33, 0, 1],
}


def some(numbers: Any) -> Any:
    """Those that the tables hold."""
    flat = np.ravel(numbers)
    return flat[:: max(1, flat.size // 4)][:5]


def check(names: Any, found: list[Any], known: dict[str, list[float]], far: float) -> None:
    for name, numbers in zip(names, found, strict=True):
        np.testing.assert_allclose(
            some(numbers).astype("f8"), known[name], rtol=far, atol=1e-6, err_msg=name
        )


def test_words_and_numbers_are_those_of_jax() -> None:
    found = run(lambda k: [WORDS[name][0](random, k) for name in KNOWN], KEY)
    check(KNOWN, found, KNOWN, 1e-5)


def test_numbers_that_are_tried_are_those_of_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection, "_TRIES", 2)  # the interpreter makes every try
    monkeypatch.setattr(rejection, "_PAIRS", 3)
    found = run(lambda k: [f(k) for f in TRIED.values()], KEY_7)
    check(TRIED, found, ACCEPTED, 2e-5)


def test_what_is_as_likely_as_a_number_is_below_it_never() -> None:
    below, never, always = run(
        lambda k: [
            random.bernoulli(k, random.uniform(k, (50,))), random.bernoulli(k, 0.0, (50,)),
            random.bernoulli(k, 1.0, (50,)),
        ],
        KEY,
    )  # fmt: skip
    assert not below.any()
    assert not never.any()
    assert always.all()


def test_what_is_left_out_is_what_the_names_say() -> None:
    logits = np.linspace(-1, 2, 12, dtype="f4").reshape(2, 3, 2)
    found = run(
        lambda k: [
            random.bernoulli(k, shape=(20,)), random.bernoulli(k, 0.5, (20,)),
            random.gumbel_softmax(k, logits), random.gumbel_softmax(k, logits, 1.0, False, 2),
            random.uniform(k, (9,)), random.uniform(k, (9,), "float32", 0.0, 1.0),
        ],
        KEY,
    )  # fmt: skip
    for default, said in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_array_equal(default, said)
    for shape, wanted in ((None, (2,)), ((3, 4), (3, 4, 2))):
        assert random.dirichlet(ted.asarray(KEY), A, shape).shape == wanted


def test_numbers_of_64_bits_are_made_of_both_words() -> None:
    found = run(lambda k: [random.normal(k, (5,), "float64"), random.uniform(k, (5,), "float64"),
                           random.exponential(k, (5,), "float64")], KEY)  # fmt: skip
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        drawn = (jax.random.normal, jax.random.uniform, jax.random.exponential)
        wanted = [f(KEY, (5,), "float64") for f in drawn]
    for one, other in zip(found, map(np.asarray, wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "far"), [("float32", 1e-5), ("float64", 1e-9)])
def test_the_inverse_of_the_error_function_is_that_of_scipy(dtype: str, far: float) -> None:
    ends = 1 - np.logspace(-16 if dtype == "float64" else -7, -1, 80)
    u = np.concatenate([np.linspace(-0.999, 0.999, 500), ends, -ends]).astype(dtype)
    np.testing.assert_allclose(run(inverse_erf, u), special.erfinv(u.astype("f8")), rtol=far)


def test_orders_of_many_are_sorted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts: list[int] = []
    monkeypatch.setattr(ted, "argsort", lambda x: sorts.append(x.shape[0]) or ted.arange(*x.shape))
    for count in (1, 2, 1625, 1626, 2048, 5000):
        random.permutation(KEY, count)
    assert sorts == [2, 1625, 1626, 1626, 2048, 2048, 5000, 5000]  # as JAX, from 2^(32 / 3) on


# ------------------------------------------------------------------ counts of many events


def tried(u: np.ndarray, v: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """What a try makes of two uniform numbers (Hoermann, 1993); -1 where it is refused."""
    b = 0.931 + 2.53 * np.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse, most = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    u = u - 0.5
    side = 0.5 - np.abs(u)
    k = np.floor((2 * a / side + b) * u + lam + 0.43)
    with np.errstate(all="ignore"):
        density = k * np.log(lam) - lam - special.gammaln(k + 1)
        below = np.log(v * inverse / (a / side**2 + b)) <= density
    outside = (k < 0) | ((side < 0.013) & (v > side))
    return np.where(((side >= 0.07) & (v <= most)) | (~outside & below), k, -1)


def test_many_events_are_counted_by_transformed_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    edge = np.geomspace(1e-5, 0.5, 40)
    grid = np.meshgrid([*edge, *(1 - edge)], np.geomspace(1e-9, 1, 40), [4.0, 10.0, 1e3, 1e5])
    u, v, lam = (part.ravel() for part in grid)
    expected = tried(u, v, lam)

    def once(u: Any, v: Any, lam: Any) -> Any:
        numbers = iter([u, v])
        monkeypatch.setattr(rejection, "uniform", lambda *_: next(numbers))
        return rejection._tried(ted.asarray(KEY_7), lam)

    monkeypatch.setattr(ted, "while_loop", lambda test, step, start, most: step(start))
    np.testing.assert_array_equal(run(once, u, v, lam), expected)
    assert (expected == 0).any()
    assert 0.2 < (expected < 0).mean() < 0.8


def test_the_slope_of_a_number_is_that_of_its_share() -> None:
    a, x = np.array([0.5, 1.5, 4.0]), np.array([0.3, 1.2, 5.0])
    found, of_log = run(
        lambda a, x: [rejection._slope(a, x, False), rejection._slope(a, ted.log(x), True)], a, x
    )
    step = 1e-6
    share = special.gammainc(a, x)
    moved = [special.gammaincinv(a + h, share) for h in (step, -step)]
    np.testing.assert_allclose(found, (moved[0] - moved[1]) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(of_log, found / x, rtol=1e-12)
