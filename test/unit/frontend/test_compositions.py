"""Functions that NumPy's users know: results are NumPy's, gradients those of differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import ted
from ted.errors import FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import run

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 4))
HOLES = X.copy()
HOLES[0, 1], HOLES[2] = np.nan, np.nan
ODD = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 2.5, -2.5])
V, W = RNG.random((2, 4)) + 0.1
K = RNG.integers(0, 3, (2, 12))
TINY = np.array([1e-310, -5e-324, 1e-45, 1e38, -1.7e308, 1.0, -0.75, 3e-39])
TINY = np.where(abs(TINY) < 1e300, TINY, -3e38)
RISING = np.cumsum(W)
TURNS = np.cumsum(RNG.normal(size=(2, 9)) * 4, axis=1)

SOME = np.array([[True, False, True, True]])

Case = tuple[Callable[..., Any], tuple[np.ndarray, ...]]
REDUCTIONS = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian")


def reduced(name: str, **options: Any) -> Case:
    return lambda m, x: getattr(m, name)(x, **options), (HOLES,)


def of(name: str, *arrays: np.ndarray, **options: Any) -> Case:
    return lambda m, *given: getattr(m, name)(*given, **options), arrays


def integers(kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of which Pell's numbers take the most steps, zeros and the ends of a type."""
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    pell = [0, 1]
    while 2 * pell[-1] + pell[-2] <= most:
        pell.append(2 * pell[-1] + pell[-2])
    a, b = [*pell, 12, least, least, most, 0], [*pell[1:], 1, 18, 0, least, 6, 0]
    return np.array([*a, *b], kind), np.array([*b, *a], kind)


