"""Bulk stores under way: their thread waits for them in groups, and until then owns their source.

The bytes are read when the store is issued.  A store that lands late changes global memory only at
the wait; that the source stays as it is until then is the business of the race checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx_emulator import errors
from ptx_emulator.forms import Array

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine

CHUNK = 16


@dataclass
class _Store:
    """Rows of bytes on their way to addresses, and the grains of shared memory they come from."""

    lane: int
    addresses: Array
    data: Array
    grains: Array | None


class BulkStores:
    """The stores of all running threads."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.open: dict[int, list[_Store]] = {}
        self.groups: dict[int, list[list[_Store]]] = {}

    def read(self, lane: int, chunks: Array) -> Array:
        """The bytes of 16-byte chunks of shared memory, all of which must have been written."""
        machine, memory = self.machine, self.machine.memory
        lanes, where = np.full(len(chunks), lane), chunks.astype(np.uint64)
        places = memory.place("shared", where, lanes, CHUNK, "a bulk copy from")
        agent_read(machine, places, np.array([lane]), "a bulk copy from shared memory")
        rows = places // CHUNK
        if not memory.shared_written.reshape(-1, CHUNK)[rows].all():
            machine.fail(
                errors.UninitialisedRead, "a bulk copy from shared memory: bytes that have been "
                f"written, got others from {memory.describe('shared', int(chunks[0]))} on", lane,
            )  # fmt: skip
        return memory.shared.reshape(-1, CHUNK)[rows]

    def send(self, lane: int, chunks: Array, addresses: Array, data: Array) -> None:
        """Bytes go to global memory: now, or at the wait."""
        machine = self.machine
        races, grains = machine.shared_races, None
        if races is not None:
            base = int(machine.block_of[lane]) * machine.memory.stride
            grains = races.grains(chunks + base, CHUNK)
        store = _Store(lane, addresses, np.ascontiguousarray(data), grains)
        self.open.setdefault(lane, []).append(store)
        if machine.late:  # where it goes is wrong or right now, not only at the wait
            machine.memory.place(
                "global", addresses, np.full(len(addresses), lane), data.shape[1], "write"
            )
        else:
            self._write(store)

    def _write(self, store: _Store) -> None:
        lanes = np.full(len(store.addresses), store.lane)
        self.machine.memory.store("global", store.addresses, lanes, store.data)

    def commit(self, lanes: Array) -> None:
        """The lanes' stores since their last group become a group."""
        for lane in lanes:
            self.groups.setdefault(int(lane), []).append(self.open.pop(int(lane), []))

    def wait(self, lanes: Array, count: int) -> None:
        """All but the `count` latest groups of each lane have landed."""
        for lane in lanes:
            groups = self.groups.get(int(lane), [])
            done = groups[: len(groups) - count] if count else groups
            self.groups[int(lane)] = groups[len(done) :]
            for store in (s for group in done for s in group):
                self._land(store)

    def _land(self, store: _Store) -> None:
        machine = self.machine
        if machine.late:
            self._write(store)
        if machine.shared_races is not None and store.grains is not None:
            who = np.array([store.lane])
            machine.shared_races.agent_done(
                store.grains.reshape(1, -1), machine.block_of[who], machine.warp_of[who]
            )

    def finish(self) -> None:
        """All threads have ended: no store may still be under way."""
        for lane, stores in [*self.open.items(), *self.groups.items()]:
            if stores:
                self.machine.fail(
                    errors.BulkCopyFault, "a bulk store: a wait for it before its thread ends, got "
                    "none", lane,
                )  # fmt: skip


def agent_read(machine: Machine, places: Array, lanes: Array, what: str) -> Array | None:
    """Tell the race checks which 16-byte chunks asynchronous readers of lanes' warps read."""
    races = machine.shared_races
    if races is None:
        return None
    at = races.grains(places.reshape(-1), CHUNK).reshape(len(lanes), -1)
    wrong, row = races.agent_read(at, machine.block_of[lanes], machine.warp_of[lanes])
    if wrong == "race":
        rule = "no write that nothing orders before it, got one"
        machine.fail(errors.SharedRace, f"{what}: {rule}", int(lanes[row]))
    if wrong == "proxy":
        rule = "fence.proxy.async between it and ordinary writes, got none"
        machine.fail(errors.ProxyFault, f"{what}: {rule}", int(lanes[row]))
    return at
