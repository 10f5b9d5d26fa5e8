"""Options of `ted.function` as keywords: a memory limit, and donated arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, FrontendError

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def tanhs(x: Any) -> Any:
    for _ in range(4):
        x = ted.tanh(x @ ted.ones((128, 128)))
    return ted.sum(x)


X = ted.placeholder((4, 4), name="x")
LIMIT = 2**22
MADE: list[Callable[..., Any]] = [
    lambda **given: ted.function(tanhs, **given),
    lambda **given: ted.grad(tanhs, **given),
    lambda **given: ted.value_and_grad(tanhs, **given),
    lambda **given: ted.compile([X], X * 2.0, **given),
]


@pytest.mark.parametrize("make", MADE)
def test_a_limit_is_that_of_the_target_and_goes_before_it(make: Callable[..., Any]) -> None:
    assert make(memory_limit=LIMIT).options == make(target=f"cpu,memory_limit={LIMIT}").options
    both = make(target="cpu,threads=1,memory_limit=100", memory_limit=LIMIT)
    assert both.options.target == f"cpu,threads=1,memory_limit={LIMIT}"
    with pytest.raises(CompileError, match="memory_limit is an integer from 1 on, got 0"):
        make(memory_limit=0)
    with pytest.raises(CompileError, match="memory_limit is an option of CPUs, got sm_80"):
        make(target="cuda:sm_80", memory_limit=LIMIT)


def test_what_is_made_of_a_function_has_its_limit() -> None:
    limited = ted.function(tanhs, memory_limit=LIMIT)
    assert ted.grad(limited).options.memory_limit == LIMIT
    assert ted.function(limited) is limited
    assert ted.function(limited, memory_limit=LIMIT) is limited
    assert ted.function(limited, memory_limit=5).options.memory_limit == 5


def test_a_limit_is_kept_or_refused() -> None:
    x = array(512, 128)
    free = ted.grad(tanhs, target="cpu,threads=1")
    expected = free(x)
    held = free.compiled(x).peak_bytes
    limited = ted.grad(tanhs, target="cpu,threads=1", memory_limit=held)
    np.testing.assert_allclose(limited(x), expected, rtol=1e-5, atol=1e-6)
    assert limited.compiled(x).peak_bytes <= held
    with pytest.raises(CompileError, match="memory_limit"):
        ted.grad(tanhs, memory_limit=100)(x)


def test_both_parts_of_a_program_have_the_limit() -> None:
    both = ted.forward_backward(ted.sum(X**2), [X], memory_limit=LIMIT)
    assert both.first.options.memory_limit == both.second.options.memory_limit == LIMIT


def update(state: dict[str, Any], x: Any) -> Any:
    return ted.sum(x), {name: 0.5 * value + ted.sum(x) for name, value in state.items()}


def test_arrays_of_donated_arguments_become_results() -> None:
    step = ted.function(update, donate=0)
    state = {"w": array(6, 4), "b": array(4)}
    x = array(3)
    expected = {name: 0.5 * value + x.sum() for name, value in state.items()}
    total, new = step(state, x)
    assert all(new[name] is state[name] for name in state)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-6)
    for name, value in expected.items():
        np.testing.assert_allclose(new[name], value, rtol=1e-6)


def test_what_is_read_after_its_result_is_written_is_right() -> None:
    f = ted.function(lambda w, x: (w[::-1] + x, ted.cumsum(w, axis=0), w), donate=(0,))
    w, x = array(50, 3), array(50, 3)
    old = w.copy()
    turned, sums, same = f(w, x)
    assert turned is w
    np.testing.assert_array_equal(turned, old[::-1] + x)
    np.testing.assert_allclose(sums, np.cumsum(old, axis=0), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(same, old)


def test_donated_batches_of_any_size_are_taken_over() -> None:
    f = ted.function(lambda x: x * 2.0, batch=0, donate=0)
    for rows in (2, 5):
        x = np.ones((rows, 3), "float32")
        assert f(x) is x
        np.testing.assert_array_equal(x, np.full((rows, 3), 2.0))


def test_a_function_keeps_what_it_takes_over_unless_told_otherwise() -> None:
    f = ted.function(lambda x: x + 1.0, donate=0)
    assert ted.function(f) is f
    x = array(4)
    assert ted.function(f, donate=())(x) is not x


def test_donations_that_cannot_be_are_refused() -> None:
    f = ted.function(lambda x, y: x * ted.sum(y), donate=1)
    with pytest.raises(CompileError, match="a donated input needs an output of its shape and type"):
        f(array(4), array(3))
    with pytest.raises(FrontendError, match="donate=2: the call has 2 arguments"):
        ted.function(lambda x, y: x + y, donate=2)(array(4), array(4))
    with pytest.raises(FrontendError, match="donate is the position of an argument to take over"):
        ted.function(lambda x: x, donate="x")
