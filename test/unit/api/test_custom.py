"""Functions with derivatives of their own, parts for training loops, and sizes from shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError
from ted.testing import check_grads

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def marked(bwd: Any) -> Any:
    @ted.custom_vjp
    def both(pair: Any, scale: Any) -> Any:
        return pair["a"] * scale + pair["b"]

    both.defvjp(bwd)
    return both


def test_gradients_have_the_nests_of_the_arguments() -> None:
    seen: list[Any] = []

    def bwd(inputs: Any, outputs: Any, heads: Any) -> Any:
        seen.append((inputs, outputs))
        (head,) = heads
        return {"a": head * 2.0, "b": None}, head * 7.0

    both = marked(bwd)
    found = ted.grad(lambda a, b, s: ted.sum(both({"a": a, "b": b}, s)), (0, 1, 2))(X, Y, X)
    assert [g.tolist() for g in found] == [[2, 2], [0, 0], [7, 7]]
    assert set(seen[0][0][0]) == {"a", "b"}
    assert both.__name__ == "both"
    assert both({"a": X, "b": Y}, X).tolist() == [4, 9]


@pytest.mark.parametrize(
    ("bwd", "message"),
    [
        (lambda i, o, h: (None,), "custom_vjp: both: one gradient per argument, got 1 for 2"),
        (lambda i, o, h: ({"a": None}, None), "a gradient has the nest of its argument"),
        (lambda i, o, h: (None, 3.0), "an adjoint has the shape and type of its dependency"),
    ],
)
def test_gradients_that_do_not_fit_are_refused(bwd: Any, message: str) -> None:
    both = marked(bwd)
    with pytest.raises(DerivativeError, match=message):
        ted.grad(lambda a, b, s: ted.sum(both({"a": a, "b": b}, s)), (0, 1, 2))(X, Y, X)


def test_a_derivative_must_be_given() -> None:
    both = ted.custom_vjp(lambda x: x)
    x = ted.placeholder((2,), "float64", name="x")
    with pytest.raises(DerivativeError, match="needs a derivative, give one by defvjp"):
        both(x)


def test_what_a_derivative_reads_of_the_results_has_that_derivative() -> None:
    grown = ted.custom_vjp(lambda x: ted.stop_gradient(ted.exp(x)))
    grown.defvjp(lambda inputs, outputs, heads: heads[0] * outputs[0])
    once = ted.grad(lambda x: ted.sum(grown(x)))
    np.testing.assert_allclose(ted.grad(lambda x: ted.sum(once(x)))(X), np.exp(X), rtol=1e-15)


@ted.custom_vjp
def _quotient(a: Any, b: Any, inverse: Any) -> Any:
    """It depends on `a` by its derivative alone."""
    del a
    return b * inverse


@_quotient.defvjp
def _quotient_adjoint(inputs: Any, outputs: Any, heads: Any) -> Any:
    (a, _, inverse), (x,), (head,) = inputs, outputs, heads
    of_b = _quotient(a, head, inverse)
    return -x * of_b, of_b, None


def test_derivatives_that_adjoints_have_follow_them_into_forward_mode() -> None:
    """What a tangent is made of was a copy without them: slopes of `jvp` were of `b` alone."""

    def quotient(a: Any, b: Any) -> Any:
        return _quotient(a, b, ted.stop_gradient(1 / a))

    a, b = np.array([0.5, 2.0, 3.0]), np.array([1.0, -2.0, 4.0])
    check_grads(quotient, [a, b], order=3, modes=("rev", "fwd"))


@ted.custom_vjp
def _volume(a: Any) -> Any:
    return ted.linalg.det(a)


@_volume.defvjp
def _volume_adjoint(inputs: Any, outputs: Any, heads: Any) -> Any:
    """The inverse, as a part of a larger one."""
    zero = ted.zeros_like(inputs[0])
    rows = [ted.concatenate(row, -1) for row in ([inputs[0], zero], [zero, inputs[0]])]
    return heads[0] * outputs[0] * ted.linalg.inv(ted.concatenate(rows, -2))[:2, :2].mT


def test_a_derivative_may_use_a_part_of_what_has_its_own() -> None:
    """The part alone was computed, and its own derivative was asked for the head of the whole."""
    check_grads(_volume, [np.array([[0.5, 2.0], [3.0, 1.0]])], order=2)
