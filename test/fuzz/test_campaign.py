"""A share of the campaign of random systems; all of it is one command, see `fuzz/campaign.py`."""

from __future__ import annotations

import pytest

from fuzz import campaign
from ted.ir.equations import Equation
from ted.transforms.ted_scatter_to_gather import gather_forms

BLOCK = 20


def clean(first: int, count: int) -> campaign.Summary:
    summary = campaign.run(first, count)
    assert not summary.failed, str(summary)
    return summary


def test_a_few_systems_pass_at_both_orders():
    summary = clean(0, 4)
    assert summary.systems == 4
    assert summary.points > 0
    assert summary.pieces > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 204, BLOCK))
def test_a_share_of_the_campaign_passes(first: int):
    clean(first, BLOCK)


def test_a_lost_piece_is_found(monkeypatch: pytest.MonkeyPatch):
    def losing(equation: Equation, *most: int) -> tuple[Equation, ...]:
        return gather_forms(equation, *most)[:1]

    monkeypatch.setattr("ted.transforms.ted_scatter_to_gather.gather_forms", losing)
    assert campaign.run(0, 6).failed


def test_a_summary_names_the_seeds_that_failed():
    summary = campaign.Summary(systems=3, failed=[7])
    assert "3 systems, 1 failed[7]" in str(summary)
