"""`ted.special` against scipy on wide ranges and at ends, its derivatives against mpmath."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import ted
from sweeps import swept
from ted import special
from ted.errors import FrontendError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
N = 400
ENDS = np.array([0.0, -0.0, 1.0, 0.5, 2.0, -1.0, -0.5, np.inf, -np.inf, np.nan, 1e-300, 1e300])
PAIRS = [a.ravel() for a in np.meshgrid([*ENDS[[0, 2, 3, 5, 7, 9]], 7.0], ENDS)]


def _mixed(*parts: Array) -> Array:
    return np.concatenate([*parts, ENDS])


A = np.exp(RNG.uniform(np.log(1e-3), np.log(1e5), N))
X = np.where(np.arange(N) % 2, A * np.exp(RNG.normal(size=N) * 3 / np.sqrt(A + 1)),
             np.exp(RNG.uniform(-20, 12, N)))  # fmt: skip
SIGN = np.where(np.arange(N) % 3, 1, -1)
REAL = np.concatenate([RNG.uniform(-30, 30, N), SIGN * 10 ** RNG.uniform(-8, 2.8, N)])
PART = np.concatenate([RNG.uniform(0, 1, N), 10 ** RNG.uniform(-300, 0, N)])
ROUND = np.concatenate([RNG.uniform(-1, 1, N), SIGN * (1 - 10 ** RNG.uniform(-15, 0, N))])
ABOVE = 1 + 10 ** RNG.uniform(-6, 1.8, N)
WIDE = np.exp(RNG.uniform(-12, 9, N))
BOTH = (np.concatenate([A, PAIRS[0]]), np.concatenate([X, PAIRS[1]]))
LEFT = -(RNG.integers(0, 20, 50) + RNG.uniform(0.02, 0.98, 50))
COUNTS = [x.ravel() for x in np.meshgrid(np.arange(0, 90.0, 7), np.arange(-2, 50.0, 3))]
SHAPES = 10 ** RNG.uniform(-2, 3, (2, N))
SHARES = np.concatenate([RNG.beta(*SHAPES[:, 2:]), [0.0, 1.0]])
LARGE = 10 ** RNG.uniform(3, 5, (2, N))
# At these, the derivatives: a and x, probabilities, reals.
DA = np.array([0.3, 2.5, 7.9, 30.0, 200.0, 5.0])
DX = np.array([0.6, 2.0, 9.0, 25.0, 230.0, 0.01])
DP = np.array([1e-12, 0.01, 0.07, 0.2, 0.9, 0.9999])
DR = np.array([-30.0, -6.0, -0.7, 0.4, 3.3, 24.0])
DQ = np.array([0.3, 2.2, 0.01, 7.0, 30.0, 1000.0])
DZ = np.array([1.01, 1.5, 5.0, 12.0, 30.0, 3.0])


@dataclass(frozen=True)
class Row:
    """A function: arguments, scipy's where of another name, mpmath's, where it is differentiated.

    `far` is the relative error that it may have, `absolute` what it may be off near its zeros.
    """

    args: tuple[Array, ...]
    exact: Callable[..., Any] | None = None
    at: tuple[Array, ...] = ()
    far: float = 5e-15
    absolute: float = 0.0
    mine: Callable[..., Any] | None = None
    scipy: Callable[..., Any] | None = None


def _phi(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


@np.vectorize
def _log_beta(a: float, b: float) -> float:
    return float(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(mp.mpf(a) + mp.mpf(b)))


ROWS: dict[str, Row] = {
    "gammainc": Row(BOTH, lambda a, x: mp.gammainc(a, 0, x, True), (DA[:4], DX[:4]), 2e-11),
    "gammaincc": Row(BOTH, far=2e-11, absolute=2e-16),
    "betainc": Row((*SHAPES, SHARES), lambda a, b, x: mp.betainc(a, b, 0, x, True),
                   (DA[:4], DQ[:4], DP[1:5]), 5e-12),
    "betainc of large": Row((*LARGE, RNG.beta(*LARGE)), far=2e-9, mine=special.betainc,
                            scipy=scipy.special.betainc),
    # scipy's are differences of large numbers.
    "betaln": Row((A, X), lambda a, b: mp.log(mp.beta(a, b)), (DA, DX), 2e-14, 2e-15,
                  scipy=lambda a, b: _log_beta(a, b)),
    "beta": Row((A[A < 9], X[A < 9]), far=5e-14, scipy=lambda a, b: np.exp(_log_beta(a, b))),
    "exp1": Row((_mixed(X),), mp.e1, (DX,), 2e-13),
    "zeta": Row((np.concatenate([ABOVE, [1, 1, 2, 2, np.inf, np.nan, 0.5]]),
                 np.concatenate([WIDE, [1, 0, 0, np.inf, 2, 1, 1]])), mp.zeta, (DZ, DQ)),
    "ndtri": Row((_mixed(PART),), lambda p: -mp.sqrt(2) * mp.erfinv(1 - 2 * p), (DP,)),
    "erfinv": Row((_mixed(ROUND),), mp.erfinv, (2 * DP - 1 + 1e-6 * (DP < 1e-9),)),
    "erfcinv": Row((_mixed(2 * PART),), lambda p: mp.erfinv(1 - p), (2 * DP,)),
    "ndtr": Row((_mixed(REAL),), _phi, (DR - 20 * (DR > 20),), 3e-13),
    "log_ndtr": Row((_mixed(REAL),), lambda x: mp.log(_phi(x)), (DR - 20 * (DR > 20),), 3e-13),
    "erfcx": Row((_mixed(REAL[REAL > -20]),), lambda x: mp.exp(x * x) * mp.erfc(x),
                 (abs(DR),), 2e-13),
    "i0": Row((_mixed(REAL),), lambda x: mp.besseli(0, x), (DR,), 2e-14),
    "i0e": Row((_mixed(REAL),), lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (DR,)),
    "i1": Row((_mixed(REAL),), lambda x: mp.besseli(1, x), (DR,), 2e-14),
    "i1e": Row((_mixed(REAL),), lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (DR,)),
    "j0": Row((_mixed(REAL),), lambda x: mp.besselj(0, x), (DR + 2,), 0, 2e-15),
    "j1": Row((_mixed(REAL),), lambda x: mp.besselj(1, x), (DR + 2,), 0, 2e-15),
    "xlogy": Row(BOTH, lambda x, y: x * mp.log(y), (DA, DX)),
    "xlog1py": Row(BOTH, lambda x, y: x * mp.log1p(y), (DA, DX)),
    "entr": Row((_mixed(X),), lambda x: -x * mp.log(x), (DX,)),
    "rel_entr": Row(BOTH, lambda x, y: x * mp.log(x / y), (DA, DX), 2e-14),
    "logit": Row((_mixed(PART),), lambda p: mp.log(p) - mp.log(1 - p), (DP,)),
    "polygamma": Row((WIDE,), lambda x: mp.polygamma(3, x), (DQ,),
                     mine=lambda x: special.polygamma(3, x),
                     scipy=lambda x: scipy.special.polygamma(3, x)),
    "polygamma left": Row((LEFT,), lambda x: mp.polygamma(2, x), (LEFT[:6],), 2e-13,
                          mine=lambda x: special.polygamma(2, x),
                          scipy=lambda x: np.array([float(mp.polygamma(2, v)) for v in x])),
    "gamma": Row((np.concatenate([A[A < 171], LEFT, [0.0, -0.0, -1, np.inf, np.nan, 200]]),),
                 mp.gamma, (np.concatenate([DX[:4], LEFT[:2], [150.5, 165]]),), 2e-13),
    "factorial": Row((np.concatenate([np.arange(171.0), [-1, np.inf, np.nan]]),), far=3e-14),
    "comb": Row((COUNTS[0], COUNTS[1]), mp.binomial, (DA + 2, DX[::-1] / 99), 2e-13),
    "multigammaln": Row((A + 1,), far=2e-14, mine=lambda x: special.multigammaln(x, 3),
                        scipy=lambda x: np.array([scipy.special.multigammaln(v, 3) for v in x])),
}  # fmt: skip


def traced(name: str, *tensors: Any) -> Any:
    return (ROWS[name].mine or getattr(special, name))(*tensors)


def compiled(programs: list[tuple[Callable[..., Any], tuple[Array, ...]]]) -> list[Array]:
    """All results of functions on arrays, of one program."""
    inputs, outputs = [], []
    for function, arrays in programs:
        own = [ted.placeholder(a.shape, a.dtype.name) for a in arrays]
        inputs += own
        outputs += function(*own)
    return ted.compile(inputs, outputs)(*(a for _, arrays in programs for a in arrays))


LIMITS = {"zeta": [0], "i0": [np.inf] * 2, "i1": [np.inf, -np.inf], "j0": [0, 0], "j1": [0, 0]}


def compare(name: str, found: Array, row: Row) -> None:
    with np.errstate(all="ignore"), mp.workdps(30):
        known = (row.scipy or getattr(scipy.special, name))(*row.args)
    if name in ("i0", "i1"):  # scipy's are infinite a little too early
        found = np.where(np.isinf(known), known, found)
    if name in LIMITS:  # scipy's are NaN at infinity
        at_end = np.isinf(row.args[0])
        np.testing.assert_array_equal(found[at_end], LIMITS[name], name)
        known = np.where(at_end, found, known)
    # Where it is NaN or infinite, at once; what is subnormal is near enough to 0.
    same = np.isfinite(known) & (np.abs(known) > 1e-300)
    tiny = np.abs(known) <= 1e-300
    np.testing.assert_array_equal(found[~same & ~tiny], known[~same & ~tiny], name)
    np.testing.assert_allclose(found[tiny], known[tiny], atol=1e-300, err_msg=name)
    np.testing.assert_allclose(
        found[same], known[same], rtol=row.far, atol=row.absolute, err_msg=name
    )


KIN = (
    "betainc",
    "betainc of large",
    "gammaincc",
    "beta",
    "erfinv",
    "erfcinv",
    "ndtr",
    "erfcx",
    "i0",
    "i1e",
    "polygamma left",
    "comb",
    "factorial",
    "j1",
    "xlog1py",
    "entr",
)
FIRST = tuple(name for name in ROWS if name not in KIN)


@swept("names", [FIRST, KIN], [FIRST])
def test_values_are_those_of_scipy(names: tuple[str, ...]) -> None:
    programs = [(lambda *x, n=n: [traced(n, *x)], ROWS[n].args) for n in names]
    for name, found in zip(names, compiled(programs), strict=True):
        compare(name, found, ROWS[name])


SINGLE = ("erfinv", "xlogy")


def test_single_precision_is_rounded_from_double() -> None:
    inside = {"xlogy": (A[:50], X[:50]), "erfinv": (ROUND[:99],)}
    arrays = {n: tuple(a.astype("f4") for a in inside[n]) for n in SINGLE}
    programs = [(lambda *x, n=n: [traced(n, *x)], arrays[n]) for n in SINGLE]
    for name, found in zip(SINGLE, compiled(programs), strict=True):
        assert found.dtype == np.float32
        wide = tuple(a.astype("f8") for a in arrays[name])
        with np.errstate(under="ignore"):
            known = getattr(scipy.special, name)(*wide).astype("f4")
        np.testing.assert_allclose(found, known, rtol=2.0**-23, atol=1e-44, err_msg=name)


def slopes(name: str, *tensors: Any) -> list[Any]:
    """All derivatives of the first order, then all of the second."""
    y = traced(name, *tensors)
    one = ted.ones(y.shape, "float64")
    first = list(ted.differentiate(y, tensors, head=one))
    return first + [d for f in first for d in ted.differentiate(f, tensors, head=one)]


def exact(row: Row, counts: tuple[int, ...]) -> Array:
    points = [tuple(mp.mpf(float(v)) for v in p) for p in zip(*row.at, strict=True)]
    with mp.workdps(40):
        if len(counts) == 1:
            found = [mp.diff(row.exact, p[0], counts[0]) for p in points]
        else:
            found = [mp.diff(row.exact, p, counts) for p in points]
        return np.array([float(mp.re(v)) for v in found])


def check_slopes(names: tuple[str, ...]) -> None:
    found = iter(compiled([(lambda *x, n=n: slopes(n, *x), ROWS[n].at) for n in names]))
    for name in names:
        row, several = ROWS[name], range(len(ROWS[name].at))
        for by in [*((k,) for k in several), *itertools.product(several, several)]:
            counts = tuple(by.count(k) for k in several)
            far = 1e-10 if len(by) == 1 else 1e-8
            np.testing.assert_allclose(
                next(found), exact(row, counts), rtol=far, atol=1e-45, err_msg=f"{name} by {by}"
            )


FEW = ("ndtri", "exp1", "xlogy")
OTHERS = tuple(n for n, row in ROWS.items() if row.exact and n not in FEW)


def test_derivatives_of_two_orders_are_those_of_mpmath() -> None:
    check_slopes(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("names", [OTHERS[:2], OTHERS[2:9], OTHERS[9:]], ids=",".join)
def test_other_derivatives_of_two_orders_are_those_of_mpmath(names: tuple[str, ...]) -> None:
    check_slopes(names)


def test_derivatives_where_expressions_meet() -> None:
    zero = np.zeros(1)

    def at_zero(x: Any) -> list[Any]:
        return slopes("i0", x)

    found = [float(a[0]) for a in compiled([(at_zero, (zero,))])]
    np.testing.assert_allclose(found, [0, 0.5], atol=1e-16)
    x, y = np.zeros(3), np.array([2.0, 0.0, np.inf])
    by_x, by_y = compiled([(lambda *v: slopes("xlogy", *v)[:2], (x, y))])
    assert by_x[0] == np.log(2)
    assert by_y.tolist() == [0, 0, 0]


def test_names_of_other_libraries_and_of_elements() -> None:
    assert special.igamma.__name__ == "gammainc"
    assert special.psi is not None
    x = np.array([0.5, 1.5])
    x_in = ted.placeholder((2,), "float64", name="x")
    made = ted.compute((2,), lambda i: special.gammaincc(2.0, x_in[i]) + special.erfinv(0.5 * i))
    expected = scipy.special.gammaincc(2.0, x) + scipy.special.erfinv(0.5 * np.arange(2))
    np.testing.assert_allclose(ted.compile([x_in], made)(x), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: special.polygamma(-1, x), "special.polygamma: n must be an integer from 0"),
        (lambda x: special.polygamma(1.5, x), "special.polygamma: n: must be an integer, got 1.5"),
        (lambda x: special.multigammaln(x, 0), "special.multigammaln: d must be at least 1"),
        (lambda x: special.multigammaln(x, 10**30), "reduce_axis: an index has 64 bits"),
        (lambda _: special.i0(0.5), "special.i0: takes a tensor or an array, got 0.5; ted.full"),
    ],
)
def test_what_has_no_meaning_is_refused(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        call(ted.placeholder((2,), name="x"))
