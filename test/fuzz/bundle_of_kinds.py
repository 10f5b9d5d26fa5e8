"""Bundles to damage: the programs on a Python device, saved with a sample."""

from __future__ import annotations

import random

import numpy as np

from ted.runtime.cuda.bundles import pack_bundle
from unit.runtime.python_machine import picking, powers, program

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def packed(rng: random.Random) -> bytes:
    """The file of one of three programs."""
    x = np.ones(4, np.float32)
    rows = np.stack([x, x, 2 * x, 6 * x])
    manifest, inputs, outputs = rng.choice(
        [
            (program(), (X,), (6 * X,)),
            (picking(), (np.int64(2),), (np.float32(3),)),
            (powers(), (x,), (rows, rows[::-1])),
        ]
    )
    return pack_bundle(manifest, [(inputs, outputs)])