CASES: dict[str, Case] = {
    **{f"{name} of all": reduced(name) for name in REDUCTIONS},
    **{f"{name} of columns": reduced(name, axis=0) for name in REDUCTIONS},
    **{f"{name} of rows": reduced(name, axis=1, keepdims=True) for name in REDUCTIONS},
    "nanquantile": (lambda m, x: m.nanquantile(x, [0.0, 0.3, 1.0], axis=1), (HOLES,)),
    "nanargmax": of("nanargmax", HOLES, axis=0), "nanargmin": of("nanargmin", HOLES),
    "nancumsum": of("nancumsum", HOLES, axis=1), "nancumprod": of("nancumprod", HOLES),
    "isclose": of("isclose", ODD, ODD + 1e-9), "equal NaN": of("isclose", ODD, ODD, equal_nan=True),
    "isclose of bytes": of("isclose", *np.array([[1, 200, 9], [2, 203, 9]], "u1"), rtol=0, atol=2),
    "isclose of far ones": of("isclose", np.array([2**31 - 1], "i4"), np.array([1 - 2**31], "i4")),
    "one is infinite": of("isclose", ODD, ODD[::-1].copy()),
    "allclose": of("allclose", X, X + 1e-9),
    "isposinf": of("isposinf", ODD), "isneginf": of("isneginf", ODD), "modf": of("modf", ODD),
    "fmax": of("fmax", ODD, ODD[::-1].copy()), "fmin": of("fmin", ODD, ODD[::-1].copy()),
    "sinc": of("sinc", np.array([0.0, 1e-9, 1e-3, 0.0199, 0.0201, 0.5, 1.0, -3.7])),
    "float_power": of("float_power", abs(X).astype("f4"), Y.astype("f4")),
    "frexp": of("frexp", np.concatenate([ODD, TINY, TINY.astype("f4")])),
    "frexp of floats": of("frexp", np.append(TINY.astype("f4"), ODD.astype("f4"))),
    **{f"{n} of {t.__name__}": (lambda m, a, b, n=n: getattr(m, n)(a, b), integers(t))
       for n in ("gcd", "lcm") for t in (np.int64, np.uint64, np.int32, np.int8, np.uint8)},
    "divmod": of("divmod", X, Y), "logaddexp2": of("logaddexp2", X, Y),
    "average": of("average", X, axis=1),
    "average by weights": (lambda m, x, w: m.average(x, axis=1, weights=w), (X, V)),
    "average along a number of NumPy": (
        lambda m, x, w: m.average(x, np.int64(0), w), (X, V[:3]),
    ),
    "average of all": (lambda m, x, w: m.average(x, weights=w), (X, abs(Y))),
    "cov": of("cov", X), "cov of columns": of("cov", X, rowvar=False),
    "cov of two": of("cov", X, Y),
    "variance": of("cov", V), "corrcoef": of("corrcoef", X), "one": of("corrcoef", V),
    "vdot": of("vdot", X, Y), "matvec": of("matvec", X, V), "vecmat": of("vecmat", V, X.T.copy()),
    "kron": of("kron", X, Y[:2]), "kron of a vector": of("kron", V, X),
    **{f"diag {k}": (lambda m, v, x, k=k: (m.diag(v, k), m.diag(x, k)), (V, X))
       for k in (-2, 0, 3)},
    "diagflat": of("diagflat", X, k=1),
    **{f"rot90 {k}": (lambda m, x, k=k: m.rot90(x, k), (X,)) for k in (-1, 0, 1, 2)},
    "polyval": of("polyval", V, X), "polymul": of("polymul", V, W[:2]),
    "polyadd": of("polyadd", V, W[:2]),
    "polysub": of("polysub", W[:2], V), "polyder": of("polyder", V),
    "no power left": of("polyder", V, m=5),
    "polyint": of("polyint", V, m=2), "trapezoid": of("trapezoid", X, dx=0.3, axis=0),
    "points": of("trapezoid", X, RISING), "ediff1d": of("ediff1d", X, V, W),
    "interp": of("interp", X, RISING - 1, V),
    "interp at points": of("interp", RISING, RISING, V),
    "interp with ends": of("interp", X, RISING, V, left=-7.0, right=9.0),
    "interp of one point": of("interp", X, V[:1], W[:1]),
    "interp with a period": of("interp", 9 * X, W[::-1] * 7, V, period=1.3),
    "unwrap": of("unwrap", TURNS), "unwrap by 3": of("unwrap", TURNS, axis=0, period=3.0),
    "half a period": of("unwrap", np.array([0, np.pi, 0, -np.pi, 3 * np.pi])),
    "lexsort": (lambda m, a, b: m.lexsort((a, b)), (K[0], K[1])),
    "unravel_index": of("unravel_index", K, shape=(2, 3)),
    "unravel_index of bytes": of("unravel_index", np.array([3, 255], "u1"), shape=(2, 300)),
    "ravel_multi_index": (lambda m, a, b: m.ravel_multi_index((a, b), (3, 4)), (K[0], K[1])),
    "block": (lambda m, x, y, v: m.block([[x, y], [y, x]]), (X, Y, V)),
    "block with numbers": (lambda m, v: m.block([v, 2, 0.5]), (V,)),
    "resize": of("resize", X, new_shape=(5, 3)), "resize to less": of("resize", X, new_shape=2),
    "poly": of("poly", V),
    "polydiv of few": of("polydiv", W[:2], V),
    "polyfit": of("polyfit", RISING, V, deg=2),
    "polyfit of columns": (lambda m, x, y, w: m.polyfit(x, y, 1, w=w), (RISING, X.T.copy(), W)),
    "gradient": of("gradient", X), "gradient of integers": of("gradient", K, axis=1),
    "gradient by 0.3": (lambda m, x: m.gradient(x, 0.3, axis=0, edge_order=2), (X,)),
    "gradient at points": (
        lambda m, x, p: m.gradient(x, 2.0, p, edge_order=2), (X, RISING),
    ),
    "gradient along one of two": (lambda m, x, p: m.gradient(x, p, axis=(1,)), (X, RISING)),
    "block of rows": (lambda m, x, v: m.block([[v], [x]]), (X, V)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    function, arrays = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(np, *arrays)
    found = run(lambda *given: function(ted, *given), *arrays)
    several = isinstance(expected, (tuple, list))
    pairs = zip(found if several else [found], expected if several else [expected], strict=True)
    for mine, other in pairs:
        assert (mine.dtype, mine.shape) == (np.asarray(other).dtype, np.shape(other))
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-14)


def test_a_quotient_of_polynomials_and_what_is_left_are_those_of_numpy() -> None:
    quotient, rest = run(ted.polydiv, V, W[:2])
    expected, (last,) = np.polydiv(V, W[:2])
    np.testing.assert_allclose(quotient, expected, rtol=1e-13)
    np.testing.assert_allclose(rest, [0, 0, 0, last], rtol=1e-12)


@pytest.mark.parametrize("std", [ted.std, ted.nanstd])
@pytest.mark.parametrize("x", [np.array(2.0), np.ones((3, 4))])
def test_a_deviation_of_nothing_has_no_slope(x: np.ndarray, std: Any) -> None:
    np.testing.assert_array_equal(ted.grad(lambda x: ted.sum(std(x, -1)))(x), 0 * x)


def test_correlations_and_diagonals_of_any_size_are_those_of_numpy() -> None:
    n, m = ted.size("n"), ted.size("m", min=2)
    x = ted.placeholder((n, m), "float64")
    f = ted.compile([x], [ted.corrcoef(x), ted.diag(x[:, 0], 1)])
    for mine, other in zip(f(X), (np.corrcoef(X), np.diag(X[:, 0], 1)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13)


def test_matrices_of_blocks_and_of_equal_diagonals_are_those_of_scipy() -> None:
    for name, arrays in {"block_diag": (X, V, K), "toeplitz": (V, W[:3])}.items():
        found = run(getattr(ted.linalg, name), *arrays)
        np.testing.assert_array_equal(found, getattr(scipy.linalg, name)(*arrays))


def test_a_share_of_many_halves_is_of_the_right_rank() -> None:
    x = np.arange(2500, dtype="f2") % 97
    assert run(lambda x: ted.nanquantile(x, 0.9), x) == np.quantile(x, 0.9)


def test_of_no_elements_a_share_is_not_a_number() -> None:
    found = run(lambda x: ted.nanmedian(x, 1), X[:, :0])
    np.testing.assert_array_equal(found, np.full(3, np.nan))


@pytest.mark.parametrize("dtype", ["u1", "i1", "i8", "f4"])
def test_lines_between_numbers_of_few_bits_are_steep(dtype: str) -> None:
    big = 3e38 if dtype == "f4" else 120
    x, xp, fp = (np.array(v).astype(dtype) for v in ([3, 90, 60], [0, 100, 120], [big, 0, 4]))
    np.testing.assert_allclose(run(ted.interp, x, xp, fp), np.interp(x, xp, fp), rtol=1e-6)


@pytest.mark.parametrize("counts", [[2, 0, 1], [0, 0, 0], [4, -3, 4], 2])
@pytest.mark.parametrize("axis", [None, 0])
def test_repeated_so_often_as_data_say_it_is_jax(counts: Any, axis: int | None) -> None:
    x = RNG.normal(size=(3, 2))
    each = np.array(counts) if axis == 0 else np.resize(counts, 6)
    expected = np.repeat(x, np.maximum(np.resize(each, 3 if axis == 0 else 6), 0), axis)
    last = x[-1:] if axis == 0 else x.reshape(-1)[-1:]
    expected = np.concatenate([expected, *[last] * 5])[:5]  # cut off, or filled up by the last one

    def repeated(x: Any, k: Any) -> Any:
        return ted.repeat(x, k, axis, total_repeat_length=5, truncate=True)

    np.testing.assert_array_equal(run(repeated, x, each), expected)
    listed = np.int64(counts) if counts == 2 else each.tolist()
    np.testing.assert_array_equal(ted.function(lambda x: repeated(x, listed))(x), expected)


SMOOTH: dict[str, Case] = {
    "nanvar": (lambda m, x: m.nanvar(m.where(SOME, x, m.nan), 1), (V,)),
    "nanmedian": (lambda m, x: m.nanmedian(m.where(SOME, x, m.nan)) ** 2, (V,)),
    "nanmax": (lambda m, x: m.nanmax(x, 0) ** 3, (X,)),
    "sinc": of("sinc", np.array([0.0, 1e-3, 0.3, -1.2])), "corrcoef": of("corrcoef", X),
    "kron": of("kron", X, Y[:2]), "frexp": (lambda m, x: m.frexp(x)[0] ** 2, (9 * V,)),
    "repeat": (lambda m, x: m.repeat(x**2, m.asarray([2, 0, 1, 3]), total_repeat_length=7), (V,)),
    "diag": of("diag", V, k=-1), "polyval": of("polyval", V, X),
    "polymul": of("polymul", V, W), "poly": of("poly", V),
    "polyfit": of("polyfit", RISING, V, deg=2),
    "polydiv": (lambda m, a, b: m.concatenate(m.polydiv(a, b)), (V, W[:3])),
    "gradient": of("gradient", V, RISING), "period": of("interp", V, W[::-1], W, period=1.3),
    "std": (lambda m, x: m.std(x, 1), (X,)), "trapezoid": of("trapezoid", X, RISING),
    "interp": (lambda m, x, f: m.interp(x, RISING, f) ** 2, (RISING[:3] + 0.03, V)),
    "unwrap": (lambda m, p: m.unwrap(p) ** 2, (TURNS,)),
    "fmax": (lambda m, x, y: m.fmax(x, y) ** 2, (X, Y)),
    "average": (lambda m, x, w: m.average(x, 1, w), (X, V)), "logaddexp2": of("logaddexp2", X, Y),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_two_orders_are_those_of_differences(name: str) -> None:
    function, arrays = SMOOTH[name]
    check_grads(lambda *given: function(ted, *given), arrays, order=2)


def test_what_is_left_out_has_no_slope() -> None:
    found = ted.grad(lambda x: ted.sum(ted.nanstd(x, 1) + ted.nanmax(x, 1)))(HOLES)
    assert not np.isnan(found[:2]).any()
    assert found[0, 1] == 0


@pytest.mark.slow
def test_halves_count_more_elements_than_they_hold() -> None:
    x = np.arange(300.0)
    found = ted.function(lambda x: ted.nanquantile(ted.cast(x, "bfloat16"), 0.3))(x)
    assert found == 89.5  # of 89.7


REFUSED = {
    "gcd: operands must be integers": lambda: ted.gcd(X, 2),
    "gcd: no type of integers holds those of both int64 and uint64":
        lambda: ted.gcd(K[0], K[1].astype("u8")),
    "repeat: counts that are data take total_repeat_length=":
        lambda: ted.repeat(V, ted.placeholder((4,), "int64")),
    "repeat: one count for each of 4 elements":
        lambda: ted.repeat(V, ted.placeholder((3,), "int64"), total_repeat_length=5),
    "average: weights must be like x": lambda: ted.average(X, 0, V[:2]),
    "cov: takes a vector or a matrix": lambda: ted.cov(np.ones((2, 2, 2))),
    "cov: takes more than 1 observations, got 1": lambda: ted.cov(np.ones((3, 1))),
    "diag: takes a vector or a matrix": lambda: ted.diag(np.ones((2, 2, 2))),
    "rot90: axes must be two dims": lambda: ted.rot90(X, 1, (0,)),
    "polyval: coefficients must be a vector": lambda: ted.polyval(X, V),
    "polymul: takes at least one coefficient": lambda: ted.polymul(V[:0], V),
    "polyder: m must be at least 0, got -1": lambda: ted.polyder(V, -1),
    "polydiv: takes at least one coefficient": lambda: ted.polydiv(V, V[:0]),
    "polyfit: takes x": lambda: ted.polyfit(V, W, 4),
    "polyfit: w must be like x": lambda: ted.polyfit(V, W, 1, w=X),
    "gradient: takes one spacing, or one for each of 2": lambda: ted.gradient(X, 1, 2, 3),
    "gradient: takes at least 3 points, got 2": lambda: ted.gradient(V[:2], edge_order=2),
    "gradient: points must be a vector of 4": lambda: ted.gradient(V, W[:2]),
    "gradient: spacing must not be 0": lambda: ted.gradient(V, 0),
    "gradient: edge_order must be 1 or 2": lambda: ted.gradient(V, edge_order=3),
    "block_diag: takes matrices": lambda: ted.linalg.block_diag(),
    "toeplitz: takes at least one element": lambda: ted.linalg.toeplitz(V[:0]),
    "meshgrid: indexing: must be": lambda: ted.meshgrid(V, indexing=X),
    r"diff: x must have a dim .*, got a scalar \(scalar\)":
        lambda: ted.diff(ted.placeholder((), name="scalar")),
    "nanquantile: keepdims: must be": lambda: ted.nanmedian(V, keepdims=X),
    "interp: xp and fp must be vectors of one extent": lambda: ted.interp(V, V, W[:2]),
    "unwrap: period must be above 0": lambda: ted.unwrap(V, period=0),
    "lexsort: takes keys of one shape": lambda: ted.lexsort((V, W[:2])),
    "lexsort: takes keys with a dim": lambda: ted.lexsort(ted.constant(V)),
    "ravel_multi_index: takes a subscript": lambda: ted.ravel_multi_index((V,), (2, 2)),
    "trapezoid: x must be a vector along axis -1": lambda: ted.trapezoid(X, V[:2]),
    "block: takes no empty lists": lambda: ted.block([[], [V]]),
    r"nanquantile: q must be a number in \[0, 1\]": lambda: ted.nanquantile(V, 1.5),
    "isclose: rtol must be a number": lambda: ted.isclose(V, W, rtol="x"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        REFUSED[text]()
