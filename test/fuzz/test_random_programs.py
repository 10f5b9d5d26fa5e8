"""Random chains of equations: gradients against differences and against their own scatter form."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.random_systems import scatter_gradients
from support.random_programs import RandomProgram, random_program
from sweeps import blocks
from ted.ir.equations import Tensor
from ted.testing import check_grads
from ted.testing.tracing import interpreted
from ted.transforms.gradient import differentiate


def check_forms(program: RandomProgram, seed: int) -> None:
    """Gather and scatter form give one result up to the order of sums."""
    system = program.system
    heads = [Tensor(f"d{t.name}", t.shape, t.dtype) for t in system.outputs]
    generator = np.random.default_rng(seed)
    cotangents = [np.asarray(generator.normal(size=h.shape)) for h in heads]
    inputs = [*system.inputs, *heads]
    arrays = [*program.arrays, *cotangents]
    scattered = interpreted(inputs, scatter_gradients(system, heads))(*arrays)
    gathered = interpreted(inputs, differentiate(system.outputs, system.inputs, heads).gradients)(
        *arrays
    )
    for tensor, a, b in zip(system.inputs, gathered, scattered, strict=True):
        np.testing.assert_allclose(
            a, b, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}: d{tensor.name}"
        )


@pytest.mark.fast(1)
@blocks(10, 40)
def test_gather_form_equals_scatter_form(seeds):
    for seed in seeds:
        check_forms(random_program(seed), seed)


def check_differences(seed: int, order: int) -> None:
    program = random_program(seed)
    system = program.system
    try:
        check_grads((system.outputs, system.inputs), program.arrays, order=order)
    except Exception as error:
        error.add_note(f"seed {seed}") if hasattr(error, "add_note") else None
        raise


def test_first_order_equals_differences():
    for seed in range(10):
        check_differences(seed, order=1)


@pytest.mark.slow
@blocks(10, 40)
def test_two_orders_equal_differences(seeds):
    for seed in seeds:
        check_differences(seed, order=2)
