"""Random programs, their gradients in scatter and in gather form: ops and back change no number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.random_programs import random_contraction, random_program
from ted.ir.equations import System
from ted.ir.from_ops import from_module
from ted.ir.to_ops import to_module
from ted.testing.interpreter import interpret
from ted.transforms.gradient import vjp_system
from ted.transforms.ted_scatter_to_gather import scatter_to_gather


def check(system: System, arrays: Sequence[Any]) -> None:
    first = to_module(system)
    assert first.operation.verify()
    second = to_module(from_module(first))
    third = to_module(from_module(second))
    assert str(second) == str(third)
    for one, other in zip(interpret(first, arrays), interpret(third, arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def random_arrays(system: System, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.normal(size=t.shape) for t in system.inputs]


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", range(12))
def test_a_random_program_and_its_gradients_survive(seed: int) -> None:
    program = random_program(seed).system
    check(program, random_arrays(program, seed))
    gradient = vjp_system(program, range(len(program.inputs)), "main")
    check(gradient, random_arrays(gradient, seed))
    gathered, _ = scatter_to_gather(gradient)
    check(gathered, random_arrays(gathered, seed))


@pytest.mark.parametrize("seed", range(12))
def test_a_random_contraction_survives(seed: int) -> None:
    system = random_contraction(seed).system
    check(system, random_arrays(system, seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 52))
def test_many_random_programs_survive(seed: int) -> None:
    test_a_random_program_and_its_gradients_survive(seed)
