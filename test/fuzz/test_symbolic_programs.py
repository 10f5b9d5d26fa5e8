"""A share of the random programs of symbolic sizes; see `fuzz/symbolic_programs.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fuzz import symbolic_programs
from ted.api.compiling import compile_system
from ted.api.options import compile_options
from ted.api.symbolic import SymbolicFunction
from ted.ir import specialising
from ted.ir.equations import System

BLOCK = 10


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", range(6))
def test_symbolic_programs_are_those_of_every_size(seed: int) -> None:
    symbolic_programs.check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6, 46, BLOCK))
def test_many_symbolic_programs_are_those_of_every_size(first: int) -> None:
    for seed in range(first, first + BLOCK):
        symbolic_programs.check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_compiled_symbolic_programs_are_those_of_every_size(seed: int) -> None:
    built: dict[System, SymbolicFunction[Any]] = {}

    def run(system: System, arrays: Sequence[np.ndarray], sizes: dict[str, int]) -> Any:
        f = built.setdefault(system, SymbolicFunction(system, compile_system, compile_options()))
        return f.specialise(**{s.name: sizes[s.name] for s in f.sizes})(*arrays)

    symbolic_programs.check(seed, run)


def test_a_wrong_size_is_found() -> None:
    def run(system: System, arrays: Sequence[np.ndarray], sizes: dict[str, int]) -> Any:
        wrong = specialising.specialise(system, {name: v + 6 for name, v in sizes.items()})
        return [np.zeros(t.static_shape) for t in wrong.outputs]

    with pytest.raises(AssertionError, match="seed 0"):
        symbolic_programs.check(0, run)
