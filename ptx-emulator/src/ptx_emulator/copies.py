"""`cp.async`: copies from global to shared memory that a thread waits for in groups.

A copy may land at once or only at the wait that guarantees it.  Early delivery writes the bytes
when the copy is issued; late delivery makes them uninitialised until the wait.  Programs must be
right under both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptx_emulator.forms import Array, Lanes

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine


@dataclass
class Copy:
    """Bytes on their way: `data[k]` of lane `lanes[k]` goes to `places[k]`, ..."""

    lanes: Array
    places: Array
    data: Array
    landed: Array

    def part(self, which: Array) -> Copy:
        """Some lanes' share."""
        return Copy(self.lanes[which], self.places[which], self.data[which], self.landed[which])


@dataclass
class _Group:
    """Copies that lanes committed together; `owners` are those that have yet to wait for it."""

    owners: Array
    copies: list[Copy] = field(default_factory=list)


class AsyncCopies:
    """The copies in flight of all running threads."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.open: list[Copy] = []
        self.groups: list[_Group] = []

    def issue(self, lanes: Array, target: Array, source: Array, count: int, sizes: Array) -> None:
        """Start copies of `sizes` bytes, zero-filled up to `count`."""
        memory, machine = self.machine.memory, self.machine
        data = np.zeros((len(lanes), count), np.uint8)
        full = sizes == count
        if full.any():
            data[full] = memory.load("global", source[full], lanes[full], count)
        for k in np.flatnonzero(~full & (sizes > 0)):
            one, size = lanes[k : k + 1], int(sizes[k])
            where = source[k] + np.arange(size, dtype=np.uint64)
            data[k, :size] = memory.load("global", where, np.repeat(one, size), 1)[:, 0]
        places = memory.place("shared", target, lanes, count, "copy")
        memory.note("shared", places, target, lanes, count, "ordinary", "write")
        rows = places // count
        if machine.late:
            memory.shared.reshape(-1, count)[rows] = 0xCD
            memory.shared_written.reshape(-1, count)[rows] = 0
        else:
            memory.shared.reshape(-1, count)[rows] = data
            memory.shared_written.reshape(-1, count)[rows] = 1
        self.open.append(Copy(lanes, places, data, np.zeros(len(lanes), np.bool_)))

    def commit(self, ix: Lanes) -> None:
        """The lanes' copies since their last group become a group."""
        lanes = self.machine.numbers(ix)
        group = _Group(lanes.copy())
        left = []
        for copy in self.open:
            mine = np.isin(copy.lanes, lanes, assume_unique=True)
            if mine.all():
                group.copies.append(copy)
                continue
            group.copies.append(copy.part(mine))
            left.append(copy.part(~mine))
        self.open = left
        self.groups.append(group)

    def wait(self, ix: Lanes, count: int) -> None:
        """All but the `count` latest groups of each lane have landed."""
        lanes = self.machine.numbers(ix)
        later = np.zeros(self.machine.lanes, np.int32)
        active = np.zeros(self.machine.lanes, np.bool_)
        active[lanes] = True
        kept = []
        for group in reversed(self.groups):
            mine = group.owners[active[group.owners]]
            done = mine[later[mine] >= count]
            later[mine] += 1
            if len(done):
                finished = np.zeros(self.machine.lanes, np.bool_)
                finished[done] = True
                for copy in group.copies:
                    self._land(copy, finished[copy.lanes], waited=True)
                group.owners = group.owners[~finished[group.owners]]
            if len(group.owners):
                kept.append(group)
        self.groups = kept[::-1]

    def wait_all(self, ix: Lanes) -> None:
        """All copies of the lanes have landed, committed or not."""
        self.commit(ix)
        self.wait(ix, 0)

    def of_lanes(self, lanes: Array) -> Callable[[], None]:
        """How to land all copies that lanes have issued so far."""
        sent = [*self.open, *(copy for group in self.groups for copy in group.copies)]
        shares = [(copy, np.isin(copy.lanes, lanes)) for copy in sent]

        def land() -> None:
            for copy, mine in shares:
                self._land(copy, mine, waited=False)

        return land

    def _land(self, copy: Copy, which: Array, waited: bool) -> None:
        """Deliver what has not landed; what a thread waited for counts as written by it now."""
        if not which.any():
            return
        fresh = which & ~copy.landed
        copy.landed |= which
        machine, memory = self.machine, self.machine.memory
        count = copy.data.shape[1]
        places, lanes = copy.places[which], copy.lanes[which]
        if machine.late and fresh.any():
            rows = copy.places[fresh] // count
            memory.shared.reshape(-1, count)[rows] = copy.data[fresh]
            memory.shared_written.reshape(-1, count)[rows] = 1
        races = machine.shared_races
        if races is not None and waited:
            block, warp = machine.block_of[lanes], machine.warp_of[lanes]
            races.restamp(races.grains(places, count), block, warp)
