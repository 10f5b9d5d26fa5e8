"""`ted.print` and `ted.check` in functions: what is said, in which order, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import dialects
from ted.errors import ExecutionError, FrontendError
from ted.frontend.functions import trace

X = np.array([1.0, 4.0, 9.0])
RED = np.array([1.0, -4.0, 9.0])


def said(x: Any) -> Any:
    ted.print("x = {}, sum {s:.1f}", x, s=ted.sum(x))
    ted.check(x > 0, "x must be positive, got {} of {:.0f}", x, ted.stack([x, x]))
    ted.print("squares {:.2f}", x * x)
    return ted.sum(ted.sqrt(x))


def steps(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        ted.print("add {} to {}", v, c)
        ted.check(c + v < 14, "{} is too much", c + v)
        ted.print("next")
        return c + v, None

    return ted.scan(step, ted.zeros((), "float64"), x)[0]


SAID = "x = [1. 4. 9.], sum 14.0\nsquares [1.00 16.00 81.00]\n"
STEPS = "add 1.0 to 0.0\nnext\nadd 4.0 to 1.0\nnext\n"
TWICE = "x = [2. 8.], sum 10.0\nsquares [4.00 64.00]\n"
RUNS: dict[str, tuple[Callable[..., Any], np.ndarray, str]] = {
    "function": (ted.function(said), X, SAID),
    "gradient": (ted.grad(said), X, SAID),
    "second": (ted.hessian(said), X, SAID),
    "tangent": (lambda x: ted.jvp(said, (x,), (x,)), X, SAID),
    "pullback": (lambda x: ted.vjp(said, x)[1](np.array(1.0)), X, SAID),
    "checkpoint": (ted.grad(ted.checkpoint(said)), X, SAID),
    "batch": (ted.vmap(said), np.array([X, X]), SAID * 2),
    "of a batch": (ted.grad(lambda x: ted.sum(ted.vmap(said)(x))), np.array([X, X]), SAID * 2),
    "any rows": (ted.function(said, batch=0), X[:2] * 2, TWICE),
    "steps": (ted.function(steps), X[:2], STEPS),
    "of steps": (ted.grad(steps), X[:2], STEPS),
    "batch of steps": (ted.vmap(steps), np.array([X[:2], X[:2]]), STEPS * 2),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_text_is_printed_once_in_the_order_of_the_program(run: str, capsys: Any) -> None:
    function, x, expected = RUNS[run]
    function(x)
    assert capsys.readouterr().out == expected
    if isinstance(function, ted.api.Function):
        function(x)  # the fast way of a call that was made before
        assert capsys.readouterr().out == expected


def test_what_is_said_changes_no_result() -> None:
    value, dx = ted.value_and_grad(said)(X)
    assert value == 6.0
    np.testing.assert_allclose(dx, 0.5 / np.sqrt(X))
    np.testing.assert_array_equal(ted.vmap(steps)(np.array([X[:2], X[1:]])), [5.0, 13.0])


FAILS: dict[str, tuple[Callable[..., Any], np.ndarray, str]] = {
    "function": (ted.function(said), RED, ", at [1] (test_debugging.py:22)"),
    "gradient": (ted.grad(said), RED, ", at [1] (test_debugging.py:22)"),
    "batch": (
        ted.vmap(said), np.array([X, RED]), ", at [1] in example 1 (test_debugging.py:22)",
    ),
    "steps": (ted.function(steps), X, "14.0 is too much in step 2 (test_debugging.py:30)"),
    "batch of steps": (
        ted.vmap(steps), np.array([X * 0, X]),
        "14.0 is too much in step 2 of example 1 (test_debugging.py:30)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("run", FAILS)
def test_a_check_names_the_first_index_with_values_and_line(run: str) -> None:
    function, x, end = FAILS[run]
    with pytest.raises(ExecutionError, match=r"^check: ") as caught:
        function(x)
    assert str(caught.value).endswith(end)
    if end.startswith(","):
        whole = "[[1 -4 9]\n [1 -4 9]]"
        assert f"check: x must be positive, got -4.0 of {whole}, at" in str(caught.value)


def test_of_two_dims_the_first_is_that_in_row_major_order() -> None:
    def f(x: Any, bias: Any) -> Any:
        ted.check(x + bias < 7, "{} and {} in {}", x, bias, x[:, :1])
        return x

    x = np.arange(12).reshape(3, 4)
    with pytest.raises(ExecutionError, match=r"check: 6 and 1 in 4, at \[1, 2\] \("):
        ted.function(f)(x, np.array([0, 0, 1, 0]))
    ted.function(f)(x[:1], np.array([0, 0, 1, 0]))
    ted.function(f)(x[:0], np.array([0, 0, 1, 0]))


def test_a_branch_speaks_where_it_is_taken(capsys: Any) -> None:
    def great(x: Any) -> Any:
        ted.print("great {}", x)
        ted.check(x < 9, "x is {}", x)
        return x

    def small(x: Any) -> Any:
        ted.check(x > 0, "x is {}", x)
        ted.print("small")
        return -x

    f = ted.function(lambda x: ted.cond(x > 2, great, small, x))
    f(X[0])
    f(X[1])
    assert capsys.readouterr().out == "small\ngreat 4.0\n"
    for x in (9.0, -1.0):
        with pytest.raises(ExecutionError, match=f"check: x is {x} "):
            f(np.array(x))
    ted.vmap(lambda x: ted.cond(x > 2, great, small, x))(X[:2])
    assert capsys.readouterr().out == "great 9.0\nsmall\ngreat 4.0\n"


def test_a_loop_speaks_in_the_steps_that_it_takes(capsys: Any) -> None:
    def f(x: Any, most: int | None) -> Any:
        def body(x: Any) -> Any:
            ted.print("{}", x)
            return 2 * x

        return ted.while_loop(lambda x: x < 9, body, x, max_steps=most)

    ted.function(f)(X[1], 10**4)
    assert capsys.readouterr().out == "4.0\n8.0\n"
    with pytest.raises(FrontendError, match="got one without max_steps=; give the most"):
        ted.function(f)(X[1], None)


def test_steps_backwards_are_said_in_their_order(capsys: Any) -> None:
    def f(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            ted.print("{}", v)
            return c, None

        return ted.scan(step, ted.zeros(()), x, reverse=True, checkpoint=2)[0]

    ted.function(f)(X)
    assert capsys.readouterr().out == "9.0\n4.0\n1.0\n"


def test_a_donated_array_is_taken_over_by_no_text() -> None:
    def f(x: Any) -> Any:
        ted.print("{}", x + 1)
        return ted.sum(x)

    with pytest.raises(ted.errors.CompileError, match="a donated input needs an output"):
        ted.function(f, donate=0)(X)


def test_the_interpreter_says_the_same(capsys: Any) -> None:
    for function, x in ((said, X), (steps, X[:2])):
        traced = trace(function, (x,))
        with dialects.session():
            results = ted.testing.interpret(
                ted.module(ted.function(function), x), [x], function.__name__
            )
        traced.results(results)
    assert capsys.readouterr().out == SAID + STEPS


def test_an_emulated_gpu_says_the_same(capsys: Any) -> None:
    def f(x: Any) -> Any:
        ted.print("x = {}", x)
        ted.check(x > 0, "{}", x)
        return x

    run = ted.function(f, target="cuda:sm_90a")
    with ted.testing.emulated_gpu(), pytest.raises(ExecutionError, match=r"check: -4.0, at \[1\]"):
        run(ted.cuda.asarray(RED))
    assert capsys.readouterr().out == "x = [ 1. -4.  9.]\n"


def test_no_example_and_no_step_say_nothing(capsys: Any) -> None:
    def step(carry: Any, x: Any) -> Any:
        ted.print("{}", x)
        ted.check(x > 0)
        return carry, x

    none = np.zeros(0)
    assert ted.vmap(lambda x: step(x, x)[1])(none).shape == (0,)
    assert ted.function(lambda x: ted.scan(step, 0.0, x)[1])(none).shape == (0,)
    assert capsys.readouterr().out == ""


def test_outside_of_functions_it_is_now(capsys: Any) -> None:
    ted.print("{} {:.2f}", "array", X)
    assert capsys.readouterr().out == "array [1.00 4.00 9.00]\n"
    ted.check(X > 0)
    ted.check(True)
    with pytest.raises(ExecutionError, match=r"check: a condition is false, at \[1\] \("):
        ted.check(RED > 0)
    with pytest.raises(ExecutionError, match="check: n is 3 "):
        ted.check(False, "n is {n}", n=3)
    with pytest.raises(FrontendError, match="check: the text must fit its 1 values"):
        ted.check(True, "{} {}", X)


def test_arrays_and_numbers_are_those_of_the_trace(capsys: Any) -> None:
    array = np.array([1, 2])

    def f(x: Any) -> Any:
        ted.print("{} {} {} {}", array, np.array(5), 2.5, "text")
        ted.check(array < 9, "{}", array)
        return x

    run = ted.function(f)
    run(X)
    array[:] = 7
    run(X)
    assert capsys.readouterr().out == "[1 2] 5 2.5 text\n" * 2


def in_lambda(x: Any) -> Any:
    def element(i: Any) -> Any:
        ted.print("i")
        return x[i]

    return ted.compute((3,), element)


def in_derivative(x: Any) -> Any:
    @ted.custom_vjp
    def f(x: Any) -> Any:
        return x

    @f.defvjp
    def bwd(inputs: Any, outputs: Any, heads: Any) -> Any:
        ted.print("{}", heads[0])
        return heads[0]

    return ted.differentiate(ted.sum(f(x)), [x])[0]


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "few": (lambda x: ted.print("{} {}", x), r"its 1 values, got '\{\} \{\}': it asks for more"),
    "many": (lambda x: ted.print("{}", x, x), "nothing in it shows value 1"),
    "unnamed": (lambda x: ted.print("{y}", x=x), "it asks for 'y', which is not given"),
    "surplus": (lambda x: ted.check(x > 0, "", x=x), "nothing in it shows value x"),
    "brace": (lambda x: ted.print("{", x), "print: the text must fit its 1 values"),
    "spec": (lambda x: ted.print("{:d}", x), "print: the text must fit its 1 values"),
    "attribute": (lambda x: ted.print("{0.real}", x), "a tensor has no attributes there"),
    "list": (lambda x: ted.print("{}", [x, 1]), "print: takes tensors one by one, got one in"),
    "no text": (lambda x: ted.print(x), r"takes a text .* write \"x = {}\", x"),
    "floats": (lambda x: ted.check(x), r"must be of bools, got float64\[3\]; compare it"),
    "integer": (lambda x: ted.check(3), r"must be of bools, got int64\[\]; compare it"),
    "lambda": (in_lambda, "print: takes whole tensors, got an index lambda"),
    "scalar": (
        ted.vectorize(lambda x: [ted.check(x > 0), x][1]),
        "check: takes whole tensors, got an index lambda",
    ),
    "derivative": (in_derivative, "in none, or in a derivative of ted.custom_vjp"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_at_the_users_line(case: str) -> None:
    function, rule = REFUSED[case]
    with pytest.raises(FrontendError, match=rule) as caught:
        ted.function(lambda x: [function(x), x][1])(X)
    assert "(test_debugging.py:" in str(caught.value)


def test_a_tensor_without_a_call_is_refused() -> None:
    x = ted.placeholder((3,), name="x")
    for say in (lambda: ted.print("{}", x), lambda: ted.check(x > 0)):
        with pytest.raises(FrontendError, match="are known in calls of functions that are traced"):
            say()
