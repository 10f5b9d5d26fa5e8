"""A mixture of Gaussians fitted by gradients: measurements of three kinds of flowers.

Each Gaussian has a mean and a whole covariance, by the Cholesky factor of its inverse with the
logarithms of its diagonal, so that every parameter is free.
Source: the objective is that of ADBench (Srajer, Kukelova and Fitzgibbon, A Benchmark of Selected
Algorithmic Differentiation Tools, section 3.1), without its prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from training import FOLDER, arguments, save_curves, step_of, train

import ted
from ted import nn


def densities(p: Any, x: Any) -> Any:
    """The logarithm of weight times density of each Gaussian: (n, k) of points x (n, d)."""
    d = x.shape[1]
    diagonal = ted.exp(p["logs"])[:, :, None] * ted.eye(d, dtype=x.dtype)
    factors = ted.tril(p["factors"], -1) + diagonal
    z = ted.einsum("kij,nkj->nki", factors, x[:, None] - p["means"])
    normal = ted.sum(p["logs"], axis=1) - d / 2 * np.log(2 * np.pi)
    return nn.log_softmax(p["weights"]) + normal - ted.sum(z * z, axis=2) / 2


def loss(p: Any, x: Any) -> Any:
    """Minus the mean of the logarithm of the likelihood."""
    return -ted.mean(ted.logsumexp(densities(p, x), axis=1))


def initial(x: np.ndarray, k: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Wide Gaussians around some of the points."""
    d, dtype = x.shape[1], x.dtype
    means = x[np.random.default_rng(seed).choice(len(x), k, replace=False)]
    zeros = np.zeros((k, d, d), dtype)
    return {"weights": np.zeros(k, dtype), "means": means, "logs": zeros[:, 0], "factors": zeros}


def data(dtype: str) -> np.ndarray:
    """The flowers: 150 of 4 measurements, which vary by 1 around 0."""
    x = load_iris().data
    return ((x - x.mean(0)) / x.std(0)).astype(dtype)


def batches(x: np.ndarray) -> Iterator[tuple[np.ndarray]]:
    """All points in each step."""
    return repeat((x,))


def learn(count: int, x: np.ndarray, k: int) -> tuple[list[float], Any]:
    """The losses of `count` steps of Adam, and the parameters after them."""
    params, optimizer = initial(x, k), nn.adam(nn.cosine_schedule(5e-2, count))
    return train(step_of(loss, optimizer), params, optimizer.init(params), batches(x), count)


def main() -> None:
    """Fit, compare the likelihood with that of the EM algorithm of scikit-learn."""
    count = arguments(__doc__, steps=800).steps
    x = data("float64")
    losses, params = learn(count, x, 3)
    peer = GaussianMixture(3, n_init=5, reg_covar=1e-9, random_state=0).fit(x).score(x)
    print(f"log-likelihood {-losses[0]:.4f} at first, {-losses[-1]:.4f} at last; EM has {peer:.4f}")
    kinds = ted.function(lambda p, x: ted.argmax(densities(p, x), axis=1))(params, x)
    print(f"flowers of each kind: {sorted(np.bincount(kinds, minlength=3).tolist())}")
    save_curves(FOLDER / "mixture.png", {"loss": losses}, "minus log-likelihood")


if __name__ == "__main__":
    main()
