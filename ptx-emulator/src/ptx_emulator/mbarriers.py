"""`mbarrier` objects: eight bytes of shared memory that count arrivals and bytes of copies.

The counts live in the simulated memory, so that whatever overwrites them is found out.  A thread
that waits is parked until the phase completes.  Copies that land late land when nobody else can go
on.  What the arriving threads knew is handed to those that waited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ptx_emulator import errors
from ptx_emulator.forms import Array

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine

_COUNT = (1 << 20) - 1
_BYTES = 8
_POLLS = 1000  # polls in a row that may fail while nobody else can go on

Key = tuple[int, int]  # (block, address)


@dataclass
class State:
    """The counts of a barrier object, as its eight bytes hold them."""

    expected: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def encoded(self) -> int:
        """The eight bytes."""
        low = self.expected | self.pending << 20
        return low | (self.bytes & 0x3F_FFFF) << 40 | 1 << 62 | self.phase << 63

    @staticmethod
    def decoded(word: int) -> State | None:
        """The counts in eight bytes, if they are a barrier object's."""
        if not word >> 62 & 1:
            return None
        count = word >> 40 & 0x3F_FFFF
        signed = count - (1 << 22) if count >> 21 else count
        return State(word & _COUNT, word >> 20 & _COUNT, signed, word >> 63)


@dataclass
class _Landing:
    """Copies that have yet to arrive: what to do then, and what it counts."""

    land: Callable[[], None]
    bytes: int
    time: int
    arrivals: int = 0


@dataclass(frozen=True)
class Poll:
    """How a wait tells lanes that it failed; one that `repeats` may fail again and again."""

    fail: Callable[[Array], None]
    repeats: bool


@dataclass
class _Waiters:
    """Threads that wait at an instruction; `poll` gives up for them."""

    position: int
    lanes: Array
    poll: Poll


@dataclass
class _Knowledge:
    """What arrivals of the phase know, and what those of completed phases knew."""

    current: Array
    done: Array
    warp: int  # that initialised the object, and when
    time: int
    copies: list[_Landing] = field(default_factory=list)
    waiters: list[_Waiters] = field(default_factory=list)
    tried: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    polls: int = 0


