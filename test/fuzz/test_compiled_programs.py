"""Random chains of equations and their gradients: machine code against the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from support.random_programs import random_program
from ted.api.compiling import compile_system
from ted.ir.equations import System, Tensor
from ted.testing.tracing import interpreted
from ted.transforms.gradient import differentiate

FAST, SLOW = range(12), range(12, 60)


def check_compiled(
    system: System, inputs: Sequence[Tensor], outputs: Sequence[Tensor], arrays: list[np.ndarray]
) -> None:
    """Both are f64; sums may be taken in another order."""
    compiled = compile_system(replace(system, inputs=tuple(inputs), outputs=tuple(outputs)))
    expected = interpreted(inputs, outputs)(*arrays)
    for tensor, got, want in zip(outputs, compiled(*arrays), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8, err_msg=tensor.name)


def check(seed: int) -> None:
    program = random_program(seed)
    system = program.system
    check_compiled(system, system.inputs, system.outputs, list(program.arrays))
    heads = [Tensor(f"d{t.name}", t.shape, t.dtype) for t in system.outputs]
    generator = np.random.default_rng(seed)
    cotangents = [np.asarray(generator.normal(size=h.shape)) for h in heads]
    gradients = differentiate(system.outputs, system.inputs, heads).gradients
    arrays = [*program.arrays, *cotangents]
    check_compiled(system, [*system.inputs, *heads], gradients, arrays)


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", FAST)
def test_compiled_programs_equal_interpreted_ones(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW)
def test_many_compiled_programs_equal_interpreted_ones(seed):
    check(seed)
