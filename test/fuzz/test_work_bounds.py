"""A share of the random expressions whose gradients stay within the bound on work."""

from __future__ import annotations

import pytest

from fuzz import work_bounds
from ted.autodiff import materialise

BLOCK = 100


def test_a_few_expressions_stay_within_the_bound():
    summary = work_bounds.run(0, 12)
    assert not summary.failed, str(summary)
    assert len(summary.ratios) > 8


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 512, BLOCK))
def test_a_share_of_the_expressions_stays_within_the_bound(first: int):
    summary = work_bounds.run(first, BLOCK)
    assert not summary.failed, str(summary)


def test_gradients_that_share_nothing_are_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(materialise, "_is_worth_sharing", lambda roots, body: False)
    assert work_bounds.run(0, 12).failed


def test_parts_too_large_to_store_are_counted_apart():
    summary = work_bounds.run(26, 1)
    assert not summary.failed
    assert list(summary.said) == [26]
