"""Loads and stores of many lanes at once, with every check that belongs to an access.

Memory of a space is one array of bytes; an access of n bytes is a row of it seen as rows of n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.carried import Marks
from ptx_emulator.device import LOCAL, MIDDLE, PARAM, SHARED, SLOT, SPACE
from ptx_emulator.forms import Array
from ptx_emulator.global_races import BETWEEN, NONCOHERENT, WITHIN

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine

_SPACE_OF_TAG = {0: "global", SHARED: "shared", LOCAL: "local", PARAM: "param"}
_LOW = np.uint64((1 << SPACE) - 1)
_GLOBAL_RACES = {
    WITHIN: (errors.GlobalRace, "no access of another thread of its block that nothing orders"),
    BETWEEN: (errors.BlockRace, "no access of another block"),
    NONCOHERENT: (errors.GlobalRace, "no write of what a non-coherent load of the launch reads"),
}
ATOMIC = "atomic"
ORDINARY = "ordinary"
FIXED = "fixed"


def by_space(addresses: Array, lanes: Array) -> list[tuple[str, Array, Array, Array]]:
    """Generic addresses split by their space: (space, which, addresses in it, lanes)."""
    tags = (addresses >> np.uint64(SPACE)).astype(np.int64)
    found = []
    for tag in np.unique(tags):
        which = np.flatnonzero(tags == tag)
        space = _SPACE_OF_TAG.get(int(tag), "global")
        inner = addresses[which]
        found.append((space, which, inner if tag == 0 else inner & _LOW, lanes[which]))
    return found


class Memory:
    """The spaces of the running blocks."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        code, blocks = machine.code, machine.blocks
        self.device = machine.device
        self.shared_limit = code.shared.size + machine.dynamic_shared
        self.stride = -(-max(self.shared_limit, 1) // 1024) * 1024
        self.shared = np.full(blocks * self.stride, 0xCD, np.uint8)
        self.shared_written = np.zeros(blocks * self.stride, np.uint8)
        self.gaps = self._gaps()
        self.barriers = np.zeros(blocks * self.stride, np.bool_)
        self.any_barriers = False
        self.local_bytes = -(-max(code.local.size, 1) // 16) * 16
        self.local = np.full(machine.lanes * self.local_bytes, 0xCD, np.uint8)
        self.local_written = np.zeros(machine.lanes * self.local_bytes, np.uint8)
        self.parameters = machine.parameters
        self.marks = Marks(machine.lanes)

    def _gaps(self) -> Array:
        layout = self.machine.code.shared
        gaps = np.ones(self.stride, np.bool_)
        for name, offset in layout.offsets.items():
            size = layout.variables[name].bytes
            end = self.shared_limit if size is None else offset + size
            gaps[offset:end] = False
        return gaps

    # --- where an access lies

    def place(self, space: str, addresses: Array, lanes: Array, count: int, verb: str) -> Array:
        """First bytes of accesses in the array of a space, after checks of bounds and alignment."""
        if count > 1:
            odd = addresses & np.uint64(count - 1)
            if odd.any():
                self._fail(errors.Misaligned, space, addresses, lanes, odd != 0, count, verb)
        if space == "global":
            return self._place_global(addresses, lanes, count, verb)
        offsets = addresses.astype(np.int64)
        if space == "shared":
            bad = (offsets < 0) | (offsets + count > self.shared_limit)
            if not bad.any():
                bad = self.gaps[offsets] | self.gaps[offsets + (count - 1)]
            base = self.machine.block_of[lanes] * self.stride
        elif space == "local":
            bad = (offsets < 0) | (offsets + count > self.machine.code.local.size)
            base = lanes * self.local_bytes
        else:
            bad = (offsets < 0) | (offsets + count > len(self.parameters) - 16)
            base = 0
        if bad.any():
            self._fail(errors.OutOfBounds, space, addresses, lanes, bad, count, verb)
        return offsets + base

    def _place_global(self, addresses: Array, lanes: Array, count: int, verb: str) -> Array:
        numbers = (addresses >> np.uint64(SLOT)).astype(np.int64) - 1
        first = int(numbers[0]) if len(numbers) else 0
        device = self.device
        total = len(device.allocations)
        if (numbers == first).all() and 0 <= first < total:
            base = np.uint64(((first + 1) << SLOT) + MIDDLE)
            offsets = (addresses - base).view(np.int64)
            size, start = device.sizes[first], device.starts[first]
            bad = (offsets < 0) | (offsets + count > size)
        else:
            bad = (numbers < 0) | (numbers >= total)
            numbers = np.where(bad, 0, numbers)
            if not total:
                self._fail(errors.OutOfBounds, "global", addresses, lanes, bad | True, count, verb)
            base = ((numbers + 1) << SLOT) + MIDDLE
            offsets = (addresses - base.astype(np.uint64)).view(np.int64)
            start = device.starts[numbers]
            bad |= (offsets < 0) | (offsets + count > device.sizes[numbers])
        if bad.any():
            self._fail(errors.OutOfBounds, "global", addresses, lanes, bad, count, verb)
        return offsets + start

    def _fail(
        self, error: Any, space: str, addresses: Array, lanes: Array, bad: Array, count: int,
        verb: str,
    ) -> None:  # fmt: skip
        first = int(np.argmax(bad))
        rule = {
            errors.Misaligned: f"an address that is a multiple of {count}",
            errors.OutOfBounds: "an address inside one allocation",
            errors.UninitialisedRead: "bytes that have been written",
        }[error]
        where = self.describe(space, int(addresses[first]))
        self.machine.fail(
            error, f"{verb} {count} bytes of {space} memory: {rule}, got {where}", int(lanes[first])
        )

    def describe(self, space: str, address: int) -> str:
        """Where an address lies, in words."""
        if space == "global":
            return self.device.describe(address)
        layouts = {"shared": self.machine.code.shared, "local": self.machine.code.local}
        layout = layouts.get(space, self.machine.code.parameters)
        owners = [(offset, name) for name, offset in layout.offsets.items() if offset <= address]
        if not owners:
            return f"{address:#x}"
        offset, name = max(owners)
        size = layout.variables[name].bytes
        count = self.shared_limit - offset if size is None else size
        return f"{address:#x}, byte {address - offset} of {name} of {count} bytes"

    def array_of(self, space: str) -> tuple[Array, Array | None]:
        """The bytes of a space and which of them have been written."""
        if space == "global":
            return self.device.memory, self.device.written
        if space == "shared":
            return self.shared, self.shared_written
        if space == "local":
            return self.local, self.local_written
        return self.parameters, None

    # --- loads and stores

    def load(
        self, space: str, addresses: Array, lanes: Array, count: int, kind: str = ORDINARY,
        carried: Sequence[int | None] = (),
    ) -> Array:  # fmt: skip
        """Bytes at addresses: an array of `count` bytes a lane.

        They have a value, but for those of registers that carry, given by their numbers.
        """
        if space == "generic":
            result = np.empty((len(lanes), count), np.uint8)
            for inner, which, inside, who in by_space(addresses, lanes):
                result[which] = self.load(inner, inside, who, count, kind)
            return result
        places = self.place(space, addresses, lanes, count, "read")
        memory, written = self.array_of(space)
        self.note(space, places, addresses, lanes, count, kind, "read")
        rows = places // count
        if written is not None and (space != "global" or self.machine.check_uninitialised):
            few = count < 8
            bad = written.reshape(-1, count)[rows] == 0 if few else _unwritten(written, rows, count)
            if carried and (bad.any() or self.marks.of):
                known = written.reshape(-1, count)[rows]
                bad = known == 0
                bad[:, self.marks.taken(carried, lanes, known)] = False
            if bad.any():
                lacking, error = np.asarray(bad.any(axis=1)), errors.UninitialisedRead
                self._fail(error, space, addresses, lanes, lacking, count, "read")
        return memory.reshape(-1, count)[rows]

    def store(
        self, space: str, addresses: Array, lanes: Array, data: Array, kind: str = ORDINARY,
        marks: Array | None = None,
    ) -> None:  # fmt: skip
        """Write rows of bytes at addresses; `marks` says which of them have a value."""
        count = data.shape[1]
        if space == "generic":
            for inner, which, inside, who in by_space(addresses, lanes):
                self.store(inner, inside, who, data[which], kind)
            return
        if space == "param":
            self._fail(errors.OutOfBounds, space, addresses, lanes, lanes >= 0, count, "write")
        places = self.place(space, addresses, lanes, count, "write")
        self.note(space, places, addresses, lanes, count, kind, "write")
        memory, written = self.array_of(space)
        assert written is not None
        rows = places // count
        memory.reshape(-1, count)[rows] = data
        written.reshape(-1, count)[rows] = 1 if marks is None else marks

    def note(
        self, space: str, places: Array, addresses: Array, lanes: Array, count: int, kind: str,
        verb: str,
    ) -> None:  # fmt: skip
        """Tell the race checks of an access."""
        if space == "shared":
            self._note_shared(places, addresses, lanes, count, kind, verb)
        elif space == "global":
            self._note_global(places, addresses, lanes, count, kind, verb)

    def _note_shared(
        self, places: Array, addresses: Array, lanes: Array, count: int, kind: str, verb: str
    ) -> None:
        machine = self.machine
        if self.any_barriers:
            hit = self.barriers.reshape(-1, count)[places // count].any(axis=1)
            if hit.any():
                lane = int(lanes[np.argmax(hit)])
                self.machine.fail(
                    errors.MbarrierFault, f"{verb} {count} bytes: bytes of no barrier object, "
                    f"got {self.describe('shared', int(addresses[np.argmax(hit)]))}", lane,
                )  # fmt: skip
        races = machine.shared_races
        if races is None:
            return
        at = races.grains(places, count)
        block, warp = machine.block_of[lanes], machine.warp_of[lanes]
        atomic, races.now = kind == ATOMIC, machine.at
        if verb == "read":
            bad = races.read(at, block, warp, atomic)
        else:
            bad = races.write(at, block, warp, lanes, atomic)
        if bad is None:
            return
        first = int(np.argmax(bad))
        other = "another access"
        if races.other is not None:
            other = f"the write at line {machine.code.instructions[races.other].line}"
        where = self.describe("shared", int(addresses[first]))
        machine.fail(
            errors.SharedRace, f"{verb} {count} bytes of shared memory: an order with all accesses "
            f"of other warps, got none with {other} to {where}", int(lanes[first]),
        )  # fmt: skip

    def _note_global(
        self, places: Array, addresses: Array, lanes: Array, count: int, kind: str, verb: str
    ) -> None:
        machine = self.machine
        races = machine.global_races
        if races is None:
            return
        at = races.grains(places, count)
        block, warp = machine.block_of[lanes], machine.warp_of[lanes]
        if kind == ATOMIC:
            bad = (races.use_to_read if verb == "read" else races.use)(at, block, warp)
        elif verb == "read":
            bad = races.read(at, block, warp, kind == FIXED)
        else:
            bad = races.write(at, block, warp, lanes)
        if bad is None or not bad.any():
            return
        first = int(np.argmax(bad))
        error, other = _GLOBAL_RACES[int(bad[first])]
        where = self.describe("global", int(addresses[first]))
        machine.fail(
            error, f"{verb} {count} bytes of global memory: {other}, got one to {where}",
            int(lanes[first]),
        )  # fmt: skip


def _unwritten(written: Array, rows: Array, count: int) -> Array:
    words = written.view(np.uint64).reshape(-1, count // 8)[rows]
    return words != np.uint64(0x0101_0101_0101_0101)
