"""Device memory: allocations far apart in the address space, close together in one array.

An address names its allocation, so that no wrong offset lands in another one.  Allocations may
share bytes of a third (`inside`), as buffers of an arena do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ptx_emulator.errors import LaunchError
from ptx_emulator.forms import Array

SLOT = 40  # an allocation has 2**40 addresses of its own
MIDDLE = (1 << (SLOT - 1)) + 256  # it starts in their middle, at no more than 256-byte alignment
SPACE = 56  # the byte of a generic address that tells its space; 0 is global
SHARED, LOCAL, PARAM = 1, 2, 3
ALIGNMENT = 256


@dataclass(frozen=True)
class Allocation:
    """A named piece of memory; `start` is its place in the device's array."""

    name: str
    number: int
    start: int
    bytes: int

    @property
    def address(self) -> int:
        """The address of its first byte."""
        return ((self.number + 1) << SLOT) + MIDDLE


class Device:
    """Global memory, and which of its bytes have been written."""

    def __init__(self) -> None:
        self.memory = np.zeros(1 << 16, np.uint8)
        self.written = np.zeros(1 << 16, np.uint8)
        self.used = 0
        self.allocations: list[Allocation] = []
        self.starts = np.zeros(0, np.int64)
        self.sizes = np.zeros(0, np.int64)
        self.loaded: dict[int, tuple[Any, list[Allocation]]] = {}

    def allocate(
        self, count: int, name: str = "", inside: Allocation | None = None, offset: int = 0
    ) -> Allocation:
        """Memory that nobody has written; `inside` another allocation from `offset` on."""
        number = len(self.allocations)
        if inside is not None and not 0 <= offset <= inside.bytes - count:
            raise LaunchError(
                f"ptx device: {name} lies in {inside.name} of {inside.bytes} bytes, "
                f"got {count} bytes from {offset}"
            )
        start = self._room(count) if inside is None else inside.start + offset
        found = Allocation(name or f"allocation {number}", number, start, count)
        self.allocations.append(found)
        self.starts = np.append(self.starts, start)
        self.sizes = np.append(self.sizes, count)
        return found

    def _room(self, count: int) -> int:
        start = self.used
        self.used += -(-max(count, 1) // ALIGNMENT) * ALIGNMENT
        if self.used > len(self.memory):
            size = max(2 * len(self.memory), 1 << (self.used - 1).bit_length())
            more = np.zeros(size - len(self.memory), np.uint8)
            self.memory = np.concatenate([self.memory, more])
            self.written = np.concatenate([self.written, more])
        self.memory[start : self.used] = 0xCD
        return start

    def put(self, array: Array, name: str = "") -> Allocation:
        """Memory that holds an array's bytes in row-major order."""
        found = self.allocate(array.nbytes, name)
        self.fill(found, array)
        return found

    def fill(self, allocation: Allocation, array: Array, offset: int = 0) -> None:
        """Write an array's bytes."""
        end = offset + array.nbytes
        if not 0 <= offset <= end <= allocation.bytes:
            raise LaunchError(
                f"ptx device: {allocation.name} holds {allocation.bytes} bytes, "
                f"got {array.nbytes} from {offset}"
            )
        place = slice(allocation.start + offset, allocation.start + end)
        self.memory[place] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.written[place] = 1

    def get(self, allocation: Allocation, shape: tuple[int, ...], dtype: Any) -> Array:
        """A copy of what an allocation holds; every byte of it must have been written."""
        dtype = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        place = slice(allocation.start, allocation.start + count)
        if count > allocation.bytes:
            raise LaunchError(
                f"ptx device: {allocation.name} holds {allocation.bytes} bytes, got {count} to read"
            )
        missing = np.flatnonzero(self.written[place] == 0)
        if len(missing):
            raise LaunchError(
                f"ptx device: every element of {allocation.name} is written, got none at "
                f"index {[int(n) for n in np.unravel_index(missing[0] // dtype.itemsize, shape)]}"
            )
        return self.memory[place].view(dtype).reshape(shape).copy()

    def describe(self, address: int) -> str:
        """Where an address lies, in words."""
        number = (address >> SLOT) - 1
        if address >> SPACE or not 0 <= number < len(self.allocations):
            return f"{address:#x}, in no allocation"
        found = self.allocations[number]
        offset = address - found.address
        where = f"byte {offset} of {found.name} of {found.bytes} bytes"
        return f"{address:#x}, {where}"
