"""Checks that two ways to one result agree: a system after a pass, and machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ted
from ted.ir.equations import System
from ted.testing.tracing import interpreted


def check_same_values(before: System, after: System, tolerance: float = 0.0, seed: int = 0) -> None:
    """Two systems compute the same of small integers, by the reference interpreter."""
    random = np.random.default_rng(seed)
    arrays = [random.integers(-4, 5, t.static_shape).astype(t.dtype.name) for t in before.inputs]
    runs = (interpreted(before.inputs, system.outputs)(*arrays) for system in (before, after))
    for want, got in zip(*runs, strict=True):
        np.testing.assert_allclose(
            got, want, rtol=tolerance, atol=tolerance, err_msg=f"seed {seed}"
        )


def check_machine_code(
    inputs: Sequence[ted.Tensor], outputs: Sequence[ted.Tensor], arrays: Sequence[Any],
    rtol: float = 1e-10, atol: float = 1e-12,
) -> None:  # fmt: skip
    """Tensors are compiled to what the reference interpreter computes."""
    found, wanted = ted.compile(inputs, outputs)(*arrays), interpreted(inputs, outputs)(*arrays)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
