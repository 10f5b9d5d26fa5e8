"""The force field learns through forces as in torch, which differentiates twice by a graph."""

from __future__ import annotations

import force_field
import numpy as np
import pytest

import ted

torch = pytest.importorskip("torch")

from programs.torch_training import leaves, train  # noqa: E402

WIDTH, SIZE, ATOMS = 4, 2, 3


def distances(x):
    apart = x[:, :, None] - x[:, None]
    return torch.sqrt((apart**2).sum(-1) + torch.eye(x.shape[1], dtype=x.dtype))


def morse(x):
    return torch.triu((1 - torch.exp(-1.5 * (distances(x) - 1.2))) ** 2 - 1, 1).sum()


def energy(p, x):
    r = distances(x)
    centres = torch.linspace(0.5, force_field.REACH, force_field.CENTRES, dtype=x.dtype)
    hidden = torch.tanh(torch.exp(-4 * (r[..., None] - centres) ** 2) @ p["w"] + p["bias"])
    near = torch.where(r < force_field.REACH, (1 - r / force_field.REACH) ** 2, 0)
    return torch.triu((hidden @ p["head"])[..., 0] * near, 1).sum()


def forces(energy, x):
    x = x.clone().requires_grad_()
    return -torch.autograd.grad(energy(x), x, create_graph=True)[0]


def loss(p, x, f):
    return ((forces(lambda x: energy(p, x), x) - f) ** 2).mean()


def test_true_forces_and_the_loss_equal_those_of_torch() -> None:
    x, f = next(force_field.batches(SIZE, ATOMS, "float64"))
    np.testing.assert_allclose(f, forces(morse, torch.from_numpy(x)).detach(), atol=1e-12)
    params = force_field.initial(WIDTH, "float64")
    value = ted.function(force_field.loss)(params, x, f)
    expected = loss(leaves(params), torch.from_numpy(x), torch.from_numpy(f)).item()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_losses_equal_those_of_torch_over_100_steps() -> None:
    losses, params = force_field.learn(100, WIDTH, SIZE, ATOMS, "float64")
    batches = force_field.batches(SIZE, ATOMS, "float64")
    first = force_field.initial(WIDTH, "float64")
    rates = [1e-2 * (1 + np.cos(np.pi * k / 100)) / 2 for k in range(101)]
    expected, last = train(loss, first, batches, 100, rates=rates)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)
    for name, value in params.items():
        np.testing.assert_allclose(value, last[name].detach(), rtol=1e-6, err_msg=name)
