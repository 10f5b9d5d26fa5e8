"""Arrays that are dense in another order than C's: passed without a copy, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError
from ted.frontend import array_orders
from ted.frontend.array_orders import in_order, order_of

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _small_arrays_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_orders, "LEAST_BYTES", 1)


def array(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


CUBE = array(4, 5, 6)
# An array and its order; what is not dense has none.
ORDERS: list[tuple[Any, tuple[int, ...]]] = [
    (CUBE, ()),
    (CUBE.T, (2, 1, 0)),
    (CUBE.transpose(1, 0, 2), (1, 0, 2)),
    (CUBE.transpose(2, 0, 1), (1, 2, 0)),
    (np.asfortranarray(array(3, 4)), (1, 0)),
    (CUBE[:, :, ::2], ()),
    (CUBE[::-1].T, ()),
    (np.broadcast_to(array(3, 1), (3, 4)), ()),
    (array(3, 1).T, ()),
    (array(4, 3, 1).transpose(1, 2, 0), (2, 0, 1)),
    (np.zeros((0, 3)).T, ()),
    (np.float64(1.0), ()),
    (1.0, ()),
]


@pytest.mark.parametrize(("value", "order"), ORDERS)
def test_the_order_is_found_and_puts_the_memory_in_order(
    value: Any, order: tuple[int, ...]
) -> None:
    found = order_of(value)
    assert found == order
    if order:
        assert in_order(value, found).flags.c_contiguous
        assert np.shares_memory(in_order(value, found), value)


def product(x: Any, y: Any) -> Any:
    return {"product": ted.tanh(x) @ y, "x": x, "sums": ted.sum(x, axis=0)}


@pytest.mark.parametrize("turn", [lambda a: a, np.asfortranarray])
def test_numbers_are_those_of_arrays_in_order(turn: Callable[..., Any]) -> None:
    f, x, y = ted.function(product), array(7, 5), array(5, 6)
    a, b = np.asfortranarray(x), turn(y)
    found = {}
    for _ in range(2):
        found = f(a, b)
        np.testing.assert_allclose(found["product"], np.tanh(x) @ y, rtol=1e-12)
        np.testing.assert_array_equal(found["x"], x)
        np.testing.assert_allclose(found["sums"], x.sum(axis=0), rtol=1e-12, atol=1e-12)
    assert found["x"].flags.c_contiguous
    assert not np.shares_memory(found["x"], a)
    np.testing.assert_allclose(f(x=a, y=y)["product"], np.tanh(x) @ y, rtol=1e-12)
    np.testing.assert_allclose(f(x, y)["product"], np.tanh(x) @ y, rtol=1e-12)


def test_a_square_array_and_its_transpose_are_told_apart() -> None:
    f, x = ted.function(lambda x: x - ted.sum(x, axis=0)), array(6, 6)
    for one in (x, x.T, x, x.T):
        np.testing.assert_allclose(f(one), one - one.sum(axis=0), rtol=1e-12)


def test_every_order_of_four_dims() -> None:
    f, x = ted.function(lambda x: ted.exp(x)[:, 1:] * 2.0), array(2, 3, 4, 5)
    for order in ((3, 2, 1, 0), (1, 3, 0, 2), (0, 3, 1, 2), (2, 0, 3, 1)):
        one = x.transpose(order)
        np.testing.assert_allclose(f(one), np.exp(one)[:, 1:] * 2.0, rtol=1e-13)


def test_derivatives_of_orders_one_and_two() -> None:
    x, v = np.asfortranarray(array(4, 3)), np.asfortranarray(array(4, 3))

    def fn(x: Any) -> Any:
        return ted.sum(ted.sin(x) * x[::-1])

    gradient = ted.grad(fn)
    expected = np.cos(x) * x[::-1] + np.sin(x)[::-1]
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)
    turned = ted.function(lambda x, v: ted.grad(lambda x: ted.sum(ted.grad(fn)(x) * v))(x))
    second = -np.sin(x) * x[::-1] * v + (np.cos(x) * v)[::-1] + np.cos(x) * v[::-1]
    np.testing.assert_allclose(turned(x, v), second, rtol=1e-12, atol=1e-12)


def test_what_is_shown_is_the_program_that_runs() -> None:
    f, x = ted.function(lambda x: ted.tanh(x) @ ted.tanh(x)), array(300, 300)
    for one in (x, x.T):
        timeline = f.memory(one)
        assert timeline.buffers[0].nbytes == x.nbytes
        assert f.profile(one, repeats=1).kernels
    with pytest.raises(ted.errors.FrontendError):
        f.memory(x.T, x)


def test_errors_count_dims_as_the_caller_does() -> None:
    f, x = ted.function(lambda x, k: x[k]), np.asfortranarray(array(4, 3))
    np.testing.assert_array_equal(f(x, np.array([3, 0])), x[[3, 0]])
    with pytest.raises(ExecutionError, match="tensor x has extent 4 in dim 0, got index 4"):
        f(x, np.array([3, 4]))


def test_batches_and_donated_arrays_are_as_before() -> None:
    x = np.asfortranarray(array(4, 3))
    np.testing.assert_allclose(ted.function(lambda x: x * 2.0, batch=0)(x), x * 2.0)
    old = x.copy()
    assert ted.function(lambda x: x * 2.0, donate=0)(x) is x
    np.testing.assert_array_equal(x, old * 2.0)


def test_small_arrays_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_orders, "LEAST_BYTES", 97)
    assert order_of(array(4, 3).T) == ()
    assert order_of(array(4, 4).T) == (1, 0)


def test_tensors_of_torch_have_orders_too() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(5, 4, 3, dtype=torch.float64)
    f = ted.function(lambda x: ted.exp(x) + 1.0)
    for one in (x, x.permute(2, 0, 1), x.transpose(0, 1), x[:, ::2]):
        np.testing.assert_allclose(f(one), (torch.exp(one) + 1.0).numpy(), rtol=1e-13)
    assert order_of(x.permute(2, 0, 1)) == (1, 2, 0)
    assert order_of(x[:, ::2].permute(2, 0, 1)) == ()


def test_calls_with_small_arrays_do_not_ask_for_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_orders, "LEAST_BYTES", 97)
    function = ted.function(lambda a: a + 1)
    small, large = array(3, 4).T, array(4, 5).T
    for x in (small, large):
        np.testing.assert_array_equal(function(x), x + 1)
    asked: list[Any] = []
    monkeypatch.setattr("ted.api.functions.orders_of", lambda arrays: asked.append(arrays) or ())
    np.testing.assert_array_equal(function(small), small + 1)
    assert not asked
    function(large.copy())
    assert asked
