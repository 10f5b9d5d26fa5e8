"""Every operator through the reference interpreter: values, orders 1 and 2, work, sizes, forms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from numeric.operator_programs import (
    BY_NAME,
    Array,
    executed,
    interpreted_values,
    module,
    names,
    program,
)
from numeric.operators import OPERATORS, Operator
from numeric.torch_gradients import torch_gradients_of
from ted.ir.equations import Tensor, topological
from ted.mlir import ir
from ted.transforms.ted_report_gradient import GradientReport, report_function

TOLERANCE = {"rtol": 1e-10, "atol": 1e-11}


@cache
def torch_gradients(name: str) -> tuple[Any, list[Array], list[Array]]:
    """The value and the gradients of both orders by torch in float64."""
    return torch_gradients_of(BY_NAME[name], program(name))


@cache
def reported(name: str, part: int) -> GradientReport:
    """What the report says of one of the parts, of which the first result is the primal's."""
    return report(name, program(name).parts[part], 1)


def report(name: str, outputs: list[Tensor], results: int) -> GradientReport:
    return report_function(module(name, tuple(outputs)), results=results)


def values_of(ops: ir.Module) -> list[tuple[int, ir.Operation]]:
    """The size of every tensor that an op makes, and the op."""
    found: list[tuple[int, ir.Operation]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        types = [r.type for r in op.results if isinstance(r.type, ir.RankedTensorType)]
        found.extend((math.prod(t.shape), op) for t in types)
        return ir.WalkResult.ADVANCE

    ops.operation.walk(visit)
    assert found
    return found


@pytest.mark.fast(12)
@names
def test_value_equals_torch(name):
    (got,) = executed(name, 0)[0]
    np.testing.assert_allclose(got, torch_gradients(name)[0], **TOLERANCE)


@names
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_equal_torch(name, order):
    p = program(name)
    wanted = torch_gradients(name)[order]
    values = interpreted_values(name)
    found = [values[gradient] for gradient in p.gradients[order - 1]]
    for position, (got, want) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(got, want, **TOLERANCE, err_msg=f"gradient {position}")


@pytest.mark.fast(16)
@names
def test_all_gradients_are_gathers_with_disjoint_writes(name):
    p = program(name)
    for gradients in p.gradients:
        found = report(name, gradients, 0)
        if not BY_NAME[name].scatters:
            assert not found.scatters, str(found)
            assert all(e.disjoint for e in found.equations), str(found)


@pytest.mark.fast(17)
@names
def test_report_counts_what_the_interpreter_executes(name):
    for part in range(len(program(name).parts)):
        found, (_, counts) = reported(name, part), executed(name, part)
        assert all(e.exact for e in found.equations)
        done = [(c.combiner, c.points, c.operations) for c in counts.per_op]
        assert [(e.combiner, e.points, e.operations) for e in found.equations] == done


@names
def test_work_of_the_gradients_is_bounded(name):
    found = reported(name, 1)
    if found.ratio is not None:
        assert found.ratio <= BY_NAME[name].heaviest, str(found)


@names
def test_no_value_is_larger_than_the_largest_of_the_result(name):
    p = program(name)
    largest = max(t.size for t in topological([p.output]))
    for gradients in p.gradients:
        for tensor in topological(gradients):
            assert tensor.size <= largest, f"{tensor} above {largest} elements"
        for size, op in values_of(module(name, tuple(gradients))):
            assert size <= largest, str(op)


def test_table_has_no_name_twice():
    assert len(BY_NAME) == len(OPERATORS)
    assert all(isinstance(o, Operator) for o in OPERATORS)
