"""Kernels that differ in numbers are one, and every call of it has its own numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ted

FACTORS = (0.5, 1.5, -2.0, 3.0)


@pytest.mark.parametrize("rows", [8, 4096])
def test_results_that_differ_in_numbers_are_right_and_share_a_kernel(rows: int) -> None:
    def several(x: ted.Tensor) -> tuple[ted.Tensor, ...]:
        return tuple(ted.sum(ted.sin(x * k) + k * k, axis=1) for k in FACTORS)

    x = np.random.default_rng(0).normal(size=(rows, 64)).astype(np.float32)
    run = ted.function(several)
    for found, k in zip(run(x), FACTORS, strict=True):
        expected = np.sum(np.sin(np.float64(x) * k) + k * k, axis=1)
        np.testing.assert_allclose(found, expected, rtol=64 * np.finfo(np.float32).eps, atol=1e-4)
    assert run.compiled(x).ir("kernels").count("func.func private") == 1
