"""`expm` against scipy, its gradients against torch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch

import ted
from ted.errors import FrontendError
from unit.frontend.tracing import compiled
from unit.spectral.orders import check_orders

RANDOM = np.random.default_rng(9)


def test_exponentials_of_small_and_great_matrices() -> None:
    a = RANDOM.standard_normal((5, 3, 3)) * np.array([0, 1e-9, 1, 30, 300])[:, None, None]
    a[4] -= 1000 * np.eye(3)
    nilpotent = np.triu(np.full((3, 3), 1e5), 1)
    batch = np.stack([*a, nilpotent, nilpotent * 10, np.full((3, 3), np.nan)])
    found = compiled(ted.linalg.expm, batch)
    for mine, matrix in zip(found[:6], batch[:6], strict=True):
        other = scipy.linalg.expm(matrix)
        np.testing.assert_allclose(mine, other, rtol=1e-11, atol=1e-12 * np.abs(other).max())
    np.testing.assert_array_equal(found[0], np.eye(3))
    assert np.isnan(found[6:]).all(), "too many squarings, and no number"


@pytest.mark.slow
def test_gradients_of_an_exponential_are_those_of_torch() -> None:
    weights = RANDOM.standard_normal((2, 2, 2))
    check_orders(
        lambda a: ted.sum(ted.linalg.expm(a) * weights),
        lambda a: torch.sum(torch.linalg.matrix_exp(a) * torch.tensor(weights)),
        RANDOM.standard_normal((2, 2, 2)) * np.array([1.0, 8.0])[:, None, None],
    )


def test_only_square_matrices_of_floats_have_one() -> None:
    with pytest.raises(FrontendError, match="expm: a must be square in its last two dims"):
        ted.linalg.expm(np.ones((2, 3)))
    with pytest.raises(FrontendError, match="expm: takes floats, got int64"):
        ted.linalg.expm(np.eye(2, dtype=int))
