"""Values of every function of `ted.special` at few points, its ends among them, against scipy.

What needs many points, or derivatives, is in `test/numeric/test_special_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import scipy.special

import ted
from ted import special
from unit.frontend.tracing import run

INF, NAN = np.inf, np.nan
ENDS = (0.0, -1.0, INF, -INF, NAN)
A = (0.3, 1.0, 2.5, 7.5, 30.0, 30.0, 300.0, 200.0, 0.7, 9.0, 0.0, 0.0, 2.0, 2.0, INF, 3.0, -1.0)
X = (0.6, 1.0, 9.0, 2.0, 25.0, 90.0, 250.0, 230.0, 60.0, 9.0, 2.0, 0.0, 0.0, INF, 2.0, -1.0, 2.0)
BETA = (
    (0.3, 2.5, 7.9, 30.0, 2.0, 1.0, 0.5, 2.0, 2.0, 2.0, -1.0, 2.0, 40.0),
    (0.6, 2.0, 9.0, 2.5, 30.0, 1.0, 9.0, 3.0, 3.0, 3.0, 2.0, -1.0, 60.0),
    (0.1, 0.4, 0.9, 0.95, 0.01, 0.5, 0.25, 0.0, 1.0, -0.5, 0.5, 0.5, 0.38),
)
P = (1e-300, 1e-30, 1e-12, 0.01, 0.074, 0.076, 0.2, 0.25, 0.3, 0.5, 0.7, 0.75, 0.93, 0.9999)
LOG_Y = ((0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, NAN, 1.0, 0.0),
         (0.0, INF, 0.5, -2.0, NAN, 0.0, 3.0, 1.0, INF, -1.0))  # fmt: skip
ENTROPY = ((0.0, 0.0, 2.0, 2.0, 3.0, 1.0, -1.0, 1.0, NAN, 1.0, 1e-5, 4.0),
           (0.0, 2.0, 2.5, 9.0, 1.0, 0.0, 1.0, -1.0, 1.0, NAN, 1.0, 2.0))  # fmt: skip
ROOTS = (0.3, 1.5, 4.9, 5.1, 7.7, 8.3, 24.0, 30.0, 0.0, INF, NAN)
COMB = ((5.0, 5.0, 5.0, 5.0, 50.5, 0.0, 40.0, 3.0, 6.0),
        (0.0, 2.0, 5.0, 6.0, 3.5, 0.0, 17.0, -1.0, 3.0))  # fmt: skip
GAMMA = (
    0.25,
    0.5,
    0.75,
    3.0,
    7.5,
    8.5,
    120.0,
    130.0,
    171.0,
    172.5,
    -0.5,
    -1.5,
    -2.75,
    -100.5,
    *ENDS,
)

CASES: dict[str, tuple[tuple[float, ...], ...]] = {
    "gammainc": (A, X),
    "gammaincc": (A, X),
    "betainc": BETA,
    "betaln": ((0.3, 9.0, 7.0, 1e5, 2.0), (0.6, 0.5, 7.5, 3.0, 1e8)),
    "beta": ((0.3, 2.0, 9.0), (0.6, 3.0, 7.5)),
    "exp1": ((1e-5, 0.5, 0.99, 1.0, 1.5, 20.0, 300.0, *ENDS),),
    "zeta": ((2.0, 1.5, 3.0, 30.0, 1.0, 2.0, 2.0, INF, 0.5, NAN, INF),
             (1.0, 0.3, 20.0, 2.0, 1.0, 0.0, INF, 1.0, 1.0, 1.0, 0.5)),
    "ndtri": ((*P, 1.0, 2.0, *ENDS),),
    "erfinv": ((*P, -0.3, -0.99, -1e-9, 1.0, 2.0, *ENDS),),
    "erfcinv": ((*P, 1.3, 1.99, 2.0, 2.5, *ENDS),),
    "ndtr": ((-30.0, -2.0, 0.5, 7.0, *ENDS),),
    "log_ndtr": ((-1000.0, -20.5, -19.5, -2.0, 0.5, 7.0, *ENDS),),
    "erfcx": ((-3.0, 0.5, 11.9, 12.1, 25.0, 1e5, *ENDS[:3], NAN),),
    **dict.fromkeys(("i0e", "i1e"), ((*ROOTS, -3.0, -20.0),)),
    "xlogy": LOG_Y,
    "xlog1py": (LOG_Y[0], tuple(y - 1 for y in LOG_Y[1])),
    "entr": ((0.3, 1.0, 5.0, *ENDS),),
    "rel_entr": ENTROPY,
    "logit": ((*P, 1.0, 1.5, *ENDS),),
    "factorial": ((0.0, 1.0, 5.0, 20.0, 127.5, 160.0, 170.0, -1.0, INF, NAN),),
    "gamma": (GAMMA,),
    "comb": COMB,
}  # fmt: skip
# Relative errors of functions that are integrals or sums of large numbers.
FAR = {"gammainc": 1e-12, "gammaincc": 1e-12, "betainc": 1e-12, "gamma": 2e-13, "factorial": 3e-14,
       "erfcx": 1e-13, "exp1": 2e-13, "comb": 2e-13, "beta": 2e-14, "ndtr": 3e-14}  # fmt: skip


@np.vectorize
def log_beta(a: float, b: float) -> float:
    """By more digits: scipy's is a difference of large numbers."""
    with mp.workdps(40):
        return float(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(mp.mpf(a) + mp.mpf(b)))


