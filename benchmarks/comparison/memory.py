"""Peak memory of a fresh process after one call that warms up, against torch eager.

Shown are the peak of the whole process during a call, libraries included, and what that is more
than in a process of the same peer that computes `tanh` of 64 x 64.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .runs import environment_of

MODELS = (
    "digits net grad", "mlp step grad", "six convolutions with relu grad", "transformer block vjp",
    "lstm 64 vjp",
)  # fmt: skip
NOTHING = "tanh 64x64 forward"
PEERS = ("ted", "torch")
ONCE = Path(__file__).with_name("memory_once.py")
LIMIT = 300.0  # seconds of a process


def peak(label: str, peer: str) -> float:
    """Megabytes, or not a number where the process failed."""
    try:
        done = subprocess.run(
            [sys.executable, str(ONCE), label, peer], env=environment_of(1), timeout=LIMIT,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"# {label}, {peer}: {str(error.stderr or error)[-300:]}")
        return math.nan
    return float(json.loads(done.stdout.splitlines()[-1])) / 1e6


def report(models: tuple[str, ...] = MODELS) -> Iterator[str]:
    """A line for each model."""
    yield f"{'MB at most':36}{'ted':>8}{'torch':>8}{'ratio':>7}  beyond tanh:{'ted':>8}{'torch':>8}"
    empty = [peak(NOTHING, peer) for peer in PEERS]
    for label in models:
        ours, theirs = (peak(label, peer) for peer in PEERS)
        more = [ours - empty[0], theirs - empty[1]]
        line = f"{label:36}{ours:8.0f}{theirs:8.0f}{ours / theirs:7.2f}"
        yield f"{line}{'':14}{more[0]:8.1f}{more[1]:8.1f}"
