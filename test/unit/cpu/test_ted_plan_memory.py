"""Maps that write where they read: the same bits as apart, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted import nn
from ted.cpu import ted_plan_memory
from ted.cpu.ted_plan_memory import _Sharing
from ted.errors import ExecutionError

RNG = np.random.default_rng(0)
KIB = 2**10


def array(*shape: int) -> np.ndarray:
    return (RNG.normal(size=shape) / 8).astype("float32")


def step(x: Any, w: Any, v: Any) -> Any:
    loss = ted.grad(lambda w, v: ted.mean((nn.relu(x @ w) @ v) ** 2), argnums=(0, 1))
    dw, dv = loss(w, v)
    return w - 0.1 * dw, v - 0.1 * dv


def layers(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = nn.relu(nn.conv2d(x, w, padding=1))
    return x


def blocks(x: Any, *weights: Any) -> Any:
    for w, v in zip(weights[::2], weights[1::2], strict=True):
        x = x + nn.relu(x @ w) @ v
    return x


def recurrence(x: Any, w: Any, u: Any) -> Any:
    return nn.lstm(x, w, u)[0]


def tanhs(x: Any) -> Any:
    return ted.tanh(ted.tanh(x @ x)) @ x


def steps(x: Any, weights: Any) -> Any:
    return ted.scan(lambda h, w: (ted.tanh(ted.exp(h @ w) @ w), None), x, weights)[0]


FILTERS = [array(3, 3, 16, 16) for _ in range(6)]
# A program, its arrays, and the KiB that it holds less at its peak, on every CPU.
PROGRAMS: list[tuple[Callable[..., Any], list[np.ndarray], int]] = [
    (step, [array(256, 512), array(512, 512), array(512, 256)], 512),
    (layers, [array(4, 32, 32, 16), *FILTERS], 0),
    (blocks, [array(256, 512), *(array(512, 512) for _ in range(4))], 512),
    (recurrence, [array(32, 16, 64), array(64, 256), array(64, 256)], 0),
    (tanhs, [array(512, 512)], 800),
    (steps, [array(256, 256), array(5, 256, 256)], 512),
]


@pytest.mark.fast(1)
@pytest.mark.parametrize(("fn", "arrays", "less"), PROGRAMS)
def test_bits_are_those_of_buffers_apart(
    fn: Callable[..., Any],
    arrays: list[np.ndarray],
    less: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_here(monkeypatch)
    joined = ted.function(fn, target="cpu,threads=1")
    found, held = joined(*arrays), joined.compiled(*arrays).peak_bytes
    assert joined.memory(*arrays).peak_bytes == held
    monkeypatch.setattr(ted_plan_memory, "_take_late", lambda block: None)
    for joining in ("join_maps", "join_types"):
        monkeypatch.setattr(_Sharing, joining, lambda self: None)
    apart = ted.function(fn, target="cpu,threads=1")
    np.testing.assert_equal(found, apart(*arrays))
    assert apart.compiled(*arrays).peak_bytes - held >= less * KIB


@pytest.mark.slow
def test_what_is_read_later_or_is_a_result_stays() -> None:
    def fn(x: Any) -> Any:
        h = x @ x
        g = ted.tanh(h)
        return g, h, g, x, ted.exp(h.T) @ g, g[::-1] + g @ h

    x = array(256, 256)
    h = x @ x
    g = np.tanh(h)
    expected = g, h, g, x, np.exp(h.T) @ g, g[::-1] + g @ h
    found = ted.function(fn)(x)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-4, atol=2e-5)
    for k, one in enumerate(found):
        assert not any(np.shares_memory(one, other) for other in (*found[:k], x))


@pytest.mark.slow
def test_a_donated_array_that_is_read_later_has_its_old_elements_till_then() -> None:
    w, x = ted.placeholder((200, 200), name="w"), ted.placeholder((200, 200), name="x")
    new = w - 0.5 * (x @ w)
    f = ted.compile([w, x], [new, ted.tanh(w) @ new], donate=[w])
    a, b = array(200, 200), array(200, 200)
    expected = a - 0.5 * (b @ a)
    products = np.tanh(a) @ expected
    taken, last = f(a, b)
    assert taken is a
    np.testing.assert_allclose(taken, expected, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(last, products, rtol=2e-4, atol=2e-5)


def test_an_index_error_half_way_leaves_inputs_and_later_calls_as_they_are() -> None:
    f = ted.function(lambda x, rows: ted.tanh(ted.exp(x @ x)[rows] * 2.0))
    x = array(200, 200)
    kept = x.copy()
    good = np.arange(200, dtype="int64")
    expected = f(x, good)
    with pytest.raises(ExecutionError, match="index out of range"):
        f(x, np.full(200, 200, "int64"))
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(f(x, good), expected)


def test_calls_in_two_threads_have_buffers_of_their_own() -> None:
    f = ted.function(tanhs)
    arrays = [array(256, 256) for _ in range(2)]
    expected = [f(one) for one in arrays]
    found: list[list[np.ndarray]] = [[], []]

    def call(k: int) -> None:
        found[k] += [f(arrays[k]) for _ in range(10)]

    threads = [Thread(target=call, args=(k,)) for k in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for mine, its in zip(found, expected, strict=True):
        assert all((one == its).all() for one in mine)
        assert len(mine) == 10
