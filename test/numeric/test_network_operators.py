"""Every operator of `ted.nn` against torch: values and gradients of two orders, by machine code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import ted
from numeric.network_operators import FAST, GROUPS
from numeric.operator_programs import program_of
from numeric.operators import Operator
from numeric.torch_gradients import torch_gradients_of
from ted.frontend.tensors import wrap

TOLERANCES = (1e-12, 1e-10, 1e-8)  # of values, of gradients of order 1 and 2
TOGETHER = 6  # operators in one program
PARTS = [(name, k) for name, group in GROUPS.items() for k in range(0, len(group), TOGETHER)]
BY_NAME = {o.name: o for group in GROUPS.values() for o in group}


def check(operators: Sequence[Operator]) -> None:
    """All of the operators in one program: their values, and gradients of two orders."""
    programs = [program_of(o) for o in operators]
    inputs = [t for p in programs for t in (*p.inputs, *p.heads)]
    results = [[[p.output], *p.gradients] for p in programs]
    outputs = list(dict.fromkeys(t for orders in results for found in orders for t in found))
    compiled = ted.compile([wrap(t) for t in inputs], [wrap(t) for t in outputs])
    found = dict(zip(outputs, compiled(*(a for p in programs for a in p.values)), strict=True))
    for o, p, orders in zip(operators, programs, results, strict=True):
        value, *gradients = torch_gradients_of(o, p)
        for order, want in enumerate([[value], *gradients]):
            for k, (tensor, array) in enumerate(zip(orders[order], want, strict=True)):
                limit, what = TOLERANCES[order], f"{o.name}, order {order}, result {k}"
                assert found[tensor].shape == array.shape, what
                np.testing.assert_allclose(
                    found[tensor], array, rtol=limit, atol=limit, err_msg=what
                )


def test_some_of_every_group_equal_torch() -> None:
    check([BY_NAME[name] for name in FAST])


@pytest.mark.slow
@pytest.mark.parametrize(("group", "first"), PARTS)
def test_all_of_a_group_equal_torch(group: str, first: int) -> None:
    check(GROUPS[group][first : first + TOGETHER])


def test_no_two_rows_have_one_name() -> None:
    assert len(BY_NAME) == sum(map(len, GROUPS.values()))
