"""A force field learns from forces: its energy is differentiated in positions, then in parameters.

Clusters of atoms feel a Morse potential. A network gives each pair of atoms an energy by their
distance; minus the gradient of the sum are the forces, which are compared with the true ones. No
energy is ever shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, step_of, train

import ted
from ted import nn

CENTRES, REACH = 12, 4.0


def distances(x: Any) -> Any:
    """Between all pairs of atoms x (atoms, 3), 1 on the diagonal."""
    n = x.shape[0]
    apart = x[:, None] - x[None, :]
    return ted.sqrt(ted.sum(apart * apart, axis=-1) + ted.eye(n, dtype=x.dtype))


def energy(p: Any, x: Any) -> Any:
    """The energy of a cluster: of Gaussians in the distance of each pair, through two layers."""
    r = distances(x)
    centres = ted.linspace(0.5, REACH, CENTRES, dtype=x.dtype)
    features = ted.exp(-4 * (r[..., None] - centres) ** 2)
    hidden = ted.tanh(nn.dense(features, p["w"], p["bias"]))
    each = nn.dense(hidden, p["head"])[..., 0] * ted.where(r < REACH, (1 - r / REACH) ** 2, 0)
    return ted.sum(ted.triu(each, 1))


def morse(x: Any) -> Any:
    """The energy that is to be found: depth 1 at distance 1.2."""
    r = distances(x)
    return ted.sum(ted.triu((1 - ted.exp(-1.5 * (r - 1.2))) ** 2 - 1, 1))


def forces(energy: Any, x: Any) -> Any:
    """Minus the gradient of an energy in the positions x (clusters, atoms, 3)."""
    return -ted.vmap(ted.grad(energy))(x)


def loss(p: Any, x: Any, f: Any) -> Any:
    """The mean square error of the forces."""
    return nn.mse(forces(lambda x: energy(p, x), x), f)


@ted.function
def true_forces(x: Any) -> Any:
    """The forces of the potential that is to be found."""
    return forces(morse, x)


def initial(width: int, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Parameters of the network."""
    rng = np.random.default_rng(seed)
    w, head = rng.standard_normal((CENTRES, width)), rng.standard_normal((width, 1))
    params = {"w": w / 2, "bias": np.zeros(width), "head": head / np.sqrt(width)}
    return {name: value.astype(dtype) for name, value in params.items()}


def batches(size: int, atoms: int, dtype: str, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """Clusters on a disturbed lattice, and the forces on their atoms."""
    rng = np.random.default_rng(seed)
    lattice = 1.2 * np.stack(np.meshgrid(*[np.arange(2.0)] * 3), -1).reshape(8, 3)[:atoms]
    while True:
        x = (lattice + 0.2 * rng.standard_normal((size, atoms, 3))).astype(dtype)
        yield x, np.asarray(true_forces(x))


def learn(count: int, width: int, size: int, atoms: int, dtype: str) -> tuple[list[float], Any]:
    """The losses of `count` steps of Adam, and the parameters after them."""
    params, optimizer = initial(width, dtype), nn.adam(nn.cosine_schedule(1e-2, count))
    step = step_of(loss, optimizer)
    return train(step, params, optimizer.init(params), batches(size, atoms, dtype), count)


def main() -> None:
    """Train, compare the energy of two atoms with the true one, up to a constant."""
    options = arguments(__doc__, steps=1500, dtype="float64")
    losses, params = learn(options.steps, 32, 16, 6, options.dtype)
    print(f"mean square error of forces {losses[0]:.2e} at first, {losses[-1]:.2e} at last")
    r = np.linspace(0.8, 2.5, 35)
    two = np.zeros((35, 2, 3))
    two[:, 1, 0] = r
    found = np.asarray(ted.function(ted.vmap(energy, in_axes=(None, 0)))(params, two))
    true = np.asarray(ted.function(ted.vmap(morse))(two))
    curves = {"found": list(found - found[-1]), "true": list(true - true[-1])}
    print(f"energy of two atoms off by at most {np.abs(np.subtract(*curves.values())).max():.3f}")
    save_curves(FOLDER / "force_field.png", curves, "energy of two atoms, 0.8 to 2.5 apart", "")


if __name__ == "__main__":
    main()
