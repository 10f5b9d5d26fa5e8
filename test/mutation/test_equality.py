"""The judge of equal mutants: what differs, what is equal, and what nothing executes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from mutation.equality import Verdict, verdicts
from mutation.operators import Mutant, mutants_of
from mutation.packages import ROOT, sources

MODULE = "ted.autodiff.rules"
ITEMS = [("systems", 0), ("maps", 0)]  # the first has derivatives, the second has none


def mutant(function: str, before: str) -> Mutant:
    """One that is made of such a text in a function."""
    found = mutants_of(MODULE, sources("autodiff")[MODULE])
    return next(m for m in found if (m.function, m.before) == (function, before))


def judged() -> None:
    """Print what is said of a fault, a change of nothing, and a fault where nothing comes."""
    fault, nowhere = mutant("_mul", "mul(g, b)"), mutant("_atan2", "mul(scaled, x)")
    same = replace(fault, after="mul(g, b)", key="same")
    for _, verdict in verdicts([fault, same, nowhere], ITEMS):
        print(verdict)


@pytest.mark.slow
def test_mutants_are_different_equal_or_not_shown() -> None:
    command = "from mutation.test_equality import judged; judged()"  # where nobody has loaded ted
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT / "test", capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["different in 1, such as systems 0", "equal", "not shown"]


def test_only_what_was_executed_is_equal() -> None:
    assert Verdict(3, ()).is_equal
    assert not Verdict(0, ()).is_equal
    assert not Verdict(3, (("maps", 1),)).is_equal
