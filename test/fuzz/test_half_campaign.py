"""A share of the campaign on f16 and bf16, and that it finds what it is for."""

from __future__ import annotations

import os
import signal

import pytest

from fuzz import half_campaign
from ted.lowering import half_casts
from ted.lowering.numbers_ir import Num

BLOCK = 30


def test_a_few_programs_agree_with_the_interpreter():
    summary = half_campaign.run(0, 6)
    assert set(summary) <= {"exact", "exact with gradients", "within bounds"}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6, 306, BLOCK))
def test_many_programs_agree_with_the_interpreter(first: int):
    summary = half_campaign.run(first, BLOCK)
    assert set(summary) <= {"exact", "exact with gradients", "within bounds"}


def test_a_wrong_rounding_is_found(monkeypatch: pytest.MonkeyPatch):
    def far(x: Num) -> Num:
        return half_casts.to_bf16_bits(x) + 8

    monkeypatch.setattr("ted.lowering.ted_expand_half_casts.to_bf16_bits", far)
    summary = half_campaign.run(20, 4)
    assert any(outcome.endswith("failed") for outcome in summary)


def test_a_death_is_found_and_the_next_seed_goes_on(monkeypatch: pytest.MonkeyPatch):
    def dying(seed: int, rows: list[str]) -> str:
        if seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return "exact"

    monkeypatch.setattr(half_campaign, "check_program", dying)
    assert half_campaign.run(0, 4) == {"exact": 3, "seed 1 failed": 1}
