"""A share of the random programs over a batch; see `fuzz/row_programs.py`."""

from __future__ import annotations

import pytest

from fuzz import row_programs
from ted.transforms import row_independence

BLOCK = 10


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", [0, 1, 62])
def test_programs_in_strips_are_those_of_all_rows(seed: int) -> None:
    row_programs.check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(2, 92, BLOCK))
def test_many_programs_in_strips_are_those_of_all_rows(first: int) -> None:
    for seed in range(first, first + BLOCK):
        row_programs.check(seed)


@pytest.mark.slow
def test_a_row_that_depends_on_others_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its rules, the analysis lets through what the comparison finds."""
    monkeypatch.setattr(row_independence, "_RULES", ())

    def check_some() -> None:
        for seed in range(40):
            row_programs.check(seed)

    with pytest.raises((AssertionError, KeyError, IndexError)):
        check_some()
