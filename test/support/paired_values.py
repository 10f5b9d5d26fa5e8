"""What a system computes before and after a pass, on the same small integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ted.ir.equations import System
from ted.testing.tracing import interpreted


def paired_values(before: System, after: System) -> Iterator[tuple[Any, Any]]:
    """Each result before and after, by the reference interpreter."""
    random = np.random.default_rng(0)
    arrays = [random.integers(-4, 5, t.static_shape).astype("f8") for t in before.inputs]
    runs = [interpreted(before.inputs, system.outputs)(*arrays) for system in (before, after)]
    return zip(*runs, strict=True)
