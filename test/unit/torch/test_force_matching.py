"""A potential of atoms learns from forces in a compiled step: second order inside of a graph.

The potential is one operator of ted. Forces are derivatives of the energy, and the gradient of
their loss by the weights is of the second order (pytorch issue 183603).
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import ted
import ted.torch
from unit.torch.programs import assert_equal

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def potential(np: ModuleType, params: Any, positions: Any) -> Any:
    """The energy of atoms, from functions of their distances, in ted or in torch."""
    between = positions[:, None] - positions[None]
    squares = (between * between).sum(2)
    features = np.tanh(np.exp(-squares[:, :, None] * params["widths"]) @ params["w"])
    pairs = (features @ params["v"]) * (1 - np.eye(positions.shape[0], dtype=positions.dtype))
    return pairs.sum()


@ted.torch.op
def energy(params: Any, positions: Any) -> Any:
    return potential(ted, params, positions)  # type: ignore[arg-type]


def torch_energy(params: Any, positions: Any) -> Any:
    return potential(torch, params, positions)


def trained(energy: Callable[..., Any], backend: str | None) -> list[Any]:
    """Losses and weights of some steps."""
    rng = np.random.default_rng(0)
    shapes = {"widths": (4,), "w": (4, 5), "v": (5,)}
    params = {k: torch.tensor(rng.normal(size=s), requires_grad=True) for k, s in shapes.items()}
    positions = torch.tensor(rng.normal(size=(6, 3)), requires_grad=True)
    target = torch.tensor(rng.normal(size=(6, 3)))

    def loss(params: Any, positions: torch.Tensor) -> torch.Tensor:
        (slope,) = torch.autograd.grad(energy(params, positions), positions, create_graph=True)
        return ((-slope - target) ** 2).mean()

    step = loss if backend is None else torch.compile(loss, fullgraph=True, backend=backend)
    optimiser = torch.optim.Adam(params.values(), 1e-2)
    losses: list[Any] = []
    for _ in range(3):
        optimiser.zero_grad()
        value = step(params, positions)
        value.backward()
        optimiser.step()
        losses.append(value.detach())
    return [*losses, *params.values()]


def check(backend: str) -> None:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        assert_equal(trained(energy, backend), trained(torch_energy, None))


def test_a_potential_learns_from_forces_in_a_compiled_step() -> None:
    check("aot_eager")


@pytest.mark.slow
def test_a_potential_learns_from_forces_in_code_of_inductor() -> None:
    check("inductor")
