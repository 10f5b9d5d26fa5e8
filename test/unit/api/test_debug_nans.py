"""`debug_nans=True`: the first number that is not finite, by tensor, index and line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, ExecutionError
from ted.frontend.functions import trace
from ted.transforms.finite_checks import finite_checks

NAN, INF = np.nan, np.inf


def line_of(function: Callable[..., Any], offset: int) -> str:
    return f"(test_debug_nans.py:{function.__code__.co_firstlineno + offset})"


def logs(x: Any) -> Any:
    y = ted.log(x)
    z = y * 0.0
    return ted.sum(z)


def roots(x: Any) -> Any:
    y = ted.sqrt(x)
    return ted.sum(y * 2.0)


def squares(x: Any) -> Any:
    y = ted.exp(x)
    ted.print("before")
    ted.check(y < 1e9, "never said where y is infinite")
    return ted.sum(y)


def forwards(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        c = c / v
        return c, ted.tanh(c)

    return ted.sum(ted.scan(step, ted.ones((2,), "float64"), x)[1])


def backwards(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        c = c / v
        return c, ted.tanh(c)

    return ted.sum(ted.scan(step, ted.ones((2,), "float64"), x, reverse=True)[1])


def columns(x: Any) -> Any:
    h = ted.recurrence(
        (2, 4),
        lambda h, i, t: ted.where(t > 0, h[i, t - 1], 1.0) / x[t, i],
        "float64",
        time_axis=1,
    )
    return ted.sum(h)


def masked(x: Any) -> Any:
    scores = ted.where(x > 0, x, -ted.inf)
    return ted.sum(ted.exp(scores - ted.max(scores)))


TIMES = np.array([[1.0, 2], [2, 0], [0, 2], [2, 2]])
GRAD = ted.grad(roots, debug_nans=True)
FOUND: dict[str, tuple[Callable[..., Any], Any, str, str]] = {
    "zero": (logs, [[1.0, 2], [0, 3]], "-inf in log, float64[2, 2] at [1, 0]", line_of(logs, 1)),
    "scalar": (logs, -1.0, "nan in log, float64[]", line_of(logs, 1)),
    "argument": (logs, [1.0, INF, NAN], "inf in x, float64[3] at [1]", "(test_debug_nans.py:"),
    "gradient": (GRAD, [4.0, 0], "inf in dx, float64[2] at [1]", line_of(roots, 1)),
    "second": (
        lambda x: ted.sum(ted.grad(roots)(x)), [4.0, 0], "inf in dx, float64[2] at [1]",
        line_of(roots, 1),
    ),
    "batch": (ted.vmap(logs), [[1.0, 1], [0, 1]], "-inf in log, float64[2, 2] at [1, 0]",
              line_of(logs, 1)),
    "forwards": (forwards, TIMES, "inf in div, float64[4, 2] at [1, 1]", line_of(forwards, 2)),
    "backwards": (backwards, TIMES, "inf in div, float64[4, 2] at [2, 0]", line_of(backwards, 2)),
    "columns": (columns, TIMES, "inf in h, float64[2, 4] at [1, 1]", line_of(columns, 1)),
    "mask": (masked, [-1.0, -2], "nan in sub, float64[2] at [0]", line_of(masked, 2)),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_the_first_number_that_is_not_finite_is_named(case: str) -> None:
    function, x, found, place = FOUND[case]
    with pytest.raises(ExecutionError, match="debug_nans: every number must be finite") as caught:
        ted.function(function, debug_nans=True)(np.array(x))
    assert f"got {found} (test" in str(caught.value), str(caught.value)
    assert place in str(caught.value)


def test_an_adjoint_names_the_lines_of_all_that_read_its_tensor() -> None:
    def both(x: Any) -> Any:
        y = ted.sqrt(x)
        return ted.sum(y + x[1:2])

    with pytest.raises(
        ExecutionError, match=r"inf in dx, float64\[2\] at \[0\], made by "
    ) as caught:
        ted.grad(both, debug_nans=True)(np.array([0.0, 1.0]))
    first, second = (line_of(both, k)[1:-1] for k in (1, 2))
    assert str(caught.value).endswith(f", made by {first} and {second} ({first})")


def test_finite_programs_give_what_they_did() -> None:
    x = np.array([[1.0, 2], [4, 3], [2, 2], [1, 3]])
    for function in (roots, backwards, columns):
        plain, tested = (ted.value_and_grad(function, debug_nans=d) for d in (False, True))
        for expected, got in zip(plain(x), tested(x), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-14)
        tested(x)  # as a call that was made before


def test_a_mask_of_infinities_is_meant() -> None:
    value, slope = ted.value_and_grad(masked, debug_nans=True)(np.array([1.0, -2.0]))
    assert (value, slope.tolist()) == (1.0, [0.0, 0.0])
    table = np.array([0.0, -INF])
    ted.function(lambda x: ted.exp(x + table), debug_nans=True)(np.array([1.0, 1.0]))
    compared = ted.function(lambda x: ted.where(ted.isinf(x), 0.0, 1.0) / x, debug_nans=True)
    with pytest.raises(ExecutionError, match="got inf in"):
        compared(np.array([0.0, 5.0]))


def test_texts_come_before_it_and_checks_behind_it(capsys: Any) -> None:
    f = ted.function(squares, debug_nans=True)
    with pytest.raises(ExecutionError, match="got inf in exp"):
        f(np.array([1.0, 1000.0]))
    assert capsys.readouterr().out == "before\n"
    with pytest.raises(ExecutionError, match="check: never said"):
        f(np.array([1.0, 100.0]))


def test_what_is_made_of_a_function_is_tested_too() -> None:
    f = ted.function(roots, debug_nans=True)
    assert ted.function(f) is f
    assert not ted.function(f, debug_nans=False).options.debug_nans
    assert str(f.options).endswith(", deterministic, debug_nans")
    x = np.array([0.0, 1.0])
    for made in (ted.grad(f), ted.jacobian(f), lambda x: ted.vjp(f, x)[1](np.array(1.0))):
        with pytest.raises(ExecutionError, match="debug_nans"):
            made(x)
    with pytest.raises(CompileError, match="debug_nans is True or False, got 1"):
        ted.function(roots, debug_nans=1)  # type: ignore[arg-type]


def test_batches_donations_and_orders_are_those_of_the_arrays() -> None:
    rows = ted.function(logs, batch=0, debug_nans=True)
    for count in (2, 3):
        x = np.ones((count, 2))
        x[-1, 1] = 0
        with pytest.raises(ExecutionError, match=rf"float64\[{count}, 2\] at \[{count - 1}, 1\]"):
            rows(x)
    with pytest.raises(CompileError, match="a donated input needs an output"):
        ted.function(lambda x: ted.sum(x).astype("float32"), donate=0, debug_nans=True)(np.ones(()))
    x = np.ones((300, 500))
    x[7, 3] = NAN
    with pytest.raises(ExecutionError, match=r"nan in x, float64\[500, 300\] at \[3, 7\]"):
        rows(x.T)
    with pytest.raises(ExecutionError, match=r"nan in x, float64\[500, 300\] at \[3, 7\]"):
        ted.function(ted.sum, debug_nans=True)(x.T)


def test_of_a_loop_without_an_end_what_comes_out_is_tested() -> None:
    def f(x: Any) -> Any:
        return ted.log(ted.while_loop(lambda x: x > 0, lambda x: x - 1, x))

    with pytest.raises(ExecutionError, match="-inf in log"):
        ted.function(f, debug_nans=True)(np.array(3.0))


def test_one_number_is_kept_of_each_tensor_of_floats() -> None:
    traced = trace(
        lambda x: ted.sum(ted.exp(x) * ted.cast(ted.sum(x > 0), "float64")), (np.ones(4),)
    )
    checks = finite_checks(traced.system().outputs)
    names = [row.tensor.name for row in checks.rows]
    assert names[0] == "x"
    assert all(result.shape == () for result in checks.results)
    assert all(row.tensor.dtype.is_float for row in checks.rows)
    checks.check([2**63 - 1] * len(names))
