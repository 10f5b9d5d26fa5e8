"""Code that others link: its addresses are found when it is loaded, wherever it lies."""

from __future__ import annotations

import pytest

from ted.codegen.emission import assembly
from ted.machine import CPUS

ADDRESS = "@g = external global i32\ndefine ptr @f() { ret ptr @g }"


TABLES = [("sse2", "g@GOTPCREL(%rip)"), ("avx2", "g@GOTPCREL(%rip)"), ("neon", ":got:g")]


@pytest.mark.parametrize(("row", "place"), TABLES)
def test_addresses_of_others_are_found_in_a_table(row: str, place: str) -> None:
    assert place in assembly([ADDRESS], CPUS[row])
