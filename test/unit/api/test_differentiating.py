"""Gradients of tensors as tensors: what is asked for, given and refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError
from ted.testing.tracing import interpreted

X = ted.placeholder((2,), "float64", name="x")


Y = ted.placeholder((2,), "float64", name="y")


N = ted.placeholder((2,), "int64", name="n")


POINT = [np.array([2.0, 3.0]), np.array([5.0, 7.0])]


P = X * Y


S = ted.sum(P * X)


def run(*tensors: Any) -> list[list[float]]:
    return [r.tolist() for r in interpreted([X, Y], tensors)(*POINT)]


def test_gradients_are_a_sequence_in_the_order_of_the_inputs() -> None:
    found = ted.differentiate(S, [Y, X])
    assert len(found) == 2
    assert run(found[0], found[1]) == [[4, 9], [20, 42]]
    assert [g.node for g in found] == [found[0].node, found[1].node]
    assert [g.node for g in found[1:]] == [found[1].node]
    assert found[-1].node is found[1].node
    assert repr(found) == "DifferentiationResult(dy: float64[2], dx: float64[2])"
    assert found.unused == ()


def test_inputs_default_to_all_float_placeholders() -> None:
    found = ted.differentiate(ted.sum(P * ted.cast(N, "float64")))
    assert [x.name for x in found.inputs] == ["x", "y"]
    (dx,) = ted.differentiate(S, X)
    assert run(dx) == [[20, 42]]


def test_adjoints_of_what_lies_between_and_their_summands() -> None:
    found = ted.differentiate(S, [X, Y])
    assert P in found.adjoints
    assert run(found.adjoints[P]) == [[2, 3]]
    assert set(found.adjoint_summands) >= {P, X, Y}
    parts = found.adjoint_summands[X]
    assert run(parts[P]) == [[10, 21]]
    assert run(*parts.values()) == [[10, 21], [10, 21]]
    assert "dx" in str(found)
    assert "x: float64" not in str(found).split("dx")[0]


def test_what_is_unused_has_zeros_and_is_said() -> None:
    found = ted.differentiate(ted.sum(X), [X, Y])
    assert [t.name for t in found.unused] == ["y"]
    assert repr(found).endswith("; zeros: y)")
    assert run(found[1]) == [[0, 0]]


def test_heads_belong_to_outputs() -> None:
    h, k = (ted.placeholder((2,), "float64", name=n) for n in "hk")
    dx = ted.differentiate([P, X * X], [X], [h, k])[0]
    numbers = [*POINT, np.array([1.0, 0]), np.array([0, 10.0])]
    assert interpreted([X, Y, h, k], [dx])(*numbers)[0].tolist() == [5, 60]


SHORT = ted.placeholder((1,), "float64", name="short")


NARROW = ted.placeholder((2,), "float32", name="narrow")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: ted.differentiate(P, [X]), r"output .* has shape \(2,\) and no head"),
        (lambda: ted.differentiate(P, [X], SHORT), "a head has the shape and type of its output"),
        (lambda: ted.differentiate(P, [X], NARROW), "a head has the shape and type of its output"),
        (lambda: ted.differentiate([P, P], [X], [P]), "one head per output, got 1 for 2 outputs"),
        (lambda: ted.differentiate(S, [N]), "only float tensors have gradients, got n of int64"),
        (lambda: ted.differentiate(ted.sum(N), [X]), "only float tensors have gradients"),
        (lambda: ted.differentiate(3.0, [X]), "output must be ted tensors, got float 3.0"),
        (lambda: ted.differentiate(S, [X, 2]), "inputs must be ted tensors, got int 2"),
        (lambda: ted.differentiate(S, [X], override={X: 3}), "override has the form"),
        (lambda: ted.differentiate(S, [X], override={P: ([X], 3)}), "override has the form"),
        (lambda: ted.differentiate(S, [X], override={P: ([N], lambda *a: a)}),
         "dependencies are float tensors that it is computed from"),
        (lambda: ted.differentiate(S, [X], override={P: ([P], lambda *a: a)}),
         "dependencies are float tensors that it is computed from"),
        (lambda: ted.differentiate(ted.sum(Y), [Y], override={P: ([X], lambda *a: a)}),
         "an output depends on the tensor"),
        (lambda: ted.differentiate(S, [X, Y], override={P: ([X, Y], lambda t, d, h: [h])}),
         "one adjoint per dependency, got 1 for 2"),
        (lambda: ted.differentiate(S, [X, Y], override={P: ([X, Y], lambda t, d, h: [h, NARROW])}),
         "an adjoint has the shape and type of its dependency"),
        (lambda: ted.differentiate(S, [X], fdiff=3), "fdiff is a function of"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DerivativeError, match=message):
        wrong()


def test_a_report_of_numbers_needs_no_sizes() -> None:
    report = ted.differentiate(S, [X, Y]).report()
    assert not report.scatters
    assert report.ratio == report.gradient / report.primal
    both = ted.differentiate([S, ted.sum(P)], [X, Y]).report()
    assert both.primal > report.primal
    with pytest.raises(DerivativeError, match="report: "):
        ted.differentiate(S, [X, Y]).report(n=3)
