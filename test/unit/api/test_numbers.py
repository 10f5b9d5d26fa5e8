"""Floats of Python as arguments: one program for all values, of a type that gives way to others."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError

X = np.arange(3.0)


def _counted(fn: Callable[..., Any]) -> tuple[Any, list[int]]:
    """The function, and the number of times that it was traced."""
    count = [0]

    @functools.wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        return fn(*args, **kwargs)

    return ted.function(traced), count


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("float64", "float64"), ("float32", "float32"), ("float16", "float16"),
        ("int64", "float32"), ("uint8", "float32"), ("bool", "float32"),
    ],
)  # fmt: skip
def test_a_float_takes_the_type_of_what_is_beside_it(dtype: str, wanted: str) -> None:
    f, count = _counted(lambda x, a: x * a + (2 * a - 1))
    x = X.astype(dtype)
    for a in (0.1, -3.0, 0.3):
        found = f(x, a)
        assert found.dtype == wanted
        exact = x.astype(wanted) * np.dtype(wanted).type(a) + np.dtype(wanted).type(2 * a - 1)
        np.testing.assert_allclose(found, exact, rtol=4 * float(np.finfo(wanted).eps))
    assert count == [1]


def test_nothing_is_lost_beside_float64() -> None:
    f, _ = _counted(lambda x, a, b: (x * (a / b), ted.sin(a * b)))
    scaled, alone = f(X, 0.1, 0.7)
    assert scaled.tolist() == (X * (0.1 / 0.7)).tolist()
    assert (alone.dtype, float(alone)) == (np.float32, np.float32(math.sin(0.1 * 0.7)))


def test_numbers_in_nests_and_by_name_share_a_program() -> None:
    f, count = _counted(lambda x, p, *, c: (x * p["a"][0], p["a"][1], c))
    assert [r.tolist() for r in f(X, {"a": (2.0, 0.5)}, c=1.5)] == [[0, 2, 4], 0.5, 1.5]
    assert [r.tolist() for r in f(X, {"a": (3.0, 0.25)}, c=2.5)] == [[0, 3, 6], 0.25, 2.5]
    assert count == [1]


# A derivative of a number, and what it is by mathematics at 3.
DERIVED = {
    "grad": (lambda x: ted.grad(lambda a: a**3)(x), 27),
    "value_and_grad": (lambda x: ted.value_and_grad(lambda a: a**3)(x)[0], 27),
    "grad of grad": (lambda x: ted.grad(ted.grad(lambda a: a**3))(x), 18),
    "hessian": (lambda x: ted.hessian(lambda a: a**3)(x), 18),
    "laplacian": (lambda x: ted.laplacian(lambda a: a**3)(x), 18),
    "jacobian": (lambda x: ted.jacobian(lambda a: (a**3, a))(x)[0], 27),
    "jvp": (lambda x: ted.jvp(lambda a: a**3, (x,), (1.0,))[1], 27),
    "jvp along an int": (lambda x: ted.jvp(lambda a: a**3, (x,), (2,))[1], 54),
    "vjp": (lambda x: ted.vjp(lambda a: a**3, x)[1](1.0)[0], 27),
    "vjp of an array": (lambda x: ted.vjp(lambda a: a**3, x)[1](np.float32(1))[0], 27),
    "hvp": (lambda x: ted.hvp(lambda a: a**3, (x,), (1.0,))[0], 18),
    "by name": (lambda x: ted.grad(lambda b, a: b * a**3, "a")(2.0, a=x), 54),
    "in a nest": (lambda x: ted.grad(lambda p: p["a"] * p["b"])({"a": x, "b": 5.0})["a"], 5),
    "within a program": (lambda x: ted.function(lambda: ted.grad(lambda a: a**3)(x))(), 27),
    "of a branch": (
        lambda x: ted.grad(lambda a: ted.cond(a > 0, lambda v: v * v, lambda v: -v, a))(x),
        6,
    ),
    "of a loop": (
        lambda x: ted.grad(lambda a: ted.fori_loop(0, 3, lambda k, c: c * a, a))(x),
        108,
    ),
    "checkpoint": (lambda x: ted.grad(ted.checkpoint(lambda a: a**3))(x), 27),
}


@pytest.mark.parametrize("name", DERIVED)
def test_a_number_has_derivatives_of_the_type_of_one_alone(name: str) -> None:
    program, wanted = DERIVED[name]
    found = program(3.0)
    assert (found.dtype, found.shape, float(found)) == (np.float32, (), wanted)


def test_a_rule_is_obeyed_for_a_number() -> None:
    f = ted.custom_vjp(ted.sin)
    f.defvjp(lambda inputs, outputs, heads: 100 * heads[0])
    assert float(ted.grad(f)(3.0)) == 100


def test_derivatives_beside_arrays() -> None:
    step, count = _counted(ted.value_and_grad(lambda a, x: ted.sum(a * a * x)))
    for a in (0.5, 3.0):
        value, slope = step(a, X.astype("f4"))
        assert (value.dtype, slope.dtype) == (np.float32, np.float32)
        assert (float(value), float(slope)) == (3 * a * a, 6 * a)
    assert count == [1]
    assert ted.vmap(lambda v, a: v * a)(X, 0.5).tolist() == [0, 0.5, 1]
    assert ted.vmap(ted.grad(lambda a, v: v * a * a), in_axes=(None, 0))(2.0, X).tolist() == [
        0, 4, 8,
    ]  # fmt: skip


def test_carries_take_the_type_beside_them() -> None:
    f = ted.function(lambda a, xs: ted.scan(lambda c, x: (c * a + x, c), a, xs))
    for dtype in ("float64", "float32"):
        last, before = f(0.5, X.astype(dtype))
        assert (last.dtype, float(last)) == (dtype, 2.5625)
        assert before.tolist() == [0.5, 0.25, 1.125]


def test_a_value_that_the_program_asks_for_is_part_of_it() -> None:
    f, _ = _counted(lambda x, a, p: x * a if p > 0.5 else x - a)
    assert f(X, 2.0, 0.7).tolist() == [0, 2, 4]
    assert f(X, 2.0, 0.3).tolist() == [-2, -1, 0]
    seen = len(f._compiled)
    assert f(X, 5.0, 0.3).tolist() == [-5, -4, -3]  # of which `a` is none
    assert f(X, 5.0, 0.7).tolist() == [0, 5, 10]
    assert (seen, len(f._compiled)) == (2, 2)
    middle = ted.function(lambda x, q, a: ted.nn.leaky_relu(x, q) + ted.quantile(x, q) * a)
    assert middle(X, 0.5, 2.0).tolist() == [2, 3, 4]
    assert middle(X, 0.0, 3.0).tolist() == [0, 1, 2]


def test_what_a_value_is_asked_for_is_said() -> None:
    with pytest.raises(FrontendError, match=r"bool: .* a condition on values has no truth value"):
        ted.grad(lambda a: a if a > 0 else -a)(3.0)


def test_a_number_that_a_type_does_not_hold_is_refused() -> None:
    f = ted.function(lambda x, a: x * a)
    assert f(X, 1e300).tolist() == [0, 1e300, 2e300]
    with pytest.raises(FrontendError, match="the constant must fit the type float32, got 1e"):
        f(X.astype("f4"), 1e300)
    assert f(X[1:].astype("f4"), math.inf).tolist() == [math.inf, math.inf]


def test_beside_the_options_of_functions() -> None:
    def scaled(x: Any, a: Any) -> Any:
        return x * a

    assert ted.function(scaled, batch=0)(X, 0.5).tolist() == [0, 0.5, 1]
    given = X.copy()
    assert ted.function(scaled, donate=0)(given, 0.5) is given
    with pytest.raises(ExecutionError, match="every number must be finite"):
        ted.function(lambda x, a: x / a, debug_nans=True)(X, 0.0)
    columns = np.asfortranarray(np.ones((600, 600)))
    assert ted.function(lambda a, x: x[:, 1] * a)(0.5, columns)[0] == 0.5
    f = ted.function(scaled, "cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        found = [f(ted.cuda.asarray(X.astype("f4")), a).numpy().tolist() for a in (0.5, 2.0)]
    assert found == [[0, 0.5, 1], [0, 2, 4]]


def test_ints_and_bools_are_part_of_the_program() -> None:
    f, count = _counted(lambda x, k, is_turned: ted.sum(x, axis=k) if is_turned else x)
    assert f(np.ones((2, 3)), 1, True).tolist() == [3, 3]
    assert f(np.ones((2, 3)), 0, True).tolist() == [2, 2, 2]
    assert count == [2]
    fixed = ted.function(functools.partial(lambda x, a: x * 2 if a == 0.5 else x, a=0.5))
    assert fixed(X).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda a: a @ a, "unsupported operand"), (lambda a: a.sum(), "no attribute 'sum'"),
        (lambda a: ted.sum(a * a), "can't multiply sequence"), (lambda a: -a, "unary -"),
    ],
)  # fmt: skip
def test_a_list_where_an_array_is_meant_is_named(fn: Callable[..., Any], said: str) -> None:
    rule = rf"argument a: a list is a nest of what is in it, and no array, got .*{said}.*; pass np"
    for made in (ted.function(fn), ted.grad(fn)):
        with pytest.raises(FrontendError, match=rule):
            made([1.0, 2.0])


def test_a_number_in_a_set_or_a_dict_is_found_by_its_value() -> None:
    x = np.ones(2)
    chosen = ted.function(lambda x, a: x + (1.0 if a in {0.5, 0.25} else 2.0))
    assert [chosen(x, a)[0] for a in (0.5, 0.75, 0.25)] == [2.0, 3.0, 2.0]
    assert ted.function(lambda x, a: x * {0.5: 2.0}.get(a, 1.0))(x, 0.5)[0] == 2.0


def test_values_that_ask_for_more_numbers_may_come_later() -> None:
    f = ted.function(lambda x, a, b: x * math.floor(b) if a > 0 else x * b)
    x = np.ones(1)
    found = [f(x, a, b)[0] for a, b in ((-1.0, 2.5), (1.0, 2.5), (-1.0, 3.5), (2.0, 3.5))]
    assert found == [2.5, 2.0, 3.5, 3.0]
