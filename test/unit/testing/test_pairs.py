"""Hand-written derivatives: right ones are accepted, seeded errors are found and placed."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.autodiff import rules
from ted.errors import DerivativeError
from ted.ir.scalar import neg
from ted.testing import check_grads, check_vjp

RNG = np.random.default_rng(0)
SQUARES = [RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))]


def product(a, b):
    return ted.tanh(a @ b) + a


def product_backward(inputs, outputs, heads):
    a, b = inputs
    (out,), (head,) = outputs, heads
    inner = head * (1.0 - (out - a) ** 2)
    return inner @ b.T + head, a.T @ inner


def smooth(x):
    r = ted.reduce_axis(3, name="r")
    return ted.compute((4,), lambda i: ted.sum(x[i + r] ** 2, axis=r))


def smooth_backward(inputs, outputs, heads, last=4):
    (x,), (head,) = inputs, heads
    r = ted.reduce_axis(3, name="r")

    def adjoint(i):
        inside = (i - r >= 0) & (i - r < last)
        return ted.sum(2.0 * x[i] * head[i - r], axis=r, where=inside)

    return ted.compute((6,), adjoint)


@pytest.mark.parametrize("order", [1, 2])
def test_right_pairs_are_accepted(order):
    check_vjp(product, product_backward, SQUARES, order=order)
    check_vjp(smooth, smooth_backward, [RNG.normal(size=6)], order=order)


def sign(inputs, outputs, heads):
    da, db = product_backward(inputs, outputs, heads)
    return da, -db


def missing_term(inputs, outputs, heads):
    da, db = product_backward(inputs, outputs, heads)
    return da - heads[0], db


def transposed(inputs, outputs, heads):
    da, db = product_backward(inputs, outputs, heads)
    return da, db.T


def missing_factor(inputs, outputs, heads):
    a, b = inputs
    (head,) = heads
    return head @ b.T + head, a.T @ head


def none_for_one(inputs, outputs, heads):
    return None, product_backward(inputs, outputs, heads)[1]


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("wrong", "arguments"),
    [
        (sign, "1"),
        (missing_term, "0"),
        (transposed, "1"),
        (missing_factor, "01"),
        (none_for_one, "0"),
    ],
)  # fmt: skip
def test_wrong_gradients_are_found_with_their_argument(wrong, arguments):
    where = rf"got dx([{arguments}])\[[012], [012]\] = .* \(argument \1\)"
    with pytest.raises(DerivativeError, match=where):
        check_vjp(product, wrong, SQUARES)


def test_bound_that_is_off_by_one_is_found_at_its_element():
    def short(inputs, outputs, heads):
        return smooth_backward(inputs, outputs, heads, last=3)

    with pytest.raises(DerivativeError, match=r"dx0\[[345]\] = .* \(argument 0\)"):
        check_vjp(smooth, short, [RNG.normal(size=6)])


def test_wrong_number_of_gradients_is_refused():
    with pytest.raises(DerivativeError, match="one gradient per argument, got 1 for 2"):
        check_vjp(product, lambda inputs, outputs, heads: (heads[0],), SQUARES)


def wrong_product(node, g):
    """The rule of a product with one term forgotten."""
    return rules._mul(node, g)[:1]


def wrong_tanh(node, g):
    return [(k, where, neg(value)) for k, where, value in rules.RULES["exp"](node, g)]


@pytest.mark.parametrize(("name", "rule"), [("mul", wrong_product), ("tanh", wrong_tanh)])
def test_wrong_rules_of_ted_are_found(name, rule, monkeypatch):
    monkeypatch.setitem(rules.RULES, name, rule)
    with pytest.raises(DerivativeError, match="the VJP equals central differences"):
        check_grads(lambda a, b: ted.tanh(a * b), SQUARES)
