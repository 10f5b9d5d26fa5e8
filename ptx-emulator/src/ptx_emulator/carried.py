"""Bytes without a value that only pass through registers: copies of memory that is not written yet.

A copy may read more than anybody looks at, as one of a whole history does whose later rows come
into being later, or a load of four elements of which three are used. What a register takes that is
stored, and used for nothing else, may be bytes that nobody has written; the store hands on which
they are, so that a use of them is found where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ptx_emulator.forms import Array
from ptx_emulator.syntax import Address, Function, Name, Not, Offset, Operand, Vector


def carried_registers(function: Function) -> frozenset[str]:
    """The registers that one load fills, and that are only ever stored, or not used at all."""
    loaded: Counter[str] = Counter()
    stored: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for one in function.instructions:
        for operand in one.operands:
            named.update(_names(operand))
        if one.guard:
            named[one.guard] += 1
        if one.parts[0] == "ld":
            loaded.update(_names(one.operands[0]))
        elif one.parts[0] == "st":
            stored.update(_names(one.operands[1]))
    return frozenset(n for n, k in loaded.items() if k == 1 and named[n] == 1 + stored[n])


def _names(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Name | Offset):
        yield operand.name
    elif isinstance(operand, Not):
        yield from _names(operand.operand)
    elif isinstance(operand, Address):
        yield from _names(operand.base)
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from _names(item)


class Marks:
    """Which bytes of registers have a value, for the registers that carry."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.of: dict[int, Array] = {}

    def taken(self, slots: Sequence[int | None], lanes: Array, written: Array) -> list[int]:
        """A load fills registers; the bytes of those that carry."""
        size, bytes_ = written.shape[1] // len(slots), list[int]()
        for position, slot in enumerate(slots):
            if slot is None:
                continue
            own = range(position * size, (position + 1) * size)
            if slot not in self.of:
                self.of[slot] = np.ones((self.lanes, size), np.uint8)
            self.of[slot][lanes] = written[:, own.start : own.stop]
            bytes_ += own
        return bytes_

    def get(self, slot: int | None, lanes: Array, size: int) -> Any:
        """What a store of a register writes: ones where it does not carry."""
        found = None if slot is None else self.of.get(slot)
        return np.ones((len(lanes), size), np.uint8) if found is None else found[lanes][:, :size]
