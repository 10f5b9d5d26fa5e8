"""Functions with a rule, a checkpoint or a derivative of theirs, called on values of a lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import TedError

X = np.array([0.1, 0.2, 0.3])
A = np.arange(12.0).reshape(3, 4) / 10 + 0.1


def _ruled(fn: Callable[..., Any], rule: Callable[..., Any]) -> Any:
    made = ted.custom_vjp(fn)
    made.defvjp(rule)
    return made


f = _ruled(ted.sin, lambda inputs, outputs, heads: 100 * heads[0] * inputs[0])
pair = _ruled(
    lambda a, b: (a * b, a + b),
    lambda i, o, h: (10 * h[0] * i[1] + h[1], 20 * h[0] * i[0] * o[1] + h[1]),
)


def _of_two(a: Any, b: Any) -> Any:
    p, q = pair(a, b)
    return p * q


def _reduced(a: Any) -> Any:
    r = ted.reduce_axis((1, 4), "r")
    return ted.compute((3,), lambda i: ted.sum(f(a[i, r]) * a[i, 0], axis=r))


def _of_sums(a: Any) -> Any:
    r = ted.reduce_axis((1, 4), "r")
    return ted.compute((3,), lambda i: f(ted.sum(a[i, r], axis=r)))


def _steps(x: Any) -> Any:
    def element(h: Any, t: Any) -> Any:
        return ted.where(t > 0, f(h[t - 1]) + x[t], x[t])

    return ted.recurrence((3,), element, "float64")


def _scanned(x: Any) -> Any:
    _, ys = ted.scan(lambda c, a: (f(c) + a, f(c) + a), x[0], x[1:])
    return ted.concatenate([x[:1], ys])


# Each on elements, and the same on whole tensors.
LAMBDAS = {
    "compute": (lambda a: ted.compute((3, 4), lambda i, j: f(a[i, j])), f),
    "of a vector": (lambda a: ted.compute((3,), lambda i: f(a[i, 0])), lambda a: f(a[:, 0])),
    "vectorize": (ted.vectorize(f), f),
    "shared argument": (
        lambda a: ted.compute((3, 4), lambda i, j: _of_two(a[i, j], a[i, 0])),
        lambda a: _of_two(a, ted.broadcast_to(a[:, :1], (3, 4))),
    ),
    "under a reduction": (_reduced, lambda a: ted.sum(f(a[:, 1:]) * a[:, :1], axis=1)),
    "of a reduction": (_of_sums, lambda a: f(ted.sum(a[:, 1:], axis=1))),
    "beside a condition": (
        lambda a: ted.compute((3,), lambda i: ted.where(i > 0, f(a[i - 1, 0]), 0.0)),
        lambda a: f(a[:2, 0]),
    ),
    "vmap of it": (ted.vmap(lambda row: ted.vectorize(f)(row)), f),
    "checkpoint": (
        ted.vectorize(ted.checkpoint(lambda v: ted.sin(v) * v)),
        lambda a: ted.sin(a) * a,
    ),
}


@pytest.mark.parametrize("name", LAMBDAS)
def test_a_rule_is_obeyed_on_elements_as_on_tensors(name: str) -> None:
    def slopes(fn: Callable[..., Any]) -> tuple[np.ndarray, ...]:
        def loss(a: Any) -> Any:
            return ted.sum(fn(a)) ** 2

        def second(a: Any) -> Any:
            return ted.sum(ted.grad(loss)(a) * ted.cos(3 * a))

        def every(a: Any) -> Any:
            return ted.grad(loss)(a), ted.grad(second)(a), ted.jvp(loss, (a,), (a,))[1]

        return ted.function(every)(A)

    on_elements, on_tensors = LAMBDAS[name]
    for found, wanted in zip(slopes(on_elements), slopes(on_tensors), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_rule_is_obeyed_in_the_steps_of_a_recurrence() -> None:
    for fn in (ted.grad, ted.hessian):
        found, wanted = (fn(lambda x, g=g: ted.sum(g(x)))(X) for g in (_steps, _scanned))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    sums = lambda x: ted.recurrence(  # noqa: E731
        (3,), lambda h, t: f(x[t]) + ted.where(t > 0, h[t - 1], 0.0), "float64"
    )
    np.testing.assert_allclose(ted.grad(lambda x: ted.sum(sums(x)))(X), 100 * X * [3, 2, 1])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_in_the_steps_of_a_recurrence(reverse: bool) -> None:
    def inner(c: Any) -> Any:
        return ted.fori_loop(0, 3, lambda k, c: f(c) * 0.5, c)

    def element(h: Any, t: Any) -> Any:
        first = (t == 2) if reverse else (t == 0)
        return x[t] + ted.where(first, 0.0, inner(h[t + 1 if reverse else t - 1]))

    x = ted.placeholder((3,), "float64", name="x")
    steps = ted.recurrence((3,), element, "float64", reverse=reverse)
    (gradient,) = ted.differentiate(ted.sum(steps), [x])

    def scanned(x: Any) -> Any:
        _, ys = ted.scan(lambda c, a: ((y := inner(c) + a), y), 0.0, x, reverse=reverse)
        return ted.sum(ys)

    given = X[::-1].copy() if reverse else X
    (found,) = ted.compile([x], [gradient])(given)
    np.testing.assert_allclose(found, ted.grad(scanned)(given), rtol=1e-12)


def test_a_condition_on_values_keeps_a_rule_from_what_is_not_finite() -> None:
    def root(x: Any) -> Any:
        return ted.compute((3,), lambda i: ted.where(x[i] > 0, f(ted.sqrt(x[i])), 0.0))

    x = np.array([-1.0, 0.0, 0.25])
    assert ted.grad(lambda x: ted.sum(root(x)))(x).tolist() == [0, 0, 50]


# What is written of one element, and what it is of x.
MADE = {
    "grad": (lambda v: ted.grad(ted.sin)(v), np.cos),
    "value_and_grad": (lambda v: ted.value_and_grad(ted.sin)(v)[0], np.sin),
    "grad of grad": (lambda v: ted.grad(ted.grad(ted.sin))(v), lambda x: -np.sin(x)),
    "hessian": (lambda v: ted.hessian(ted.sin)(v), lambda x: -np.sin(x)),
    "jacobian": (lambda v: ted.jacobian(ted.sin)(v), np.cos),
    "laplacian": (lambda v: ted.laplacian(ted.sin)(v), lambda x: -np.sin(x)),
    "jvp": (lambda v: ted.jvp(ted.sin, (v,), (v,))[1], lambda x: np.cos(x) * x),
    "hvp": (lambda v: ted.hvp(ted.sin, (v,), (v,))[0], lambda x: -np.sin(x) * x),
    "vjp": (lambda v: ted.vjp(ted.sin, v)[1](v)[0], lambda x: np.cos(x) * x),
    "scan": (
        lambda v: ted.scan(lambda c, _: (ted.sin(c), None), v, length=2)[0],
        lambda x: np.sin(np.sin(x)),
    ),
    "fori_loop": (lambda v: ted.fori_loop(0, 3, lambda k, c: c * 0.5, v), lambda x: x / 8),
    "while_loop": (
        lambda v: ted.while_loop(lambda c: c > 0.1, lambda c: c * 0.5, v, max_steps=9),
        lambda x: np.where(x > 0.2, x / 4, np.where(x > 0.1, x / 2, x)),
    ),
    "cond": (
        lambda v: ted.cond(v > 0.15, ted.grad(ted.sin), ted.cos, v),
        np.cos,
    ),
    "imported": (
        ted.from_mlir(
            "func.func @f(%x: tensor<f64>) -> tensor<f64> { %y = math.sin %x : tensor<f64>\n"
            "  return %y : tensor<f64> }"
        ),
        np.sin,
    ),
}


def test_what_is_made_of_functions_takes_elements() -> None:
    x = ted.placeholder((3,), "float64", name="x")
    made = [ted.compute((3,), lambda i, fn=fn: fn(x[i])) for fn, _ in MADE.values()]
    for name, found in zip(MADE, ted.compile([x], made)(X), strict=True):
        np.testing.assert_allclose(found, MADE[name][1](X), rtol=1e-14, err_msg=name)


def test_results_have_the_nest_of_the_function() -> None:
    split = ted.checkpoint(lambda v, k: {"twice": 2 * v, "more": (v + k, None)})

    def both(x: Any) -> Any:
        found = ted.compute((3,), lambda i: split(x[i], k=i)["twice"])
        return found, ted.compute((3,), lambda i: split(x[i], i)["more"][0])

    twice, more = ted.function(both)(X)
    assert (twice.tolist(), more.tolist()) == ([0.2, 0.4, 0.6], [0.1, 1.2, 2.3])


@pytest.mark.parametrize("extents", [(0,), ("batch",)])
def test_of_no_element_and_of_any_number(extents: tuple[Any, ...]) -> None:
    def loss(x: Any) -> Any:
        n = 0 if extents == (0,) else x.shape[0]
        return ted.sum(ted.compute((n,), lambda i: f(x[i])))

    batch = () if extents == (0,) else 0
    assert ted.grad(loss, batch=batch)(X).tolist() == (
        [0, 0, 0] if extents == (0,) else (100 * X).tolist()
    )


REFUSED = {
    "captured": (
        lambda x, i: ted.grad(lambda a: a * x[i])(x[i]),
        r"grad: results must be tensors, got Scalar\(.*\), a value of an index lambda that was "
        "captured; what is called inside of the lambda takes such values as arguments",
    ),
    "of rank 1": (
        lambda x, i: ted.checkpoint(lambda a, b: a * b)(x[i], x),
        r"checkpoint: in an index lambda a call gives one number at each index, got .*\[3\]",
    ),
    "print": (
        lambda x, i: ted.grad(lambda a: (ted.print("{}", a), a)[1])(x[i]),
        "ted.print and ted.check take whole tensors",
    ),
    "linalg": (
        lambda x, i: ted.linalg.det(x[i]),
        r"det: a: takes tensors and arrays, got Scalar\(x\[i\]: float64\), a value of an index",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_on_elements_is_refused(name: str) -> None:
    fn, message = REFUSED[name]
    with pytest.raises(TedError, match=rf"{message}.*test_index_lambdas.py"):
        ted.function(lambda x: ted.compute((3,), lambda i: fn(x, i)))(X)
