"""Functions of arrays by tracing: options, arguments, results and what is refused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ted
from ted.api.functions import Function
from ted.api.wanted_arguments import position_of
from ted.errors import CompileError, DerivativeError, FrontendError

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def product(x: Any, y: Any) -> Any:
    return ted.sum(x * x * y)


def test_gradients_by_position() -> None:
    both = ted.value_and_grad(product, (0, 1))
    value, (dx, dy) = both(X, Y)
    assert (value, dx.tolist(), dy.tolist()) == (23.0, [6, 20], [1, 4])
    assert ted.grad(product, 1)(X, Y).tolist() == [1, 4]
    assert ted.grad(product, -1)(X, y=Y).tolist() == [1, 4]
    (only,) = ted.grad(product, [0])(X, Y)
    assert only.tolist() == [6, 20]


def test_the_same_array_twice_has_partial_derivatives() -> None:
    x = ted.placeholder((2,), "float64", name="x")
    dx = ted.grad(product)(x, x)
    compiled = ted.compile([x], [dx])
    assert compiled(X)[0].tolist() == [2, 8]


def test_a_captured_tensor_is_a_constant() -> None:
    x = ted.placeholder((2,), "float64", name="x")
    outer = ted.grad(lambda a: ted.sum(a * x))(x)
    assert ted.compile([x], [outer])(X)[0].tolist() == [1, 2]


def test_cotangents_have_the_nest_of_the_result() -> None:
    result, pullback = ted.vjp(lambda x, y: {"p": x * y, "s": x + y}, X, Y)
    assert result["p"].tolist() == [3, 10]
    dx, dy = pullback({"p": np.array([1.0, 0]), "s": np.array([0, 10.0])})
    assert (dx.tolist(), dy.tolist()) == ([3, 10], [1, 10])
    with pytest.raises(DerivativeError, match="vjp: one cotangent per result, got 1 for 2"):
        ted.vjp(lambda x: (x, x), X)[1](X)
    with pytest.raises(DerivativeError, match="cotangents of several results go in one tuple"):
        ted.vjp(lambda x: (x, x), X)[1](X, X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: ted.grad(product, 2)(X, Y),
            "argnums counts the 2 positional arguments .*, got 2",
        ),
        (
            lambda: ted.grad(product, -3)(X, Y),
            "argnums counts the 2 positional arguments .*, got -3",
        ),
        (
            lambda: ted.grad(product, 1.0),
            "argnums must be a position or a name of an argument, or a tuple of them",
        ),
        (
            lambda: ted.grad(product, (0, True)),
            "argnums must be a position or a name of an argument, or a tuple of them",
        ),
        (lambda: ted.grad(lambda x: (x, x))(X), "the function must return one tensor, got tuple"),
    ],
)
def test_positions_and_results_that_do_not_fit_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DerivativeError, match=message):
        wrong()


def test_numbers_of_numpy_are_results_of_their_types() -> None:
    numbers = (np.float64(3), np.array(2), np.int8(-1), np.float32(0.5), np.bool_(True))
    found = ted.function(lambda x: (*numbers, x))(np.ones(1))
    for mine, number in zip(found, numbers, strict=False):
        assert (mine.dtype, mine.shape, mine) == (number.dtype, (), number)


def test_what_cannot_be_called_is_refused() -> None:
    for make in (ted.function, ted.grad, ted.value_and_grad):
        with pytest.raises(FrontendError, match="takes a function of tensors, got int 3"):
            make(3)  # type: ignore[arg-type]
    with pytest.raises(CompileError):
        ted.function(product, "nowhere")


def test_options_are_kept_unless_others_are_given() -> None:
    plain = ted.function(product)
    assert (plain.target, plain.deterministic) == ("cpu", True)
    assert ted.function(plain) is plain
    loose = ted.function(plain, deterministic=False)
    assert loose is not plain
    assert not loose.deterministic
    assert ted.function(loose) is loose
    assert not ted.grad(loose).deterministic
    assert ted.grad(loose, deterministic=True).deterministic
    chip = ted.function(product, "cuda:sm_80")
    assert ted.grad(chip).target == "cuda:sm_80"
    assert ted.value_and_grad(chip, target="cpu").target == "cpu"


def test_traces_and_compilations_are_made_once() -> None:
    calls = []

    def noted(x: Any) -> Any:
        calls.append(x)
        return x + 1.0

    function = Function(noted)
    assert function(X).tolist() == [2, 3]
    assert function(x=Y).tolist() == [4, 6]
    assert function.compiled(X) is function.compiled(Y)
    assert function.trace(X).system().outputs[0].shape == (2,)
    assert len(calls) == 1
    function(X.astype("float32"))
    assert len(calls) == 2


def test_tensors_are_passed_to_the_function_itself() -> None:
    x = ted.placeholder((2,), "float64", name="x")
    found = Function(lambda a: a)(x)
    assert found is x


def test_arguments_by_position() -> None:
    x, y = (ted.placeholder((2,), "float64", name=name) for name in "xy")
    assert [position_of([x, y], k, "grad") for k in (0, 1, -1, -2)] == [0, 1, -1, -2]


class _Scaled:
    """An object that is part of a program: what it holds is read when that is traced."""

    def __init__(self, by: float) -> None:
        self.by = np.full(3, by)

    @ted.function
    def times(self, x: Any, power: int = 1) -> Any:
        return self.by * x**power

    @functools.partial(ted.grad, argnums=("x",))
    def slope(self, x: Any) -> Any:
        return ted.sum(self.times(x, power=3))

    @ted.custom_vjp
    def ruled(self, x: Any) -> Any:
        return self.by * x


_Scaled.ruled.defvjp(lambda inputs, outputs, heads: (None, 7 * heads[0]))


def test_methods_are_decorated_as_functions_are() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for by in (2.0, 5.0):  # each object has programs of its own
        one = _Scaled(by)
        np.testing.assert_allclose(one.times(x), by * x)
        np.testing.assert_allclose(one.times(x, power=2), by * x**2)
        np.testing.assert_allclose(one.slope(x)[0], 3 * by * x**2)
        np.testing.assert_allclose(one.ruled(x), by * x)
        np.testing.assert_allclose(ted.grad(lambda x, of=one: ted.sum(of.ruled(x)))(x), 7 + 0 * x)
    assert isinstance(_Scaled.times, ted.Function)
    np.testing.assert_allclose(_Scaled.times(_Scaled(2.0), x), 2 * x)
