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
    """The histories of a scan, and the steps of its equations, in a step of another one or not."""

    def __init__(self, op: ScanOp, outer: ScanSteps | None = None) -> None:
        self.op = op
        self.outer = outer
        self.histories = op.history_of()
        self.complete = set(op.yielded)
        self.order = step_order(op)
        self.time = 0

    def step(self, inner: ComputeOp, environment: Environment) -> Step:
        """What one equation does at this time."""
        written = inner.write_map.results
        levels = self._levels(inner.operation.results[-1])
        visible = {
            value: steps._visible(value, environment[value])
            for value in tensors_read(inner)
            if (steps := self._owner(value)) is not None
        }
        times = [(expression_text(written[axis]), steps.time) for steps, axis in levels]
        return Step(ChainMap(visible, dict(environment)), tuple(times))

    def _owner(self, value: ir.Value) -> ScanSteps | None:
        """The scan of which a value is a history."""
        if value in self.histories:
            return self
        return None if self.outer is None else self.outer._owner(value)

    def _levels(self, value: ir.Value) -> list[tuple[ScanSteps, int]]:
        """The scans around a history and the dims that are their times, outermost first."""
        history = self.histories[value]
        around = [] if self.outer is None else self.outer._levels(self.op.inits[history])
        return [*around, (self, self.op.time_dims[history])]

    def _visible(self, value: ir.Value, cells: Cells) -> Cells:
        """A history without what it does not hold yet."""
        marks = (
            np.zeros(cells.data.shape, np.bool_)
            if cells.undefined is None
            else cells.undefined.copy()
        )
        place: list[Any] = [slice(None)] * marks.ndim
        for steps, axis in self._levels(value):
            here = steps.order.index(steps.time)
            later = here + (steps is not self or value in self.complete)
            place[axis] = list(steps.order[later:])
            marks[tuple(place)] = True
            place[axis] = slice(steps.time, steps.time + 1)
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
