"""Whole-tensor functions give what numpy gives, by the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.testing.tracing import interpreted, traced

ROUNDED = 1e-12


def evaluate(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    outputs, inputs = traced(function, arrays, what="test")
    return interpreted(inputs, outputs)(*arrays)[0]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


SAME = [  # one function for both, `xp` is ted or numpy
    ("transpose", lambda xp, x: x.T),
    ("permute", lambda xp, x: xp.transpose(xp.reshape(x, (2, 2, 5)), (2, 0, 1))),
    ("reshape_join", lambda xp, x: xp.reshape(x, (20,))),
    ("reshape_split", lambda xp, x: xp.reshape(x, (2, 2, 5))),
    ("reshape_mixed", lambda xp, x: xp.reshape(x, (10, 2))),
    ("reshape_ones", lambda xp, x: xp.reshape(x, (1, 4, 1, 5, 1))),
    ("reshape_unknown", lambda xp, x: xp.reshape(x, (-1, 2))),
    ("slice", lambda xp, x: x[1:3]),
    ("slice_step", lambda xp, x: x[::2, 1::3]),
    ("slice_reverse", lambda xp, x: x[::-1, 4:0:-2]),
    ("slice_empty", lambda xp, x: x[2:2]),
    ("number", lambda xp, x: x[2]),
    ("last", lambda xp, x: x[-1, -2]),
    ("ellipsis", lambda xp, x: x[..., 1]),
    ("newaxis", lambda xp, x: x[:, None, 2:]),
    ("take_rows", lambda xp, x: x[:, 1:3][1]),
    ("broadcast_add", lambda xp, x: x[:, :1] + x[:1]),
    ("broadcast_to", lambda xp, x: xp.broadcast_to(x[:, :1], (3, 4, 5))),
    ("concatenate", lambda xp, x: xp.concatenate([x, 2 * x[:, :2], x], 1)),
    ("concatenate_empty", lambda xp, x: xp.concatenate([x, x[:0]], 0)),
    ("stack_first", lambda xp, x: xp.stack([x, -x])),
    ("stack_last", lambda xp, x: xp.stack([x, -x, x], -1)),
    ("pad", lambda xp, x: xp.pad(x, ((1, 2), (0, 3)))),
    ("pad_edge", lambda xp, x: xp.pad(x, ((1, 2), (0, 3)), "edge")),
    ("pad_reflect", lambda xp, x: xp.pad(x, ((3, 2), (0, 4)), "reflect")),
    ("pad_wrap", lambda xp, x: xp.pad(x, ((1, 2), (6, 3)), "wrap")),
    ("flip", lambda xp, x: xp.flip(x)),
    ("flip_axis", lambda xp, x: xp.flip(x, 1)),
    ("roll", lambda xp, x: xp.roll(x, 2, 1)),
    ("roll_back", lambda xp, x: xp.roll(x, -1, 0)),
    ("tile", lambda xp, x: xp.tile(x, (2, 3))),
    ("repeat", lambda xp, x: xp.repeat(x, 2, 1)),
    ("tril", lambda xp, x: xp.tril(x)),
    ("triu_above", lambda xp, x: xp.triu(x, 2)),
    ("split", lambda xp, x: xp.split(x, [1, 3], 1)[1]),
    ("split_equal", lambda xp, x: xp.split(x, 2)[1]),
    ("expand_squeeze", lambda xp, x: xp.squeeze(xp.expand_dims(x, 1), 1)),
    ("swapaxes", lambda xp, x: xp.swapaxes(x, 0, 1)),
    ("where", lambda xp, x: xp.where(x > 0, x, 2 * x)),
    ("maximum", lambda xp, x: xp.maximum(x, 0.5)),
    ("sign", lambda xp, x: xp.sign(x)),
    ("clip", lambda xp, x: xp.clip(x, -0.5, 0.5)),
    ("trunc", lambda xp, x: xp.trunc(3 * x)),
    ("round", lambda xp, x: xp.round(3 * x)),
    ("argmax", lambda xp, x: xp.argmax(x, 1)),
    ("argmin_all", lambda xp, x: xp.argmin(x)),
    ("any", lambda xp, x: xp.any(x > 1, 0)),
    ("all", lambda xp, x: xp.all(x > -1, 1)),
    ("count", lambda xp, x: xp.sum(x > 0, 0)),
    ("max", lambda xp, x: xp.max(x, 0)),
    ("min_keepdims", lambda xp, x: xp.min(x, 1, keepdims=True)),
    ("logical", lambda xp, x: xp.logical_or(xp.logical_not(x > 0), x > 1)),
]


@pytest.mark.parametrize(("name", "function"), SAME, ids=[n for n, _ in SAME])
def test_moving_and_choosing_elements_is_exact(name, function):
    x = numbers(4, 5)
    want = np.asarray(function(np, x))
    got = evaluate(lambda t: function(ted, t), x)
    np.testing.assert_array_equal(got, want)
    assert got.shape == want.shape


ROUNDING = [
    ("sum", lambda xp, x: xp.sum(x)),
    ("sum_axis", lambda xp, x: xp.sum(x, 1)),
    ("sum_axes_kept", lambda xp, x: xp.sum(x, (0, 1), keepdims=True)),
    ("prod", lambda xp, x: xp.prod(x, 0)),
    ("mean", lambda xp, x: xp.mean(x, 0)),
    ("mean_where", lambda xp, x: xp.mean(x, 0, where=x < 2)),
    ("matmul", lambda xp, x: x @ x.T),
    ("matvec", lambda xp, x: x @ x[0]),
    ("dot", lambda xp, x: x[0] @ x[1]),
    ("batched", lambda xp, x: x[None] @ xp.stack([x.T, x.T])),
    ("einsum", lambda xp, x: xp.einsum("ij,kj->ki", x, x)),
    ("einsum_implicit", lambda xp, x: xp.einsum("ij,ij", x, x)),
    ("einsum_diagonal", lambda xp, x: xp.einsum("ii->i", x[:, :4])),
    ("powers", lambda xp, x: x**3 + x**-2 + 2.0**x),
    ("floor_divide", lambda xp, x: x // 0.3),
    ("remainder", lambda xp, x: x % -0.3),
    ("divide", lambda xp, x: 1 / x),
    ("functions", lambda xp, x: xp.exp(x) + xp.log1p(x * x) + xp.tanh(x) + xp.sqrt(abs(x))),
    ("trigonometry", lambda xp, x: xp.sin(x) + xp.cos(x) * xp.sinh(x)),
    ("square", lambda xp, x: xp.square(x) - xp.reciprocal(x)),
]


@pytest.mark.parametrize(("name", "function"), ROUNDING, ids=[n for n, _ in ROUNDING])
def test_arithmetic_equals_numpy(name, function):
    x = numbers(4, 5)
    want = np.asarray(function(np, x))
    got = evaluate(lambda t: function(ted, t), x)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=ROUNDED, atol=ROUNDED)


def test_integer_division_floors_and_wraps():
    x = np.array([-7, -1, 0, 5, 7], dtype=np.int32)
    np.testing.assert_array_equal(evaluate(lambda t: t // 3, x), x // 3)
    np.testing.assert_array_equal(evaluate(lambda t: t % -3, x), x % -3)
    wide = np.array([100, -100], dtype=np.int8)
    np.testing.assert_array_equal(evaluate(lambda t: t + t, wide), wide + wide)


def test_int8_products_accumulate_in_int32():
    x = np.full((1, 3), 100, dtype=np.int8)
    y = np.full((3, 1), 100, dtype=np.int8)
    exact = evaluate(lambda a, b: ted.matmul(a, b, dtype="int32"), x, y)
    assert exact.dtype == np.int32
    assert exact[0, 0] == 30000


def test_float16_sums_are_rounded_once():
    x = np.full(4096, 1.0, dtype=np.float16)
    assert evaluate(ted.sum, x) == np.float16(4096)
    products = evaluate(lambda a: ted.sum(a * a, dtype="float32"), x)
    assert products.dtype == np.float32


def test_nan_propagates_through_max_and_min():
    x = np.array([[1.0, np.nan, 2.0], [1.0, 3.0, 2.0]])
    np.testing.assert_array_equal(evaluate(lambda t: ted.max(t, 1), x), [np.nan, 3.0])
    np.testing.assert_array_equal(evaluate(lambda t: ted.argmax(t, 1), x), [1, 1])
    np.testing.assert_array_equal(evaluate(ted.relu, x), x)


@pytest.mark.parametrize(
    ("row", "want"),
    [
        ([1000.0, 1000.0], 1000 + np.log(2)),
        ([-np.inf, -np.inf], -np.inf),
        ([np.inf, 1.0], np.inf),
        ([-np.inf, 0.0], 0.0),
    ],
)
def test_logsumexp_at_the_edges(row, want):
    assert evaluate(ted.logsumexp, np.array(row)) == want


def test_softplus_does_not_overflow():
    x = np.array([-1000.0, 0.0, 1000.0, np.inf, -np.inf])
    np.testing.assert_allclose(
        evaluate(ted.softplus, x), [0.0, np.log(2), 1000.0, np.inf, 0.0], rtol=1e-15
    )


def test_reductions_over_nothing_give_the_identity():
    x = np.zeros((3, 0))
    np.testing.assert_array_equal(evaluate(lambda t: ted.sum(t, 1), x), np.zeros(3))
    np.testing.assert_array_equal(evaluate(lambda t: ted.prod(t, 1), x), np.ones(3))
    np.testing.assert_array_equal(evaluate(lambda t: ted.max(t, 1), x), np.full(3, -np.inf))
    np.testing.assert_array_equal(evaluate(lambda t: ted.argmax(t, 1), x), np.full(3, -1))


def test_init_takes_part_in_the_reduction():
    x = numbers(4, 5)
    np.testing.assert_allclose(
        evaluate(lambda t: ted.max(t, 1, init=1.0), x), x.max(1, initial=1.0)
    )
    np.testing.assert_allclose(
        evaluate(lambda t: ted.sum(t, 1, init=2.0), x), x.sum(1, initial=2.0)
    )


def test_a_value_without_indices_broadcasts_with_tensors():
    x = numbers(4, 5)
    r, s = ted.reduce_axis(4), ted.reduce_axis(5)

    def normalised(t):
        return t / ted.sum(t[r, s], axis=(r, s)) + ted.cast(2, "float64")

    np.testing.assert_allclose(evaluate(normalised, x), x / x.sum() + 2, rtol=1e-14)


def test_rows_are_gathered_by_an_integer_tensor():
    x, ids = numbers(4, 5), np.array([[3, 0], [1, 1]])
    np.testing.assert_array_equal(evaluate(lambda t, i: t[i], x, ids), x[ids])
    np.testing.assert_array_equal(evaluate(lambda t, i: t[:, i], x, ids), x[:, ids])


def test_one_hot_leaves_unknown_labels_empty():
    labels = np.array([2, -1, 0, 5])
    want = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=np.float32)
    np.testing.assert_array_equal(evaluate(lambda i: ted.one_hot(i, 3), labels), want)


def test_constants_and_ranges():
    x = numbers(2, 2)
    np.testing.assert_array_equal(
        evaluate(lambda t: t + ted.eye(2, "float64") + ted.arange(2), x), x + np.eye(2) + [0, 1]
    )
    np.testing.assert_array_equal(
        evaluate(lambda t: t * ted.ones_like(t) + ted.full((2, 1), 3, "float64"), x), x + 3
    )


def test_a_triangular_sum_is_a_cumulative_sum():
    x = numbers(6)
    r = ted.reduce_axis(6)

    def cumulative(t):
        return ted.compute((6,), lambda i: ted.sum(t[r], axis=r, where=r <= i))

    np.testing.assert_allclose(evaluate(cumulative, x), np.cumsum(x), rtol=1e-14)


def test_a_guarded_nested_reduction_stays_in_bounds():
    x = numbers(4, 5)
    r = ted.reduce_axis(5)

    def shifted(t):
        return ted.compute((4,), lambda i: ted.where(i > 0, 2 * ted.sum(t[i - 1, r], axis=r), 0.0))

    want = np.concatenate([[0.0], 2 * x[:-1].sum(1)])
    np.testing.assert_allclose(evaluate(shifted, x), want, rtol=1e-14)


def test_a_dim_without_elements_is_reflected_by_nothing() -> None:
    x = ted.placeholder((0, 3), name="x")
    found = ted.compile([x], ted.pad(x, [(0, 0), (2, 1)], "reflect"))(np.zeros((0, 3), "f4"))
    assert found.shape == np.pad(np.zeros((0, 3)), [(0, 0), (2, 1)], "reflect").shape == (0, 6)
