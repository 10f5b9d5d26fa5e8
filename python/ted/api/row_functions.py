"""Functions of a batch of any size from compiled programs of few rows.

Before: y[i, j] += x[i, r] * w[r, j] over i < n
After:  f(x, w) runs programs of 64, 16, 4 and 1 rows on slices of x; n = 100 is 64 + 2 * 16 + 4
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ted.domain.sizes import Extent, Symbol, evaluate
from ted.ir.dtypes import ACCUMULATORS
from ted.ir.equations import System, Tensor
from ted.ir.specialising import sizes_of, specialise
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import BoundFunction
from ted.runtime.strips import Part, Slots, StripKernel
from ted.transforms.row_independence import refusal, row_dim
from ted.transforms.row_programs import Program, RowPrograms, row_programs

RATIO = 4
"""Each strip is as many times as long as the next: at most three calls of each length, and a
program for every two bits of the batch."""
LEAST = 64
"""Rows of the longest strip at least: from there on a contraction reuses its weights enough."""
ENOUGH = 2**20
"""Weighted operations of a strip that take a hundred times as long as its call."""
REUSE = 512
"""Weighted operations of a strip for each element of weights and totals, which every strip reads
again: that costs a few percent then."""
CALL, ELEMENT = 10_000, 50
"""Weighted operations that take as long as a call does, and as reading an element of weights."""
KEPT = 256
"""Numbers of rows for which what is known of them is kept: a few kilobytes each."""

EACH = "compiled for each combination of sizes"

Compile = Callable[[System, Mapping[int, int]], BoundFunction]
"""`(system, in_place)`: for results the inputs that their arrays hold when a call starts."""


def rows_of(
    system: System, compile: Compile, single: bool, donated: Mapping[int, int]
) -> RowFunction | str:
    """The function of the first size that is a batch, or why there is none."""
    refused: list[str] = []
    for size in sizes_of(system):
        reason = refusal(system, size)
        if reason is None:
            return RowFunction(system, size, compile, single, donated)
        refused.append(f"{size} is no batch: {reason}")
    return "\n".join([EACH, *refused])


def strip_lengths(programs: RowPrograms) -> tuple[int, ...]:
    """How many rows there are programs for: a geometric row from 1."""
    work = max(programs.work, 1)
    enough = max(ENOUGH, REUSE * programs.elements_without_rows)
    lengths = [1]
    while lengths[-1] < LEAST or lengths[-1] * work < enough:
        lengths.append(lengths[-1] * RATIO)
    return tuple(lengths)


def call_in_rows(programs: RowPrograms) -> float:
    """How many rows take as long as a call and its reading of weights."""
    return (CALL + ELEMENT * programs.elements_without_rows) / max(programs.work, 1)


class RowFunction:
    """The programs of a system whose size `size` is a batch, compiled where they are needed."""

    def __init__(
        self,
        system: System,
        size: Symbol,
        compile: Compile,
        single: bool,
        donated: Mapping[int, int],
    ) -> None:
        self.name = system.name
        self.single = single
        self.programs = row_programs(system, size)
        self.lengths = strip_lengths(self.programs)
        self._call = call_in_rows(self.programs)
        self._compile = compile
        self._donated = donated
        self._tensors = _tensors(self.programs)
        self._slots = {t: k for k, t in reversed(list(enumerate(self._tensors)))}
        self._compiled: dict[tuple[Any, ...], BoundFunction] = {}
        self._bound: dict[tuple[int, ...], BoundFunction] = {}

    def for_sizes(self, values: Mapping[str, int]) -> BoundFunction:
        """The function for given sizes; compiles nothing that another number of rows needed."""
        key = tuple(values.values())
        if key not in self._bound:
            made = self._bind(values)
            keep(self._bound, key, made)
        return self._bound[key]

    def explain(self) -> str:
        """The batch, the lengths of strips, and what each program makes."""
        size, lengths = self.programs.size, ", ".join(map(str, reversed(self.lengths)))
        lines = [f"{size} is a batch: run in strips of {lengths} rows"]
        for program in self.programs.programs:
            made = ", ".join(map(str, program.outputs))
            lines.append(f"{'each strip' if program.by_rows else 'once'}: {made}")
        return "\n".join(lines)

    def _bind(self, values: Mapping[str, int]) -> BoundFunction:
        programs, size = self.programs, self.programs.size
        count = values[size.name]
        parts = [self._part(k, p, values) for k, p in enumerate(programs.programs)]
        specs = [_spec(t, values) for t in self._tensors]
        slots = Slots(
            tuple(specs),
            tuple(row_dim(t, size) for t in self._tensors),
            len(programs.inputs),
            len(programs.outputs),
            {self._slots[t]: _number(t, n, values) for t, n in programs.numbers.items()},
            {
                self._slots[t]: np.array(value).astype(_spec(t, values).numpy_dtype)
                for t, value in programs.starts.items()
            },
        )
        kernel = StripKernel(parts, slots, count, self.lengths, self._call)
        first, last = len(programs.inputs), len(programs.inputs) + len(programs.outputs)
        return BoundFunction(
            kernel, specs[:first], specs[first:last], self.name, {}, dict(self._donated)
        )

    def _part(self, number: int, program: Program, values: Mapping[str, int]) -> Part:
        def function(rows: int) -> BoundFunction:
            own = {**values, self.programs.size.name: rows}
            key = (number, *own.values())
            if key not in self._compiled:
                in_place = {
                    program.outputs.index(total): program.inputs.index(start)
                    for total, start in program.totals
                }
                self._compiled[key] = self._compile(specialise(program.system, own), in_place)
            return self._compiled[key]

        slots = self._slots
        starts = {start for _, start in program.totals}
        return Part(
            tuple(slots[t] for t in program.inputs if t not in starts),
            tuple(slots[t] for t in program.outputs),
            program.by_rows,
            tuple((slots[total], slots[start]) for total, start in program.totals),
            function,
        )


def keep(known: dict[Any, Any], key: Any, made: Any) -> None:
    """Add an entry to what is known; the oldest goes where there are too many."""
    for oldest in list(known)[: max(len(known) + 1 - KEPT, 0)]:
        known.pop(oldest, None)
    known[key] = made


def _tensors(programs: RowPrograms) -> list[Tensor]:
    """Every array of a call: inputs, results, and what is between, each once."""
    given = [*programs.inputs, *programs.outputs]
    between = [t for p in programs.programs for t in (*p.inputs, *p.outputs)]
    return [*given, *dict.fromkeys(t for t in between if t not in given)]


def _spec(tensor: Tensor, values: Mapping[str, int]) -> ArgSpec:
    shape = tuple(evaluate(n, values) for n in tensor.shape)
    return ArgSpec(tensor.name, tensor.dtype.name, shape)


def _number(tensor: Tensor, extent: Extent, values: Mapping[str, int]) -> np.ndarray:
    """An extent as a value of the type of a tensor; a half goes through float32."""
    value = np.array(evaluate(extent, values))
    if tensor.dtype in ACCUMULATORS:
        value = value.astype(ACCUMULATORS[tensor.dtype].name)
    spec = _spec(tensor, values)
    return value.astype(spec.numpy_dtype)
