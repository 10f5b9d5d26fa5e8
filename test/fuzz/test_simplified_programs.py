"""Random programs with slices of their results keep their values when they are simplified.

The slices are strided and turned round, so that parts of tensors are demanded, and copies composed.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from support.random_programs import random_program
from ted.ir.equations import System, Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import add, dim, index, load, mul
from ted.testing.tracing import interpreted
from ted.transforms.copies import compose_copies
from ted.transforms.demanded_boxes import shrink_to_demand
from ted.transforms.gradient import differentiate
from ted.transforms.single_points import drop_unit_reductions
from ted.transforms.ted_factor_sums import factor_sums
from ted.transforms.ted_simplify import simplify

STAGES = (
    drop_unit_reductions, shrink_to_demand, simplify, compose_copies, factor_sums, simplify,
)  # fmt: skip


def sliced(tensor: Tensor, draw: random.Random, name: str) -> Tensor:
    """Some elements of a tensor, its dims in another order."""
    order = list(range(len(tensor.shape)))
    draw.shuffle(order)
    places: list[Expr] = [index(0)] * len(order)
    shape: list[int] = []
    for new, old in enumerate(order):
        extent = tensor.static_shape[old]
        first, step = draw.randrange(extent), draw.choice([1, 1, 2])
        shape.append(draw.randint(1, (extent - first + step - 1) // step))
        places[old] = add(mul(dim(new), index(step)), index(first))
    body = load(tensor, places)
    return Tensor(name, tuple(shape), tensor.dtype, 0, (whole(tuple(shape), body, None),))


def check(seed: int) -> int:
    """The values of one program before and after; how many tensors are gone."""
    program, draw = random_program(seed), random.Random(seed)
    results, inputs = list(program.system.outputs), list(program.system.inputs)
    heads = [Tensor(f"d{t.name}", t.shape, t.dtype) for t in results]
    results += differentiate(results, inputs, heads).gradients
    generator = np.random.default_rng(seed)
    arrays = [*program.arrays, *(np.asarray(generator.normal(size=h.static_shape)) for h in heads)]
    outputs = [sliced(t, draw, f"o{k}") for k, t in enumerate(results) if 0 not in t.shape]
    outputs += [t for t in results if draw.random() < 0.3]
    before = after = System((*inputs, *heads), tuple(outputs))
    for stage in STAGES:
        after, _ = stage(after)
    values = (interpreted(before.inputs, s.outputs)(*arrays) for s in (before, after))
    for want, got in zip(*values, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")
    return len(before.tensors()) - len(after.tensors())


def test_a_few_programs_keep_their_values() -> None:
    assert sum(map(check, range(6))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6, 146, 20))
def test_a_share_of_programs_keeps_its_values(first: int) -> None:
    assert sum(map(check, range(first, first + 20))) > 0
