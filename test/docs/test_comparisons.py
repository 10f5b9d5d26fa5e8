"""docs/comparison.md says what `benchmarks/systems.py` finds on the systems that are installed."""

from __future__ import annotations

import pytest
import systems

from docs.blocks import ROOT

ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs/comparison.md").read_text().splitlines()
    if line.startswith("| ")
]
HEAD = next(k for k, row in enumerate(ROWS) if row[1:] == list(systems.SYSTEMS))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("system", systems.SYSTEMS)
def test_a_column_is_what_the_script_finds(system: str) -> None:
    pytest.importorskip(systems.MODULES[system])
    column = ROWS[HEAD].index(system)
    found = systems.cells(system)
    assert [row[column] for row in ROWS[HEAD + 1 :][: len(found)]] == found
