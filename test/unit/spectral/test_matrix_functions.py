"""Functions of symmetric matrices, also where eigenvalues are equal, against block matrices."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import ted
from ted.errors import FrontendError
from unit.frontend.tracing import compiled

RNG = np.random.default_rng(13)
Q = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
VALUES = {
    "distinct": (-1.0, 0.5, 2.0), "a pair": (1.0, 1.0, 2.0), "near": (1.0, 1.0 + 1e-9, 2.0),
    "nearer": (1.0, 1.0 + 1e-5, 1.0 + 1e-4), "two of 0": (0.0, 0.0, 2.0), "zero": (0.0, 0.0, 0.0),
    "all": (1.0, 1.0, 1.0),
}  # fmt: skip


def with_values(values: Any) -> Any:
    a = Q * np.array(values) @ Q.T
    return (a + a.T) / 2


def symmetric() -> Any:
    x = RNG.standard_normal((3, 3))
    return x + x.T


def along(a: Any, directions: list[Any]) -> Any:
    """The derivative of the exponential along all directions, from those of block matrices."""
    total = np.zeros_like(a)
    for chosen in permutations(directions):
        blocks = len(chosen) + 1
        whole = np.kron(np.eye(blocks), a)
        for k, x in enumerate(chosen):
            whole[3 * k : 3 * k + 3, 3 * k + 3 : 3 * k + 6] = x
        total += scipy.linalg.expm(whole)[:3, -3:]
    return total


def tied(g: Any) -> Any:
    """The gradient for both triangles as that of the lower one."""
    return np.tril(g + g.T) - np.diag(np.diag(g))


def loss(a: Any, t: Any, weights: Any) -> Any:
    return ted.sum(ted.linalg.funm(a, lambda w: ted.exp(t * w)) * weights)


def test_a_slope_at_equal_values_tells_them_apart() -> None:
    weights = np.array([[3.0, 1.0], [1.0, -2.0]])
    slope = compiled(ted.grad(lambda a: loss(a, 1.0, weights)), np.eye(2))
    np.testing.assert_allclose(slope, np.e * tied(weights), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_derivatives_of_two_orders_are_those_of_blocks(name: str) -> None:
    a, weights, x = with_values(VALUES[name]), symmetric(), symmetric()

    def every(a: Any, t: Any, x: Any) -> Any:
        first, of_t = ted.grad(loss, argnums=(0, 1))(a, t, weights)
        second = ted.grad(lambda a: ted.sum(ted.grad(loss)(a, t, weights) * np.tril(x)))(a)
        return ted.linalg.funm(a, ted.exp), first, of_t, second

    value, first, of_t, second = compiled(every, a, np.array(1.0), x)
    np.testing.assert_allclose(value, scipy.linalg.expm(a), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(first, tied(along(a, [weights])), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(of_t, np.sum(weights * (a @ scipy.linalg.expm(a))), rtol=1e-11)
    np.testing.assert_allclose(second, tied(along(a, [weights, x])), rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["distinct", "a pair", "zero"])
def test_the_third_derivative_and_a_tangent(name: str) -> None:
    a, weights, x, y = with_values(VALUES[name]), *(symmetric() for _ in range(3))

    def third(a: Any) -> Any:
        def value(a: Any) -> Any:
            return loss(a, 1.0, weights)

        def first(a: Any) -> Any:
            return ted.sum(ted.grad(value)(a) * np.tril(x))

        return ted.jvp(lambda a: ted.sum(ted.grad(first)(a) * np.tril(y)), (a,), (np.tril(x),))[1]

    expected = np.sum(along(a, [x, y, x]) * weights)
    np.testing.assert_allclose(compiled(third, a), expected, rtol=1e-7)


@pytest.mark.slow
def test_batches_types_and_functions_with_steps() -> None:
    batch = np.stack([with_values(values) for values in VALUES.values()])
    weights = symmetric()
    logs = compiled(lambda a: ted.linalg.funm(a, lambda w: ted.log(3.0 + w)), batch)
    for mine, a in zip(logs, batch, strict=True):
        np.testing.assert_allclose(mine, scipy.linalg.logm(3 * np.eye(3) + a), atol=1e-12)

    def projected(a: Any) -> Any:
        return ted.linalg.funm(a, lambda w: ted.where(w > 1.5, 1.0, 0.0))

    a = with_values(VALUES["a pair"])
    p, rest = a - np.eye(3), 2 * np.eye(3) - a
    slope = compiled(ted.grad(lambda a: ted.sum(projected(a) * weights)), a)
    np.testing.assert_allclose(slope, tied(p @ weights @ rest + rest @ weights @ p), atol=1e-12)
    small = compiled(lambda a: ted.linalg.funm(a, ted.exp), a.astype("float32"))
    np.testing.assert_allclose(small, scipy.linalg.expm(a), rtol=1e-5)
    assert small.dtype == np.float32


@pytest.mark.slow
def test_a_slope_that_f_does_not_have_is_none() -> None:
    root = ted.grad(lambda a: ted.sum(ted.linalg.funm(a, ted.sqrt)))
    assert not np.isfinite(compiled(root, np.zeros((2, 2)))[np.tril_indices(2)]).any()
    assert np.isnan(compiled(root, np.diag([np.nan, 1.0]))[np.tril_indices(2)]).all()
    assert compiled(lambda a: ted.linalg.funm(a, ted.exp), np.zeros((0, 0))).shape == (0, 0)


REFUSED = {
    "a must be square": lambda: ted.linalg.funm(np.ones((2, 3)), ted.exp),
    "UPLO: must be 'L' or 'U'": lambda: ted.linalg.funm(np.eye(2), ted.exp, "l"),
    "f: must be elementwise, got": lambda: ted.linalg.funm(np.eye(2), ted.sum),
    "funm: f": lambda: ted.linalg.funm(np.eye(2), 2.0),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_the_rule(text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        REFUSED[text]()
