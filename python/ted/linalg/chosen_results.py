"""What the two sides of a test in a step give: a whole history, or its slice in memory of its own.

Before: one side adds to the slice of a history that the step has begun, the other leaves it
After: both give a slice, `tensor<8xf64>` of `tensor<50x8xf64>`, which is put back behind the test

A side that puts its slice into the history itself would start, once canonicalization has joined the
two insertions, from what was there before the slice was begun: another value than the other side's,
so that one of them could not stay in the memory of the history.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.linalg.rolling_buffers import written
from ted.linalg.scan_steps import put_at, slice_at, without
from ted.mlir import ir, tensor
from ted.mlir.scalars import element_type, shape_of

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