class Mbarriers:
    """The barrier objects of the running blocks."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.known: dict[Key, _Knowledge] = {}

    # --- the object in memory

    def place(self, block: int, address: int, lane: int) -> int:
        """Where an object lies in the array of shared memory."""
        where, who = np.array([address], np.uint64), np.array([lane])
        return int(self.machine.memory.place("shared", where, who, _BYTES, "use")[0])

    def read(self, key: Key, lane: int, verb: str) -> State:
        """The counts of an object; the access must be ordered after its initialisation."""
        memory, machine = self.machine.memory, self.machine
        place = self.place(*key, lane)
        state = None
        if memory.barriers[place]:
            state = State.decoded(int(memory.shared[place : place + _BYTES].view(np.uint64)[0]))
        if state is None:
            where = memory.describe("shared", key[1])
            machine.fail(
                errors.MbarrierFault, f"{verb}: an initialised barrier object, got {where}", lane
            )
        races = machine.shared_races
        if races is not None:
            who = np.array([lane])
            at = races.grains(np.array([place]), _BYTES)
            if races.read(at, machine.block_of[who], machine.warp_of[who], atomic=True) is not None:
                where = memory.describe("shared", key[1])
                machine.fail(
                    errors.SharedRace, f"{verb}: an object whose initialisation a barrier orders "
                    f"before, got {where}", lane,
                )  # fmt: skip
        return state

    def write(self, key: Key, state: State) -> None:
        """Store the counts."""
        place = key[0] * self.machine.memory.stride + key[1]
        word = np.array([state.encoded()], np.uint64)
        self.machine.memory.shared[place : place + _BYTES] = word.view(np.uint8)

    def initialise(self, block: int, address: int, count: int, lane: int) -> None:
        """`mbarrier.init`."""
        memory, machine = self.machine.memory, self.machine
        place = self.place(block, address, lane)
        if not 1 <= count <= _COUNT:
            machine.fail(
                errors.MbarrierFault, f"mbarrier.init: a count of 1 to {_COUNT}, got {count}", lane
            )
        if memory.barriers[place : place + _BYTES].any():
            where = memory.describe("shared", address)
            machine.fail(
                errors.MbarrierFault,
                f"mbarrier.init: memory without a barrier object, got {where}",
                lane,
            )
        memory.note(
            "shared", np.array([place]), np.array([address], np.uint64), np.array([lane]), _BYTES,
            "ordinary", "write",
        )  # fmt: skip
        memory.barriers[place : place + _BYTES] = True
        memory.any_barriers = True
        nothing = np.zeros(machine.warps + 1, np.int32)
        warp = int(machine.warp_of[lane])
        time = int(machine.clocks.seen[block, warp, warp])
        self.known[block, address] = _Knowledge(nothing.copy(), nothing, warp, time)
        self.write((block, address), State(count, count))

    def invalidate(self, block: int, address: int, lane: int) -> None:
        """`mbarrier.inval`: the memory may be used for other things."""
        self.read((block, address), lane, "mbarrier.inval")
        place = self.place(block, address, lane)
        self.machine.memory.barriers[place : place + _BYTES] = False
        self.machine.memory.shared_written[place : place + _BYTES] = 0
        del self.known[block, address]

    # --- arrivals

    def arrive(
        self, block: int, address: int, lanes: Array, count: int, bytes_: int, drop: bool = False
    ) -> int:
        """Arrivals of the lanes of one warp, `count` each; the phase that they arrive in."""
        machine, key, lane = self.machine, (block, address), int(lanes[0])
        state = self.read(key, lane, "mbarrier.arrive")
        phase, total = state.phase, count * len(lanes)
        if total > state.pending:
            self._too_many(state, total, lane)
        known = self.known[key]
        if total:
            leaves = machine.clocks.leave(block, int(machine.warp_of[lane]))
            np.maximum(known.current, leaves, out=known.current)
        state.pending -= total
        state.expected -= total if drop else 0
        self._count_bytes(key, state, bytes_, lane)
        return phase

    def arrive_after_copies(
        self, block: int, address: int, lanes: Array, counted: bool, land: Callable[[], None]
    ) -> None:
        """Lanes of one warp arrive when their copies have landed; `counted`: nobody expects it."""
        machine, key, lane = self.machine, (block, address), int(lanes[0])
        state = self.read(key, lane, "cp.async.mbarrier.arrive")
        if counted:
            state.pending += len(lanes)
            self.write(key, state)
        known = self.known[key]
        leaves = machine.clocks.leave(block, int(machine.warp_of[lane]))
        np.maximum(known.current, leaves, out=known.current)
        landing = _Landing(land, 0, 0, len(lanes))
        if machine.late:
            known.copies.append(landing)
        else:
            self._land(key, landing, lane)

    def _too_many(self, state: State, count: int, lane: int) -> NoReturn:
        self.machine.fail(
            errors.MbarrierFault, f"mbarrier: at most {state.pending} further arrivals in this "
            f"phase, got {count}", lane,
        )  # fmt: skip

    def _count_bytes(self, key: Key, state: State, bytes_: int, lane: int) -> None:
        state.bytes += bytes_
        if abs(state.bytes) > _COUNT:
            self.machine.fail(
                errors.MbarrierFault, f"mbarrier: at most {_COUNT} bytes under way, got "
                f"{state.bytes}", lane,
            )  # fmt: skip
        if state.pending or state.bytes:
            self.write(key, state)
            return
        known = self.known[key]
        known.done = np.maximum(known.done, known.current)
        known.current = np.zeros_like(known.done)
        known.polls, known.tried = 0, known.tried[:0]
        self.write(key, State(state.expected, state.expected, 0, state.phase ^ 1))
        waiters, known.waiters = known.waiters, []
        for one in waiters:
            self.machine.release(one.position, one.lanes)

    def bring(
        self,
        block: int,
        address: int,
        lane: int,
        landing: Callable[[], None],
        bytes_: int,
        time: int,
    ) -> None:
        """A copy that will bring bytes: now, or late."""
        key = (block, address)
        self.read(key, lane, "a bulk copy")
        found, fenced = self.known[key], self.machine.clocks.fenced_barriers[block]
        by_reader = fenced[int(self.machine.warp_of[lane]), found.warp]
        if max(int(fenced[found.warp, found.warp]), int(by_reader)) < found.time:
            self.machine.fail(
                errors.ProxyFault, "a bulk copy: fence.mbarrier_init or fence.proxy.async after "
                "the initialisation of its barrier object, got none", lane,
            )  # fmt: skip
        copy = _Landing(landing, bytes_, time)
        if self.machine.late:
            self.known[key].copies.append(copy)
        else:
            self._land(key, copy, lane)

    def _land(self, key: Key, copy: _Landing, lane: int) -> None:
        copy.land()
        known = self.known[key]
        agent = self.machine.warps
        known.current[agent] = max(int(known.current[agent]), copy.time)
        state = self.read_quietly(key)
        if copy.arrivals > state.pending:
            self._too_many(state, copy.arrivals, lane)
        state.pending -= copy.arrivals
        self._count_bytes(key, state, -copy.bytes, lane)

    def read_quietly(self, key: Key) -> State:
        """The counts of an object that is known to be one."""
        place = key[0] * self.machine.memory.stride + key[1]
        word = int(self.machine.memory.shared[place : place + _BYTES].view(np.uint64)[0])
        state = State.decoded(word)
        assert state is not None, "a barrier object that nobody could overwrite"
        return state

    # --- waits

    def completed(self, block: int, address: int, parity: int, lanes: Array) -> bool:
        """Whether the phase of a parity has completed; if so, the lanes learn from it."""
        key = (block, address)
        state = self.read(key, int(lanes[0]), "mbarrier wait")
        if state.phase == parity & 1:
            return False
        known = self.known[key].done
        for warp in np.unique(self.machine.warp_of[lanes]):
            self.machine.clocks.learn(block, int(warp), known)
        return True

    def wait(self, block: int, address: int, lanes: Array, poll: Poll) -> None:
        """Lanes wait at the present instruction for the next phase.

        The first try of a lane in a phase fails at once, which any wait may do: a program that
        does not look at the answer is found out.
        """
        found = self.known[block, address]
        again = np.isin(lanes, found.tried)
        first = lanes[~again]
        if len(first):
            found.tried = np.concatenate([found.tried, first])
            poll.fail(first)
            self.machine.release(self.machine.at + 1, first)
        if again.any():
            found.waiters.append(_Waiters(self.machine.at, lanes[again], poll))

    def wake(self) -> bool:
        """Nobody can go on: let copies land that somebody waits for, or a poll fail."""
        awaited = [entry for entry in self.known.items() if entry[1].waiters and entry[1].copies]
        for key, known in awaited:
            copies, known.copies = known.copies, []
            lane = int(known.waiters[0].lanes[0])
            for copy in copies:
                self._land(key, copy, lane)
        if awaited:
            return True
        for known in self.known.values():
            polling = [w for w in known.waiters if w.poll.repeats]
            if polling and known.polls < _POLLS:
                known.polls += 1
                known.waiters = [w for w in known.waiters if not w.poll.repeats]
                for one in polling:
                    one.poll.fail(one.lanes)
                    self.machine.release(one.position + 1, one.lanes)
                return True
        return False

    def stuck(self) -> None:
        """Raise if somebody waits for ever."""
        for key, known in self.known.items():
            if known.waiters:
                state = self.read_quietly(key)
                self.machine.at = known.waiters[0].position
                where = self.machine.memory.describe("shared", key[1])
                self.machine.fail(
                    errors.EndlessWait, "a wait on a barrier object: a phase that completes, got "
                    f"{state.pending} arrivals and {state.bytes} bytes missing at {where}",
                    int(known.waiters[0].lanes[0]),
                )  # fmt: skip

    def finish(self) -> None:
        """All threads have ended: no copy may still be under way."""
        for key, known in self.known.items():
            if known.copies:
                where = self.machine.memory.describe("shared", key[1])
                self.machine.fail(
                    errors.BulkCopyFault, "an asynchronous copy: a wait for it before its block "
                    f"ends, got none on {where}", key[0] * self.machine.padded,
                )  # fmt: skip


def parity_of_state(state: Any) -> Any:
    """The parity that a state token of `mbarrier.arrive` stands for."""
    return state >> np.uint64(63)
