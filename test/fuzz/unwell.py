"""Oracles that die, hang and take all memory: what a campaign must outlive. For its tests."""

from __future__ import annotations

import os
import time
from typing import Any

from fuzz.outcomes import Outcome

HANGING, DYING = 3, 5


def unwell(question: tuple[str, Any, bool]) -> Outcome:
    """Dies of one seed, hangs at another, and finds a third one wrong."""
    _, seed, _ = question
    if seed == DYING:
        os.abort()
    if seed == HANGING:
        time.sleep(600)
    return Outcome("wrong", "odd") if seed == 1 else Outcome("ok", counts={"seeds": 1})


def large(_: Any) -> Outcome:
    """Asks for more memory than a child may have."""
    return Outcome("ok", str(len(bytearray(1 << 40))))


def busy(_: Any) -> Outcome:
    """Computes for ever."""
    while True:
        pass
