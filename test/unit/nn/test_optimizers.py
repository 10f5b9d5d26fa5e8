"""Steps of the optimisers follow torch's, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from ted import nn
from ted.testing.tracing import interpreted, traced

torch = pytest.importorskip("torch")
TOLERANCE = 1e-12


def gradients(count: int) -> list[np.ndarray]:
    generator = np.random.default_rng(3)
    return [generator.normal(size=(3, 2)) for _ in range(count)]


def torch_steps(make_optimizer, start: np.ndarray, grads: list[np.ndarray]) -> np.ndarray:
    parameter = torch.tensor(start, requires_grad=True)
    optimizer = make_optimizer([parameter])
    for grad in grads:
        parameter.grad = torch.tensor(grad)
        optimizer.step()
    return parameter.detach().numpy()


def test_adam_follows_torch():
    start, *grads = gradients(6)
    state = [start, np.zeros_like(start), np.zeros_like(start)]
    arrays = [*state, grads[0], np.array(1.0)]
    outputs, inputs = traced(
        lambda p, m, v, g, t: nn.adam(p, g, m, v, t, lr=0.01), arrays, what="test"
    )
    run = interpreted(inputs, outputs)
    for step, grad in enumerate(grads, 1):
        state = list(run(*state, grad, np.array(float(step))))
    want = torch_steps(lambda ps: torch.optim.Adam(ps, lr=0.01), start, grads)
    np.testing.assert_allclose(state[0], want, rtol=TOLERANCE)


def test_adam_takes_the_step_as_a_number():
    start, grad = gradients(2)
    zero = np.zeros_like(start)
    outputs, inputs = traced(
        lambda p, g, m, v: nn.adam(p, g, m, v, 1), [start, grad, zero, zero], what="test"
    )
    want = torch_steps(lambda ps: torch.optim.Adam(ps), start, [grad])
    got = interpreted(inputs, outputs)(start, grad, zero, zero)[0]
    np.testing.assert_allclose(got, want, rtol=TOLERANCE)


def test_sgd_with_momentum_follows_torch():
    start, *grads = gradients(4)
    arrays = [start, grads[0], np.zeros_like(start)]
    outputs, inputs = traced(lambda p, g, v: nn.sgd(p, g, 0.1, 0.9, v), arrays, what="test")
    run = interpreted(inputs, outputs)
    state = [start, np.zeros_like(start)]
    for grad in grads:
        state = list(run(state[0], grad, state[1]))
    want = torch_steps(lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9), start, grads)
    np.testing.assert_allclose(state[0], want, rtol=TOLERANCE)


def test_plain_sgd_subtracts():
    start, grad = gradients(2)
    outputs, inputs = traced(lambda p, g: nn.sgd(p, g, 0.5), [start, grad], what="test")
    np.testing.assert_array_equal(interpreted(inputs, outputs)(start, grad)[0], start - 0.5 * grad)
