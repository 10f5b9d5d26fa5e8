"""Bounds that users state and data break: an error with the line, wherever the value is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import interpret

X = np.array([5.0, 1.0, 3.0, 2.0, 2.0, 4.0])
SPEED = np.array(15.0)


def crossing(v: Any, most: int, **options: Any) -> Any:
    """When a ball that is thrown up at a speed is down again, by steps of time."""

    def fall(state: Any) -> Any:
        time, height, speed = state
        return time + 0.01, height + 0.01 * speed, speed - 0.0981

    start = (0.0 * v, 1.0 + 0.0 * v, v)
    time, height, speed = ted.while_loop(lambda s: s[1] > 0, fall, start, most, **options)
    return time + height / speed


BROKEN: dict[str, tuple[Any, str]] = {
    "while_loop": (
        lambda x, **o: crossing(x[0] * 3, 200, **o),
        "while_loop: at most max_steps=200 steps .*got a condition that holds before step 201",
    ),
    "no_step": (
        lambda x, **o: (
            ted.while_loop(lambda c: c < 9, lambda c: c + 1, x[0] ** 2 - 30, 0, **o) ** 2
        ),
        "max_steps=0 steps .* before step 1",
    ),
    "fori_loop": (
        lambda x, **o: ted.fori_loop(
            0, ted.cast(x[0], "int64"), lambda i, c: c * x[0], 1.0, max_steps=4, **o
        ),
        "max_steps=4 .* before step 5",
    ),
    "compress": (
        lambda x, **o: ted.sum(ted.compress(x > 1, x * x, size=3, **o)),
        r"compress: at most size=3 elements are taken \(truncate=True .*\), got 5",
    ),
    "slices": (
        lambda x, **o: ted.sum(
            ted.compress(x[:2] > 0, ted.reshape(x, (2, 3)), 0, size=1, **o) ** 2
        ),
        "compress: at most size=1 .* got 2",
    ),
    "where": (
        lambda x, **o: ted.sum(x[ted.where(x > 1, size=4, **o)] ** 2), "where: at most size=4.* 5",
    ),
    "unique": (
        lambda x, **o: ted.sum(ted.unique(x, 4, **o) ** 2), "unique: at most size=4 .* got 5",
    ),
    "repeat": (
        lambda x, **o: ted.sum(
            ted.repeat(x * x, ted.cast(x, "int64"), total_repeat_length=6, **o)
        ),
        "repeat: at most total_repeat_length=6 elements .* got 17",
    ),
    "in_a_scan": (
        lambda x, **o: ted.scan(lambda c, v: (c + crossing(v * 3, 250, **o), None), 0.0, x)[0],
        "max_steps=250 .* before step 251",
    ),
    "in_a_branch": (
        lambda x, **o: ted.cond(
            x[0] > 0, lambda x: ted.sum(ted.compress(x > 1, x * x, size=2, **o)), ted.sum, x
        ),
        "size=2 .* got 5",
    ),
    "batched": (
        lambda x, **o: ted.sum(ted.vmap(lambda v: crossing(v, 150, **o))(x * 3)),
        "max_steps=150 .* before step 151",
    ),
    "again": (
        lambda x, **o: ted.checkpoint(lambda x: crossing(x[0] * 3, 200, **o))(x), "max_steps=200",
    ),
}  # fmt: skip
DERIVED = {
    "value": ted.function,
    "grad": ted.grad,
    "hessian": ted.hessian,
    "jvp": lambda f: lambda x: ted.jvp(f, (x,), (np.ones_like(x),))[1],
}


@pytest.mark.fast(17)
@pytest.mark.parametrize("order", DERIVED)
@pytest.mark.parametrize("name", BROKEN)
def test_a_bound_that_does_not_hold_is_an_error(name: str, order: str) -> None:
    program, message = BROKEN[name]
    with pytest.raises(ExecutionError, match=message) as caught:
        DERIVED[order](program)(X)
    assert "at test_stated_bounds.py:" in str(caught.value)


@pytest.mark.parametrize("name", ["compress", "unique", "repeat", "where", "in_a_branch"])
def test_what_is_cut_on_purpose_has_slopes(name: str) -> None:
    program, _ = BROKEN[name]

    def cut(x: Any) -> Any:
        return program(x, truncate=True)

    ted.testing.check_grads(cut, (np.array([5.1, 1.2, 3.3, 2.4, 2.5, 4.6]),), order=2)


def test_a_loop_that_is_cut_has_the_slopes_of_its_steps() -> None:
    def cut(x: Any) -> Any:
        return ted.while_loop(lambda c: c < 99.0, lambda c: c * c, x, 3, truncate=True)

    x = np.array(1.5)
    np.testing.assert_allclose(ted.function(cut)(x), x**8)
    np.testing.assert_allclose(ted.grad(cut)(x), 8 * x**7)
    np.testing.assert_allclose(ted.hessian(cut)(x), 56 * x**6)


def test_slopes_of_a_loop_that_ends_in_time() -> None:
    step, speed = 1e-6, float(SPEED)
    value = ted.function(lambda v: crossing(v, 400))
    slope = (value(np.array(speed + step)) - value(np.array(speed - step))) / (2 * step)
    found = ted.grad(lambda v: crossing(v, 400))(SPEED)
    np.testing.assert_allclose(found, slope, rtol=1e-6)
    np.testing.assert_array_equal(ted.grad(lambda v: crossing(v, 900))(SPEED), found)


@pytest.mark.parametrize("target", ["cpu", "cpu,threads=2", "cuda:sm_80"])
def test_programs_of_tensors_break_on_every_target(target: str) -> None:
    x = ted.placeholder((6,), "float64", name="x")
    f = ted.compile([x], ted.compress(x > 1, x, size=3), target=target)

    def run(array: Any) -> Any:
        return f(ted.cuda.asarray(array)).numpy() if target.startswith("cuda") else f(array)

    with ted.testing.emulated_gpu():
        with pytest.raises(ExecutionError, match=r"at most size=3 .* got 5, at test_stated_bounds"):
            run(X)
        np.testing.assert_array_equal(run(X - 2.5), [2.5, 1.5, 0.0])


def test_two_bounds_are_told_apart() -> None:
    def first(x: Any) -> Any:
        return ted.sum(ted.compress(x > 0, x, size=9)) + ted.sum(ted.compress(x > 3, x, size=1))

    line = first.__code__.co_firstlineno + 1
    with pytest.raises(ExecutionError, match=f"size=1 .* got 2, at test_stated_bounds.py:{line} "):
        ted.function(first)(X)

    def second(x: Any) -> Any:
        found = ted.sum(ted.compress(x > 9, x, size=1))
        return found + ted.sum(ted.compress(x > 3, x, size=1))

    line = second.__code__.co_firstlineno + 2
    with pytest.raises(ExecutionError, match=f"size=1 .* got 2, at test_stated_bounds.py:{line} "):
        ted.function(second)(X)


def test_a_bound_holds_in_files_and_in_the_interpreter(tmp_path: Path) -> None:
    x = ted.placeholder((6,), "float64", name="x")
    y = ted.unique(x, 4)
    with pytest.raises(ExecutionError, match=r"unique: at most size=4 .* got 5"):
        interpret(ted.module(y), [X])
    ted.compile([x], y).save(tmp_path / "f.ted")
    with pytest.raises(ExecutionError, match=r"unique: at most size=4 .* got 5, at test_stated"):
        ted.load(tmp_path / "f.ted")(X)


def test_a_loop_in_an_own_derivative_breaks() -> None:
    @ted.custom_vjp
    def root(a: Any) -> Any:
        return ted.sqrt(a)

    @root.defvjp
    def _adjoint(inputs: Any, outputs: Any, heads: Any) -> Any:
        def closer(x: Any) -> Any:
            return (x + 1 / (4 * outputs[0] * outputs[0] * x)) / 2

        slope = ted.while_loop(
            lambda x: abs(2 * outputs[0] * x - 1) > 1e-9, closer, outputs[0], max_steps=3
        )
        return (heads[0] * slope,)

    np.testing.assert_allclose(ted.grad(root)(np.array(0.5)), 0.5**0.5, rtol=1e-6)
    with pytest.raises(ExecutionError, match=r"max_steps=3 .* before step 4"):
        ted.grad(root)(np.array(900.0))


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda: ted.while_loop(lambda c: c < 3, lambda c: c, X[0], truncate=True), "no max_steps"),
        (lambda: ted.fori_loop(0, 3, lambda i, c: c, X, truncate=True), "truncate is for bounds"),
        (lambda: ted.where(X > 1, X, X, truncate=True), "got no size="),
        (lambda: ted.repeat(X, 2, truncate=True), "cuts off at total_repeat_length, got none"),
        (lambda: ted.compress(X > 1, X, size=2, truncate=3), "must be True or False, got 3"),
    ],
)
def test_truncate_asks_for_a_bound(misuse: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        misuse()


@pytest.mark.parametrize("table", [np.zeros(4), np.ones(4), np.arange(4.0), np.array([1.0, 2, 4])])
@pytest.mark.parametrize("order", ["value", "grad"])
def test_a_number_everywhere_is_no_reason_to_read_outside(table: Any, order: str) -> None:
    def chosen(x: Any, at: Any) -> Any:
        return ted.sum(ted.asarray(table)[at] * x)

    function = DERIVED[order](chosen)
    function(X, np.array(2))
    with pytest.raises(ExecutionError, match=r"index out of range: tensor .* got index 7"):
        function(X, np.array(7))
