"""A perceptron that solves Poisson's equation learns as torch's does, step by step."""

from __future__ import annotations

import numpy as np
import poisson
import pytest

import ted

torch = pytest.importorskip("torch")

from programs.torch_training import leaves, train  # noqa: E402

WIDTH, SIZE = 4, 3


def residual(params, points, forces):
    points = points.clone().requires_grad_()
    h = points
    for w, b in params[:-1]:
        h = torch.tanh(h @ w + b)
    u = (h @ params[-1]) * (points * (1 - points)).prod(1)
    (slopes,) = torch.autograd.grad(u.sum(), points, create_graph=True)
    curvature = sum(
        torch.autograd.grad(slopes[:, k].sum(), points, create_graph=True)[0][:, k]
        for k in range(points.shape[1])
    )
    return ((curvature + forces) ** 2).mean()


def test_the_residual_equals_that_of_torch() -> None:
    params, batch = poisson.perceptron(WIDTH, "float64"), next(poisson.batches(SIZE, "float64"))
    value = ted.function(poisson.residual)(params, *batch)
    expected = residual(leaves(params), *map(torch.from_numpy, batch)).item()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_residuals_equal_those_of_torch_while_it_learns() -> None:
    count = 60
    losses, _ = poisson.learn(count, WIDTH, SIZE, "float64")
    params, batches = poisson.perceptron(WIDTH, "float64"), poisson.batches(SIZE, "float64")
    rates = [3e-3 * (1 + np.cos(np.pi * k / count)) / 2 for k in range(count)]
    expected, _ = train(residual, params, batches, count, rates=rates)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)
