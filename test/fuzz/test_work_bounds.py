"""A share of the random expressions whose gradients stay within the bound on work."""

from __future__ import annotations

import pytest

from fuzz.oracles import answer
from fuzz.test_campaign import clean
from ted.autodiff import materialise

BLOCK = 100


def test_a_few_expressions_stay_within_the_bound():
    summary = clean("work", 0, 12)
    assert len(summary.values["ratio"]) > 8
    assert "ratio median" in str(summary)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 312, BLOCK))
def test_a_share_of_the_expressions_stays_within_the_bound(first: int):
    clean("work", first, BLOCK)


def test_gradients_that_share_nothing_are_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(materialise, "_is_worth_sharing", lambda roots, body: False)
    assert any(answer(("work", seed, True)).kind == "wrong" for seed in range(12))


def test_parts_too_large_to_store_are_counted_apart():
    assert list(answer(("work", 26, True)).values) == ["ratio with a remark"]
