"""Degrees of quotients of polynomials: never below the true ones, against polynomials."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.testing import interpret
from ted.testing.degrees import Degree, Degrees
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.tracing import module_of, nodes

Quotient = tuple[Any, Any]  # coefficients of numerator and denominator, the highest power first

OPERATORS: dict[Callable[..., Any], Callable[[Quotient, Quotient], Quotient]] = {
    operator.add: lambda p, q: (
        np.polyadd(np.polymul(p[0], q[1]), np.polymul(q[0], p[1])), np.polymul(p[1], q[1])
    ),
    operator.sub: lambda p, q: (
        np.polysub(np.polymul(p[0], q[1]), np.polymul(q[0], p[1])), np.polymul(p[1], q[1])
    ),
    operator.mul: lambda p, q: (np.polymul(p[0], q[0]), np.polymul(p[1], q[1])),
    operator.truediv: lambda p, q: (np.polymul(p[0], q[1]), np.polymul(p[1], q[0])),
}  # fmt: skip


def true_degree(quotient: Quotient) -> Degree:
    above, below = (max(len(np.trim_zeros(p, "f")) - 1, 0) for p in quotient)
    return Degree(above, below)


def leads_cancel(function: Any, p: Quotient, q: Quotient) -> bool:
    """Whether the highest powers of a sum may cancel; those of a product never do."""
    if function in (operator.mul, operator.truediv):
        return not (np.any(p[0]) and np.any(q[0]))
    left, right = true_degree(p), true_degree(q)
    return left.above + right.below == right.above + left.below


def test_no_arithmetic_has_a_higher_degree_than_is_said() -> None:
    random = np.random.default_rng(7)
    one = np.array([1], object)
    for _ in range(60):
        known: list[tuple[Degree, Quotient]] = [
            (Degree(1), (np.array([2, 1], object), one)), (Degree(), (np.array([3], object), one)),
        ]  # fmt: skip
        for _ in range(5):
            function = list(OPERATORS)[random.integers(len(OPERATORS))]
            (a, p), (b, q) = (known[random.integers(len(known))] for _ in range(2))
            if function is operator.truediv and not np.any(q[0]):
                continue  # by nothing
            degree, quotient = function(a, b), OPERATORS[function](p, q)
            true = true_degree(quotient)
            assert true.above <= degree.above
            assert true.below <= degree.below
            exact = (a, b) == (true_degree(p), true_degree(q))
            assert degree == true or not exact or leads_cancel(function, p, q)
            known.append((degree, quotient))


def test_degrees_have_no_order() -> None:
    with pytest.raises(NotEvaluated, match="degrees: quotients of polynomials have no order"):
        assert Degree(1) < Degree(2)


X = ted.placeholder((3,), "float64", name="x")
H = ted.placeholder((3,), "float32", name="h")
N = ted.placeholder((3,), "int64", name="n")


def degrees(tensor: Any) -> list[Any]:
    """What the elements of a program are, where those of x and h are variables and n is 0, 1, 2."""
    ones = np.full(3, Degree(1), object)
    module = module_of(nodes([X, H, N], "test"), nodes([tensor], "test"))
    return interpret(module, [ones, ones, np.arange(3)], domain=Degrees())[0].ravel().tolist()


CASES: dict[str, tuple[Any, list[Any]]] = {
    "constants": (ted.full((3,), 2.0, "float64"), [Degree()] * 3),
    "a polynomial": (X * X * 3.0 - X + 1.0, [Degree(2)] * 3),
    "a negative": (-X, [Degree(1)] * 3),
    "a quotient": ((X + 1.0) / (X * X), [Degree(1, 2)] * 3),
    "a sum of quotients": (1.0 / X + X / (X + 2.0), [Degree(2, 2)] * 3),
    "a whole power": (X**-3, [Degree(0, 3)] * 3),
    "a sum": (ted.sum(X * X), [Degree(2)]),
    "a product": (ted.prod(X), [Degree(3)]),
    "a total of a narrower type": (ted.sum(ted.cast(H, "float64") * X), [Degree(2)]),
    "rounding": (ted.cast(X * X, "float32"), [Degree(2)] * 3),
    "numbers of integers": (ted.cast(N, "float64") * X, [Degree(1)] * 3),
    "numbers of conditions": (ted.cast(N > 0, "float64") * X, [Degree(1)] * 3),
    "a constant to derivatives": (ted.stop_gradient(X) * X, [Degree(2)] * 3),
    "a choice by integers": (ted.where(N > 1, X * X, X), [Degree(1), Degree(1), Degree(2)]),
    "an element at data": (ted.take(ted.cumprod(X, 0), N, 0), [Degree(1), Degree(2), Degree(3)]),
    "integers": (N * N - ted.sum(N), [-3, -2, 1]),
    "a maximum of integers": (ted.max(N), [2]),
}


@pytest.mark.parametrize("name", CASES)
def test_elements_are_their_degrees_and_integers_are_themselves(name: str) -> None:
    tensor, expected = CASES[name]
    assert degrees(tensor) == expected


NO_POLYNOMIALS: dict[str, tuple[Any, str]] = {
    "a function": (ted.exp(X), "an op on quotients of polynomials, got math.exp"),
    "a comparison": (ted.where(X > 0, X, 0.0), "an op on quotients of polynomials, got arith.cmpf"),
    "a whole number of one": (ted.cast(X, "int64"), "got arith.fptosi"),
    "a maximum": (ted.max(X), "a sum or a product, got max"),
    "a position": (ted.argmax(X), "no order|a sum or a product"),
}


@pytest.mark.parametrize("name", NO_POLYNOMIALS)
def test_what_is_no_quotient_of_polynomials_has_no_degree(name: str) -> None:
    tensor, message = NO_POLYNOMIALS[name]
    with pytest.raises(NotEvaluated, match=message):
        degrees(tensor)


SPELLED = """func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
  %init = tensor.empty() : tensor<2xf64>
  %0 = "ted.compute"(%x, %init) ({{
  ^bb0(%a: f64):
    %b = arith.mulf %a, %a : f64
    {0}
    "ted.yield"(%y) : (f64) -> ()
  }}) {{combiner = "set", domain = affine_set<(d0) : (0 == 0)>, extents = array<i64: 2>,
       guards = [affine_set<(d0) : (0 == 0)>], iterators = ["parallel"],
       reads = [affine_map<(d0) -> (d0)>], write = affine_map<(d0) -> (d0)>}}
      : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}}"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%y = math.fma %b, %b, %a : f64", Degree(4)),
        ("%y = math.fma %a, %a, %b : f64", Degree(2)),
        ("%c = arith.divf %a, %b : f64\n%y = math.fma %a, %a, %c : f64", Degree(4, 2)),
        ("%c = arith.constant true\n%y = arith.select %c, %b, %a : f64", Degree(2)),
        ("%c = arith.constant true\n%d = arith.uitofp %c : i1 to f64\n"
         "%y = arith.mulf %d, %b : f64", Degree(2)),
    ],
)  # fmt: skip
def test_ops_that_only_ir_spells(body: str, expected: Degree) -> None:
    ones = np.full(2, Degree(1), object)
    (found,) = interpret(SPELLED.format(body), [ones], domain=Degrees())
    assert found.tolist() == [expected] * 2
