"""Run one `ted.scan` step by step: what each equation performs in a step, and what it may read.

    states = inits; for t in steps: each equation in order, at the points that write at time t

Of a history, elements of later steps do not exist yet, and those of this step only after its last
equation; a read of either is an error, whatever the init holds there.
"""

from __future__ import annotations

from collections import ChainMap
from typing import Any

import numpy as np

from ted.dialects.ted import ComputeOp, ScanOp
from ted.errors import ExecutionError
from ted.mlir import ir
from ted.testing.interpreter_affine import evaluated, expression_text
from ted.testing.interpreter_compute import Environment, Step
from ted.testing.interpreter_values import Cells, sizes

MOST_STEPS = 2**31 - 1  # which a loop has that only its condition ends: histories of all steps


def check_is_bounded(module: ir.Module) -> None:
    """Refuse a loop that only its condition ends.

    Raises: ExecutionError with the number of steps of its histories.
    """

    found: list[int] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        steps = op.attributes["steps"] if op.name == "ted.scan" else None
        if isinstance(steps, ir.IntegerAttr):
            found.append(steps.value)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if max(found, default=0) >= MOST_STEPS:
        raise ExecutionError(
            f"interpret: all steps of a loop are kept, got {max(found)}; give while_loop max_steps="
        )


class ScanSteps:
    """The histories of a scan, and the steps of its equations."""

    def __init__(self, op: ScanOp) -> None:
        self.op = op
        self.histories = op.history_of()
        self.complete = set(op.yielded)
        self.order = step_order(op)

    def step(self, inner: ComputeOp, time: int, environment: Environment) -> Step:
        """What one equation does at one time."""
        dims = self.op.time_dims
        written = inner.write_map.results[dims[self.histories[inner.operation.results[-1]]]]
        visible = {
            value: self._visible(value, time, environment[value])
            for value in tensors_read(inner)
            if value in self.histories
        }
        return Step(ChainMap(visible, dict(environment)), expression_text(written), time)

    def _visible(self, value: ir.Value, time: int, cells: Cells) -> Cells:
        """A history without what it does not hold yet."""
        here = self.order.index(time)
        missing = list(self.order[here + (value in self.complete) :])
        marks = (
            np.zeros(cells.data.shape, np.bool_)
            if cells.undefined is None
            else cells.undefined.copy()
        )
        marks[(slice(None),) * self.op.time_dims[self.histories[value]] + (missing,)] = True
        return Cells(cells.data, marks)


def step_order(op: ScanOp) -> range:
    """The steps in the order in which they run, at the sizes of the run."""
    symbolic = op.symbolic_steps
    count = op.step_count if symbolic is None else evaluated(symbolic, sizes.get())[0]
    return range(count)[::-1] if op.is_reverse else range(count)


def tensors_read(op: ComputeOp) -> list[ir.Value]:
    """The tensors that an equation reads, those at computed indices included."""
    body: list[Any] = [view.operation for view in op.body_block.operations]
    return [*op.inputs, *(inner.operands[0] for inner in body if inner.name == "ted.load")]