ORACLES: dict[str, Callable[..., Any]] = {"betaln": log_beta}


def test_values_are_those_of_scipy_also_at_the_ends() -> None:
    arrays = [np.array(column) for columns in CASES.values() for column in columns]

    def program(*tensors: Any) -> list[Any]:
        given = iter(tensors)
        return [
            getattr(special, name)(*(next(given) for _ in columns))
            for name, columns in CASES.items()
        ]

    found = run(program, *arrays)
    for (name, columns), mine in zip(CASES.items(), found, strict=True):
        with np.errstate(all="ignore"):
            known = (ORACLES.get(name) or getattr(scipy.special, name))(*map(np.array, columns))
        np.testing.assert_allclose(mine, known, rtol=FAR.get(name, 5e-15), err_msg=name)


def test_where_scipy_has_no_limit_or_no_nan() -> None:
    found = run(
        lambda x, y: [special.zeta(y, x), special.comb(x, y), special.betainc(x + 1, 0 * x, 0.5)],
        np.array([2.0, NAN, 3.0]), np.array([INF, 1.0, NAN]),
    )  # fmt: skip
    np.testing.assert_array_equal(found, [[0, NAN, NAN], [0, NAN, NAN], [NAN, NAN, NAN]])


SLOPES: dict[str, tuple[tuple[float, ...], Callable[[Any], Any]]] = {
    "gamma": ((0.25, 3.0, 120.0, 150.5, 165.0, -1.5),
              lambda x: scipy.special.gamma(x) * scipy.special.digamma(x)),
    "factorial": ((5.0, 150.0),
                  lambda n: scipy.special.gamma(n + 1) * scipy.special.digamma(n + 1)),
    "exp1": ((0.5, 0.99, 1.5, 30.0), lambda x: -np.exp(-x) / x),
    "erfcx": ((-3.0, 0.5, 11.9, 12.1, 25.0),
              lambda x: 2 * x * scipy.special.erfcx(x) - 2 / np.sqrt(np.pi)),
    "ndtri": (P[2:],
              lambda p: np.sqrt(2 * np.pi) * np.exp(scipy.special.ndtri(p) ** 2 / 2)),
    "entr": ((0.3, 5.0), lambda x: -np.log(x) - 1),
    "logit": (P[1:], lambda p: 1 / (p * (1 - p))),
    "log_ndtr": ((-30.0, -2.0, 0.5),
                 lambda x: np.exp(-x * x / 2 - scipy.special.log_ndtr(x)) / np.sqrt(2 * np.pi)),
    "gammaincc": ((0.5, 2.0, 7.0, 90.0), lambda x: -np.exp(-x)),
}  # fmt: skip


def test_slopes_are_those_of_closed_forms() -> None:
    def program(*tensors: Any) -> list[Any]:
        found = []
        for name, x in zip(SLOPES, tensors, strict=True):
            function = getattr(special, name)
            y = function(ted.ones_like(x), x) if name == "gammaincc" else function(x)
            found += ted.differentiate(ted.sum(y), [x])
        return found

    arrays = [np.array(points) for points, _ in SLOPES.values()]
    for name, x, found in zip(SLOPES, arrays, run(program, *arrays), strict=True):
        np.testing.assert_allclose(found, SLOPES[name][1](x), rtol=1e-11, err_msg=name)


def test_derivatives_of_the_digamma_function_on_both_sides_of_zero() -> None:
    x = np.array([0.4, 3.0, 12.5, -0.3, -2.6])
    found = run(lambda x: [special.polygamma(n, x) for n in range(4)], x)
    with mp.workdps(30):
        wanted = [[float(mp.polygamma(n, mp.mpf(v))) for v in x] for n in range(4)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
