"""Loops over blocks of whatever can be made in blocks, however small it is."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process import compile_here
from ted.plan import block_choices, ted_loop_over_blocks

LARGE = 64  # bytes of the smallest tensor that is made in blocks


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[block_choices.Choice]:
    """All that can be is made in blocks of few rows; the choices of the latest compilation."""
    found: list[block_choices.Choice] = []

    def noted(*given: Any) -> list[block_choices.Choice]:
        found[:] = real(*given)
        return found

    real = ted_loop_over_blocks.choices
    bounds = block_choices.Bounds(LARGE, always=True)
    compile_here(monkeypatch)
    monkeypatch.setattr(block_choices, "LEAST", 2)
    monkeypatch.setattr(block_choices, "PRODUCTS", 3)
    monkeypatch.setattr(block_choices, "FAR_CACHE", 64)
    monkeypatch.setattr(ted_loop_over_blocks, "Bounds", lambda *_: bounds)
    monkeypatch.setattr(ted_loop_over_blocks, "choices", noted)
    return found
