"""A share of the random imported programs; see `fuzz/imported_checks.py`."""

from __future__ import annotations

import importlib.util

import pytest

from fuzz.imported_checks import check_imported
from ted.ir import scalar
from ted.raising import accumulations, scalars

HAS_JAX = importlib.util.find_spec("jax") is not None
BLOCK = 50


def check(seed: int) -> None:
    if seed % 2 or HAS_JAX:
        assert not check_imported(seed).failed


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 6, 7, 10, 11])
def test_a_few_imported_programs_are_what_their_tools_say(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 212, BLOCK))
def test_a_share_of_the_imported_programs_is_what_their_tools_say(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check(seed)


@pytest.mark.slow
def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that loses what is in it beside the last value, and a quotient that is rounded down."""

    def losing(body: object, total: object) -> object:
        found = accumulation(body, total)  # type: ignore[arg-type]
        lost = found is not None and found.value is not None and found.value.op == "sub"
        return accumulations.Accumulation("add", found.value.args[0]) if lost else found  # type: ignore[union-attr]

    accumulation = accumulations.accumulation
    monkeypatch.setattr("ted.raising.generics.accumulation", losing)
    monkeypatch.setitem(scalars._ROWS, "arith.divsi", lambda _, a: scalar.floordiv(*a))

    def check_some() -> None:
        for seed in range(1, 241, 2):
            check_imported(seed)

    with pytest.raises(AssertionError):
        check_some()
