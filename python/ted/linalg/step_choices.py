"""What equations of a step have one condition: a test in the step, and both sides behind it.

Before: `%c = select(%p[t], a, 0)`, `%h = select(%p[t], c, %h[t - 1])` in a step
After: one `scf.if %p[t]`, with the equations decided behind each answer

So what a loop does after its condition has failed, and a branch that is not taken, costs a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ted.linalg.rolling_buffers import written
from ted.linalg.scan_bodies import ScanBody, StepEquation
from ted.linalg.scan_steps import DynamicTime, Time, within
from ted.linalg.slices import put_at, slice_at, without
from ted.linalg.storage_folding import Window, on_windows
from ted.linalg.subdomain import Subdomain
from ted.linalg.uniform_choices import (
    Key,
    answers,
    condition_value,
    root_choice,
    uniform_values,
)
from ted.mlir import ir, tensor
from ted.mlir.scalars import element_type, index, shape_of
from ted.records import dataclass

Decided = Mapping[Key, bool]
Run = tuple[Key | None, list[ir.Operation]]


@dataclass(frozen=True)
class StepChoices:
    """The conditions of the equations of a recurrence that its points share, at some time."""

    body: ScanBody
    windows: Mapping[int, Window]
    time: Time

    def runs(self, ops: Sequence[ir.Operation], decided: Decided) -> Iterator[Run]:
        """The equations in groups that follow each other and have one condition, or none."""
        for key, group in groupby(ops, lambda op: self._choice(op, decided)[0]):
            yield key, list(group)

    def answers(self, op: ir.Operation, copy: ir.Block, decided: Decided) -> dict[ir.Value, bool]:
        """The values in the body of a copy of an equation that are decided."""
        body = op.regions[0].blocks[0]
        found = answers(body, self._keys(op), decided) if decided else {}
        values = [*body.arguments, *(v.operation.results[0] for v in _inner(body))]
        copies = [*copy.arguments, *(v.operation.results[0] for v in _inner(copy))]
        return {b: found[a] for a, b in zip(values, copies, strict=True) if a in found}

    def condition(
        self, op: ir.Operation, known: StepEquation, copy: ir.Operation, decided: Decided
    ) -> ir.Value:
        """The condition of an equation here; `known` is it on a copy with the latest states."""
        _, value = self._choice(op, decided)
        body = op.regions[0].blocks[0]
        values = [*body.arguments, *(v.operation.results[0] for v in _inner(body))]
        inside = copy.regions[0].blocks[0]
        copies = [*inside.arguments, *(v.operation.results[0] for v in _inner(inside))]
        subdomain = during(
            known, on_windows(known, self.body.times, self.body.reverse, self.windows), self.time
        )
        assert subdomain is not None, "as the equation itself"
        dims = [index(0)] * subdomain.rank
        if isinstance(self.time, DynamicTime):
            assert known.timestamp is not None, "as the equation itself"
            dims[known.timestamp.dim] = self.time.count
        return condition_value(subdomain, copies[values.index(value)], dims)

    def _choice(self, op: ir.Operation, decided: Decided) -> tuple[Key | None, ir.Value | None]:
        keys, body = self._keys(op), op.regions[0].blocks[0]
        value = root_choice(body, keys, answers(body, keys, decided)) if keys else None
        return (None if value is None else keys[value]), value

    def _keys(self, op: ir.Operation) -> dict[ir.Value, Key]:
        equation = self.body.equations[op]
        subdomain = during(equation, equation.subdomain, self.time)
        if subdomain is None:
            return {}
        return uniform_values(subdomain, subdomain.write[self.body.times[equation.target]])


def during(equation: StepEquation, subdomain: Subdomain, time: Time) -> Subdomain | None:
    """The points of an equation in some steps; None for none, or only now and then."""
    timestamp = equation.timestamp
    if timestamp is None or timestamp.factor != 1:
        return None
    return within(subdomain, timestamp, time)


def _inner(body: ir.Block) -> list[ir.OpView]:
    return list(body.operations)[:-1]


# ------------------------------------------------------------------ chosen results
#
# What the two sides of a test in a step give: a whole history, or its slice in memory of its own.
#
# Before: one side adds to the slice of a history that the step has begun, the other leaves it
# After: both give a slice, `tensor<8xf64>` of `tensor<50x8xf64>`, which is put back behind the test
#
# A side that puts its slice into the history itself would start, once canonicalization has joined
# the two insertions, from what was there before the slice was begun: another value than the other
# side's, so that one of them could not stay in the memory of the history.

Place = tuple[int, "ir.Value | int"]  # a dim, and where along it


@dataclass(frozen=True)
class Chosen:
    """One result of a test: its type, the memory of a slice, and which slice of what it is."""

    type: ir.Type
    memory: ir.Value | None = None
    place: Place | None = None
    history: ir.Value | None = None

    @classmethod
    def in_memory(cls, memory: ir.Value) -> Chosen:
        """A slice that is all that is kept."""
        return cls(memory.type, memory)

    @classmethod
    def slice_of(cls, history: ir.Value, place: Place) -> Chosen:
        """A slice of a history that is written before the test."""
        shape = without(tuple(shape_of(history)), place[0])
        memory = tensor.EmptyOp(list(shape), element_type(history)).result
        return cls(memory.type, memory, place, history)

    def given(self, value: ir.Value) -> ir.Value:
        """What a side gives, of what it has made."""
        if self.place is not None:
            value = slice_at(value, *self.place)
        return value if self.memory is None else written(value, self.memory)

    def taken(self, result: ir.Value) -> ir.Value:
        """What stands for the history behind the test."""
        if self.place is None or self.history is None:
            return result
        return put_at(result, self.history, *self.place)
