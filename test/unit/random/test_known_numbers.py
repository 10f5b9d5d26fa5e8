"""Random numbers by the interpreter: some of those that JAX 0.10 draws of the same keys.

`test_random.py` and `test_rejection.py` compare all of them, compiled, with JAX itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ted import random
from ted.random import rejection
from unit.frontend.tracing import run
from unit.random.test_random import KEY, WORDS

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
