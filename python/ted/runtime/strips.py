"""A program of many rows as calls of programs of few: slices of arrays, and totals passed on.

Before: functions of 64, 16, 4 and 1 rows        After: a `StripKernel` of n rows

It stands where a `Kernel` does, so that arguments, results and errors are those of any function.
Rows along dim 0 are slices of the caller's memory; along another dim they are copied. The array of
a total holds what it starts from, and each run adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ted._runtime import Kernel
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec, allocate
from ted.runtime.calls import BoundFunction
from ted.runtime.library import address_of

Slot = int


@dataclass(frozen=True)
class Slots:
    """The arrays of a call by number: inputs, then results, then what is between.

    `rows` has the dim of rows of each, `numbers` the value of those that are no arrays of the call
    and `fills` what others hold at the start of every call.
    """

    specs: tuple[ArgSpec, ...]
    rows: tuple[int | None, ...]
    inputs: int
    outputs: int
    numbers: Mapping[Slot, np.ndarray]
    fills: Mapping[Slot, Any]

    def arrays(self, arguments: Sequence[Any]) -> list[Any]:
        """The arrays of a call: those of the caller, and fresh ones.

        Raises: MemoryError with the number of bytes.
        """
        found: list[Any] = [*arguments]
        for slot in range(len(found), len(self.specs)):
            if slot in self.numbers:
                found.append(self.numbers[slot])
            else:
                found.append(None if slot in self.fills else allocate(self.specs[slot]))
        return found

    @property
    def temporary_bytes(self) -> int:
        """Bytes of the arrays between, which live as long as the call."""
        between = range(self.inputs + self.outputs, len(self.specs))
        return sum(self.specs[k].nbytes for k in between if k not in self.fills)


@dataclass(frozen=True)
class Part:
    """One program: its function for a number of rows, or for 0 if it has none.

    Of `totals` each has the slot of a result, and the slot of what that holds at the start.
    """

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    by_rows: bool
    totals: tuple[tuple[Slot, Slot], ...]
    function: Callable[[int], BoundFunction]


class StripKernel:
    """The parts of a program for `count` rows, one after another, each strip by strip."""

    def __init__(
        self,
        parts: Sequence[Part],
        slots: Slots,
        count: int,
        lengths: Sequence[int],
        call: float,
    ) -> None:
        self._slots = slots
        once, twice = strips(count, lengths), strips(count, lengths, call)
        self._parts = [
            _Run(p, slots, (once if p.totals else twice) if p.by_rows else [(0, 0)]) for p in parts
        ]
        given = slots.specs[: slots.inputs + slots.outputs]
        specs = [s.kernel_spec(writable=k >= slots.inputs) for k, s in enumerate(given)]
        self._check = Kernel(address_of("ted_call_nothing"), tuple(specs))

    def fill(self, *arguments: Any) -> int | None:
        """Run, or say which argument does not fit, or is written while another strip reads it."""
        refused = self._check.refused(*arguments)
        if refused is None:
            self._run(arguments)
        return refused

    def fresh(self, *inputs: Any) -> tuple[Any, ...] | None:
        """The results in arrays of their own, or None, as of a `Kernel`."""
        results = self._check.fresh(*inputs)
        if results is not None:
            self._run((*inputs, *results))
        return results

    def exchanged(self, exchange: Any, *inputs: Any) -> tuple[Any, ...] | None:
        """None: strips are slices of arrays of NumPy."""
        del exchange, inputs

    def _run(self, arguments: Sequence[Any]) -> None:
        arrays = self._slots.arrays(arguments)
        for part in self._parts:
            part(arrays)

    @property
    def peak_bytes(self) -> int:
        """Bytes that the latest call held at most at once, the results left out."""
        held = max((part.temporary_bytes for part in self._parts), default=0)
        return self._slots.temporary_bytes + held


class _Run:
    """A part with its functions, strip by strip: `(arrays of the call) -> None`."""

    def __init__(self, part: Part, slots: Slots, cuts: Sequence[tuple[int, int]]) -> None:
        self._all = (*part.inputs, *part.outputs)
        self._slots = slots
        lengths = sorted({stop - start for start, stop in cuts})
        self._functions = {length: part.function(length) for length in lengths}
        self._steps = [(self._functions[b - a], slice(a, b)) for a, b in cuts]
        places = enumerate(self._all) if len(cuts) > 1 else ()
        cut = [(k, slot, dim) for k, slot in places if (dim := slots.rows[slot]) is not None]
        self._sliced = [(k, slot) for k, slot, dim in cut if dim == 0]
        self._copied = [(k, slot, (slice(None),) * dim) for k, slot, dim in cut if dim]
        self._made = len(part.inputs)
        self._totals = part.totals

    def __call__(self, arrays: Sequence[Any]) -> None:
        arguments = [arrays[slot] for slot in self._all]
        for total, start in self._totals:
            np.copyto(arrays[total], self._slots.fills.get(start, arrays[start]))
        for function, rows in self._steps:
            for place, slot in self._sliced:
                arguments[place] = arrays[slot][rows]
            for place, slot, outer in self._copied:
                arguments[place] = np.ascontiguousarray(arrays[slot][(*outer, rows)])
            function.fill(arguments)
            for place, slot, outer in self._copied:
                if place >= self._made:
                    arrays[slot][(*outer, rows)] = arguments[place]

    @property
    def temporary_bytes(self) -> int:
        """Bytes that the latest call held at most at once beside the arrays of the call."""
        return max((f.temporary_bytes for f in self._functions.values()), default=0)


def strips(count: int, lengths: Sequence[int], call: float | None = None) -> list[tuple[int, int]]:
    """Start and stop of each strip: as many of the longest as there are, then of the next.

    Where rows may be computed twice, a call costs as much as `call` rows, and the last strip begins
    before the end of the one before it if that costs less than shorter ones.
    """
    found: list[tuple[int, int]] = []
    start = 0
    for length in sorted(lengths, reverse=True):
        while start + length <= count:
            found.append((start, start + length))
            start += length
        rest = count - start
        if call is None or not found or not rest:
            continue
        shorter = strips(rest, [n for n in lengths if n < length])
        if length + call < rest + call * len(shorter):
            return [*found, (count - length, count)]
    return found
