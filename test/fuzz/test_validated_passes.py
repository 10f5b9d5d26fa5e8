"""Passes on random programs and their gradients, before and after at points of a prime field.

Passes from ted to ted in two orders, then the lowerings: on memory until buffers are chosen, for a
GPU, and to linalg on tensors.
"""

from __future__ import annotations

import pytest

from support.lowering_roads import ON_GPU, ON_TENSORS
from support.random_programs import random_program
from sweeps import blocks
from ted.autodiff.combiners import expand_combiners
from ted.autodiff.vjp import vjp
from ted.dialects import make_context
from ted.ir.equations import System, Tensor
from ted.ir.pass_driver import run_pipeline
from ted.ir.to_ops import to_module
from ted.testing.validation import Validator

# Each pass meets what the others leave, in two orders.
ROADS = (
    "ted-scatter-to-gather,ted-simplify,ted-factor-sums,ted-join-pieces,ted-fuse-pointwise,"
    "ted-split-dims,ted-inline-pointwise," + ON_GPU,
    "ted-inline-pointwise,ted-split-dims,ted-fuse-pointwise,ted-scatter-to-gather,ted-simplify,"
    "ted-cpu-pipeline{until=buffers}",
    ON_TENSORS,
)


def with_gradients(system: System) -> System:
    """The results and the gradients as the reverse sweep leaves them."""
    expanded, became = expand_combiners(system)
    heads = tuple(Tensor(f"d{t.name}", t.shape, t.dtype) for t in system.outputs)
    adjoints = vjp(expanded, heads).adjoints
    zero = {t: Tensor(f"d{t.name}", t.shape, t.dtype, 0) for t in system.inputs}
    gradients = [adjoints.get(became.get(t, t), zero[t]) for t in system.inputs]
    outputs = (*expanded.outputs, *gradients)
    return System((*system.inputs, *heads), outputs, "main")


def check(seed: int) -> None:
    system = with_gradients(random_program(seed).system)
    for road in ROADS:
        validator = Validator(seed)
        with make_context(threading=False):
            run_pipeline(to_module(system), f"builtin.module({road})", observers=[validator])
        assert not [r for r in validator.summary() if "not validated" in r], f"seed {seed}"


@pytest.mark.fast(1)
@blocks(2, 35)
def test_every_pass_keeps_the_values_of_random_programs(seeds: range) -> None:
    for seed in seeds:
        check(seed)
