"""Prove that no step of a `ted.scan` reads what this step or a later one has yet to write.

A read of a history at an earlier time is right. One at the time that is written is right when the
history is complete in this step: the last of its equations stands earlier in the body. Anything
else reads the future. A time that is data is proved by the condition of its read: `u[idx[t]]` where
`idx[t] < t`.  What a step computes indices from fits into 64 bits, as in any equation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ted.dialects.ted import ComputeOp, ScanOp
from ted.domain import bounds, parameters, sets
from ted.domain.budget import BudgetExhausted, bounded
from ted.errors import SourceLocation
from ted.ir.affine import piecewise
from ted.ir.dtypes import BY_MLIR
from ted.ir.equations import Clock, Equation, Tensor
from ted.ir.expressions import Expr, format_expr
from ted.ir.from_body import read_body
from ted.ir.index_ranges import overflow
from ted.ir.recurrences import future_points, history_reads
from ted.mlir import ir
from ted.transforms.compute_sets import ComputeSets, name_of, symbols_around

Problem = tuple["SourceLocation | None", str]


def reads_of_the_future(scan: ScanOp) -> Iterator[Problem]:
    """Every read that is not proved to be of something complete, and indices beyond 64 bits.

    Each with the place of its equation.

    Raises: VerifyError when a time that is written is data.
    """
    return _in_body(_States(scan))


def _in_body(known: _States) -> Iterator[Problem]:
    for op in known.scan.parts:
        if not isinstance(op, ComputeOp):
            yield from _in_body(_States(op, known))
            continue
        target, equation = known.equation(op)
        wrapped = overflow(
            equation.expressions, equation.extents, equation.domain, equation.dim_names
        )
        if wrapped is not None:
            yield equation.location, f"ted.compute: body: {wrapped}"
        for read, points in history_reads(equation, known.states):
            problem = _decided(target, equation, read, points, read.attr in known.complete)
            if problem is not None:
                yield equation.location, f"ted.scan: {problem}"


def _decided(
    target: Tensor, equation: Equation, read: Expr, points: Any, complete: bool
) -> str | None:
    try:
        levels = range(len(read.attr.clocks))
        found = (_problem(target, equation, read, points, complete, k) for k in levels)
        return next(filter(None, found), None)
    except BudgetExhausted as error:
        return f"a step of {target.name} is not proved to read no future of {read.attr}: {error}"


class _States:
    """A tensor for each value of a scan's body: a history before, between and after equations."""

    def __init__(self, scan: ScanOp, outer: _States | None = None) -> None:
        self.scan = scan
        self.outer = outer
        self.histories = scan.history_of()
        self.symbols = symbols_around(scan.operation)
        self.known: dict[ir.Value, Tensor] = {} if outer is None else dict(outer.known)
        self.states = [] if outer is None else list(outer.states)
        self.complete = set[Tensor]() if outer is None else set(outer.complete)
        self.states += [self.tensor(value) for value in self.histories]
        self.complete |= {self.tensor(value) for value in scan.yielded}

    def tensor(self, value: ir.Value) -> Tensor:
        """The tensor of a value; those from outside have no time."""
        if value not in self.known:
            ranked = ir.RankedTensorType(value.type)
            history = self.histories.get(value)
            argument = value if history is None else self.scan.body_block.arguments[history]
            made = Tensor(
                name_of(argument) or f"history {history}", self.symbols.shape(ranked),
                BY_MLIR[str(ranked.element_type)],
            )  # fmt: skip
            made.clocks = self._clocks(value)
            self.known[value] = made
        return self.known[value]

    def _clocks(self, value: ir.Value) -> list[Clock]:
        history = self.histories.get(value)
        if history is None:
            return []
        around = [] if self.outer is None else self.outer._clocks(self.scan.inits[history])
        return [*around, Clock(self.scan.time_dims[history], self.scan.is_reverse)]

    def equation(self, op: ComputeOp) -> tuple[Tensor, Equation]:
        """The equation of an op, and the tensor that it writes."""
        op_sets = ComputeSets(op)
        body = read_body(op, op_sets.domain, self.tensor, self.symbols)
        equation = Equation(
            op_sets.box, len(op_sets.parallel), op_sets.domain, body.write, op.combiner_name,
            body.value, op_sets.place, op_sets.dim_names,
        )  # fmt: skip
        return self.tensor(op.operation.results[-1]), equation


def _problem(
    target: Tensor, equation: Equation, read: Expr, points: Any, complete: bool, level: int
) -> str | None:
    last = level == len(read.attr.clocks) - 1
    seen, written, bad = future_points(target, equation, read, points, level, complete or not last)
    if bad.is_empty():
        return None
    bad, sizes = parameters.somewhere(bad)
    point = sets.point_of(bounded(bad.lexmin) or bad)
    assert point is not None, "a set that is not empty has a point"
    values = (parameters.value_at(piecewise(e, bad), sizes) for e in (seen, written))
    at, step = (bounds.value_at(value, point) for value in values)
    where = ", ".join(f"d{k}={v}" for k, v in enumerate(point[: equation.rank])) or "the only point"
    shown = _shown(read.args[read.attr.time_dims[level]], at)
    return (
        f"a step of {target.name} reads the future: {read.attr.name} at time {shown} in the step "
        f"of time {_shown(written, step)}, first at {where}"
    )


def _shown(e: Expr, value: int) -> str:
    text = format_expr(e)
    return text if text == str(value) else f"{text} = {value}"
