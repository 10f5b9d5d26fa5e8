"""Compiled scalar functions against numpy and scipy, on ordinary, special and integer arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import ted
from ted.errors import FrontendError
from ted.testing import check_grads, interpret

Array = np.ndarray[Any, Any]
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-20, 3e5, np.inf, -np.inf, np.nan]
)
GRID = [a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL)]
NUMPY = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": scipy.special.erf, "erfc": scipy.special.erfc,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.logaddexp(0, x), "relu": lambda x: np.maximum(0, x),
    "round": np.rint, "atan2": np.arctan2,
}  # fmt: skip
UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "sigmoid", "softplus", "relu", "absolute", "sign", "square", "reciprocal",
    "floor", "ceil", "round", "trunc", "isnan", "isinf", "isfinite",
)  # fmt: skip
BINARY = (
    "maximum", "minimum", "power", "atan2", "hypot", "fmod", "remainder", "floor_divide",
)  # fmt: skip
ON_INTEGERS = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "fmod", "remainder",
    "floor_divide", "maximum", "minimum",
)  # fmt: skip
INTEGERS = np.array([-128, -127, -7, -3, -1, 0, 1, 2, 3, 5, 8, 100, 127])
PAIRS = [a.ravel() for a in np.meshgrid(INTEGERS, INTEGERS)]


def compiled(function: Callable[..., Any], *arrays: Array) -> Array:
    inputs = [ted.placeholder(a.shape, a.dtype.name, name=f"x{k}") for k, a in enumerate(arrays)]
    return np.asarray(ted.compile(inputs, function(*inputs))(*arrays))


def reference(name: str) -> Callable[..., Any]:
    return NUMPY.get(name) or getattr(np, name)


@pytest.mark.fast(8)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_values_are_those_of_numpy(name: str, dtype: str) -> None:
    with np.errstate(over="ignore"):
        arrays = [a.astype(dtype) for a in (GRID if name in BINARY else [SPECIAL])]
    got = compiled(getattr(ted, name), *arrays)
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64) if dtype == "float16" else a for a in arrays]
        expected = np.asarray(reference(name)(*wide)).astype(got.dtype)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, expected, rtol=4 * eps, atol=np.finfo(dtype).tiny)


@pytest.mark.fast(7)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("name", ON_INTEGERS)
def test_integer_values_are_those_of_numpy(name: str, dtype: str) -> None:
    a, b = (v.astype(dtype) for v in PAIRS)
    if "shift" in name:
        a, b = a[b >= 0], b[b >= 0]
    got = compiled(getattr(ted, name), a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, getattr(np, name)(a, b))


def test_operators_on_bits_are_those_of_numpy_and_the_interpreter_agrees() -> None:
    def mixed(a: Any, b: Any) -> Any:
        return (~a & 0x55) ^ ((b << 2) | (a >> 1)) ^ (1 << (b & 3)) ^ (-1 >> (a & 7))

    a, b = (v.astype("int32") for v in PAIRS)
    np.testing.assert_array_equal(compiled(mixed, a, b), mixed(a, b))
    inputs = [ted.placeholder(v.shape, "int32", name=f"x{k}") for k, v in enumerate((a, b))]
    (found,) = interpret(ted.module(mixed(*inputs)), [a, b])
    np.testing.assert_array_equal(found, mixed(a, b))


def test_conditions_have_all_connectives() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    for name in ("logical_and", "logical_or", "logical_xor", "bitwise_xor", "bitwise_and"):
        np.testing.assert_array_equal(compiled(getattr(ted, name), a, b), getattr(np, name)(a, b))
    np.testing.assert_array_equal(compiled(lambda x, y: ~x ^ y, a, b), ~a ^ b)


def test_an_index_has_bits() -> None:
    found = ted.compute((16,), lambda i: (i ^ 5) & ~(i >> 1))
    i = np.arange(16)
    np.testing.assert_array_equal(ted.compile([], found)(), (i ^ 5) & ~(i >> 1))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x & 1, "and: operands must be bools .* or integers, got float32"),
        (lambda x: x << 1, "shiftleft: operands must be integers, got float32"),
        (lambda x: ted.logical_and(x, True), "and: operands must be bools"),
    ],
)
def test_bits_of_floats_are_refused(function: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        function(ted.placeholder((3,), name="x"))


def test_remainders_of_large_quotients_are_exact() -> None:
    a, b = np.array([1e15, -1e15, 1.0, 6.0]), np.array([0.7, 0.7, 0.1, 0.1])
    np.testing.assert_array_equal(compiled(ted.remainder, a, b), a % b)
    np.testing.assert_array_equal(compiled(ted.floor_divide, a, b), a // b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_zeros_of_quotients_and_remainders_have_the_signs_of_numpy(dtype: str) -> None:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        a, b = (x.astype(dtype) for x in GRID)
        names = ["floor_divide", "remainder", "fmod"]
        pairs = lambda xp, a, b: [getattr(xp, name)(a, b) for name in names]  # noqa: E731
        found = compiled(lambda a, b: ted.stack(pairs(ted, a, b)), a, b)
        wanted = np.array(pairs(np, a, b))
        for by in (0.5, -0.5):
            mine = compiled(lambda a, by=by: ted.stack(pairs(ted, a, by)), a)
            found, wanted = [*found, *mine], [*wanted, *pairs(np, a, np.asarray(by, dtype))]
    np.testing.assert_array_equal(found, wanted)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(wanted)[is_number])


def test_a_remainder_of_zero_has_slopes() -> None:
    slopes = ted.grad(lambda a, b: ted.sum(a % b), argnums=(0, 1))
    found = slopes(np.array([6.0, -6.0, 0.0]), np.array([2.0, 2.0, -2.0]))
    np.testing.assert_array_equal(found, [[1, 1, 1], [-3, 3, 0]])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_the_least_integer_is_divided_by_negative_constants_as_in_numpy(dtype: str) -> None:
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    ends = np.array([least, least + 1, -2, 3, most], dtype)
    for by in (-1, -2, -5, least):
        found = compiled(lambda x, by=by: ted.stack([x // by, x % by]), ends)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found, [ends // by, ends % by])


@pytest.mark.parametrize("name", ["hypot", "fmod", "remainder", "atan2"])
def test_gradients_of_pairs_match_differences_in_every_quadrant(name: str) -> None:
    y, x = np.array([1.3, 1.3, -1.3, -1.3, 0.2]), np.array([0.7, -0.7, 0.7, -0.7, 2.0])
    check_grads(getattr(ted, name), [y, x], order=2, modes=("fwd", "rev"))


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_slopes_of_angles_and_lengths_neither_vanish_nor_overflow(size: float) -> None:
    y, x = (ted.placeholder((1,), name=name) for name in "yx")
    arrays = [np.array([k * size], np.float32) for k in (3, 4)]
    angle, length = (
        ted.compile([y, x], list(ted.differentiate(f(y, x), [y, x], head=ted.ones((1,)))))(*arrays)
        for f in (ted.atan2, ted.hypot)
    )
    np.testing.assert_allclose(np.ravel(angle) * size, [0.16, -0.12], rtol=1e-5)
    np.testing.assert_allclose(np.ravel(length), [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(("name", "at"), [("asin", 0.9999), ("atanh", 0.9999), ("acosh", 1.0001)])
def test_slopes_near_the_end_of_a_domain_keep_their_digits(name: str, at: float) -> None:
    x = ted.placeholder((1,), name="x")
    slope = ted.differentiate(getattr(ted, name)(x), [x], head=ted.ones((1,)))[0]
    point = np.array([at], np.float32)
    square = np.abs(1 - point.astype(np.float64) ** 2)
    expected = 1 / (square if name == "atanh" else np.sqrt(square))
    np.testing.assert_allclose(ted.compile([x], slope)(point), expected, rtol=1e-6)
