"""Bundles to damage: the programs on a Python device, saved with a sample."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from ted.runtime.cuda.bundles import save_bundle
from unit.runtime.python_machine import picking, powers, program

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def saved(rng: random.Random, folder: Path) -> Path:
    """A bundle of one of three programs."""
    x = np.ones(4, np.float32)
    rows = np.stack([x, x, 2 * x, 6 * x])
    manifest, inputs, outputs = rng.choice(
        [
            (program(), (X,), (6 * X,)),
            (picking(), (np.int64(2),), (np.float32(3),)),
            (powers(), (x,), (rows, rows[::-1])),
        ]
    )
    return save_bundle(manifest, folder / "bundle", [(inputs, outputs)])
