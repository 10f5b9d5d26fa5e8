"""The running blocks of a launch: all their threads are lanes of one array for each register.

Threads that are at the same instruction go on together.  Of those that have parted, the ones at the
least instruction go first, so that they meet again.  Threads that cannot go on are parked at their
instruction until what they wait for has happened; if nobody can go on, that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ptx_emulator import errors
from ptx_emulator.barriers import Barriers
from ptx_emulator.building import Code
from ptx_emulator.bulk_stores import BulkStores
from ptx_emulator.clocks import Clocks
from ptx_emulator.copies import AsyncCopies
from ptx_emulator.device import Device
from ptx_emulator.forms import Array, Lanes
from ptx_emulator.global_races import GlobalRaces
from ptx_emulator.mbarriers import Mbarriers
from ptx_emulator.memory import Memory
from ptx_emulator.shared_races import SharedRaces
from ptx_emulator.special_registers import fill_specials
from ptx_emulator.warpgroup_state import Warpgroups

WARP = 32
ALL = slice(None)
Flow = Sequence[tuple[int, Array]]  # where lanes go: (instruction, lanes)


@dataclass(frozen=True)
class Job:
    """A launch: what all batches of its blocks have in common; `global_races` None: no checks."""

    code: Code
    device: Device
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: Array
    global_addresses: list[int]
    dynamic_shared: int
    global_races: GlobalRaces | None
    check_uninitialised: bool
    late: bool
    budget: int


class Team:
    """Lanes that are scheduled together, by the instruction that they are at."""

    def __init__(self) -> None:
        self.groups: dict[int, Array] = {}

    def add(self, position: int, lanes: Array) -> None:
        """Lanes arrive at an instruction."""
        if not len(lanes):
            return
        here = self.groups.get(position)
        if here is not None:
            lanes = np.sort(np.concatenate([here, lanes]))
        self.groups[position] = lanes


class Machine:
    """A batch of blocks, its registers and memory, and the loop that runs it."""

    def __init__(self, job: Job, which: Array) -> None:
        self.code, self.device, self.grid, self.block = job.code, job.device, job.grid, job.block
        self.parameters, self.global_addresses = job.parameters, job.global_addresses
        self.dynamic_shared, self.late, self.budget = job.dynamic_shared, job.late, job.budget
        self.check_uninitialised = job.check_uninitialised
        self.which, code, block = which, job.code, job.block
        self.threads = block[0] * block[1] * block[2]
        self.warps = -(-self.threads // WARP)
        self.blocks, self.padded = len(which), WARP * self.warps
        self.lanes = self.blocks * self.padded
        self.every = np.arange(self.lanes)
        self.block_of = self.every // self.padded
        self.thread_of = self.every % self.padded
        self.warp_of = self.thread_of // WARP
        self.lane_of = self.every % WARP
        self.exists = self.thread_of < self.threads
        self.exited = ~self.exists
        self.registers: list[Array] = [np.zeros(self.lanes, dtype) for dtype in code.slots]
        fill_specials(self)
        self.clocks = Clocks(self.blocks, self.warps)
        self.memory = Memory(self)
        self.shared_races = None
        if job.global_races is not None and self.memory.shared_limit:
            size = self.blocks * self.memory.stride
            self.shared_races = SharedRaces(size, self.warps, code.shared_grain, self.clocks)
        self.global_races = job.global_races
        if job.global_races is not None:
            job.global_races.bind(self.clocks, which * self.warps + 1)
        self.barriers = Barriers(self)
        self.mbarriers = Mbarriers(self)
        self.copies = AsyncCopies(self)
        self.bulk_stores = BulkStores(self)
        self.warpgroups = Warpgroups(self)
        self.teams: list[Team] = []
        self.team_of = np.zeros(self.warps, np.int64)
        self.waiting: dict[int, Array] = {}
        self.at = 0
        self.steps = 0
        self.lane_steps = 0

    # --- what instructions ask

    def numbers(self, ix: Lanes) -> Array:
        """The numbers of lanes."""
        return self.every if isinstance(ix, slice) else ix

    def count(self, ix: Lanes) -> int:
        """How many lanes."""
        return self.lanes if isinstance(ix, slice) else len(ix)

    def spread(self, value: Any, ix: Lanes) -> Array:
        """A value for every lane."""
        if np.ndim(value):
            return value
        return np.broadcast_to(value, (self.count(ix),))

    def fail(self, error: Any, what: str, lane: int) -> NoReturn:
        """Raise an error that names the kernel, the block, the thread and the line."""
        one = self.code.instructions[min(self.at, len(self.code.instructions) - 1)]
        raise error(
            f"ptx {self.code.name}: {what}, by {self.who(lane)} at line {one.line}: {one.text}"
        )

    def who(self, lane: int) -> str:
        """A thread and its block, in words."""
        x, y, _ = self.block
        thread = int(self.thread_of[lane])
        axes = (thread % x, thread // x % y, thread // (x * y))
        return f"thread {axes} of block {self.block_position(int(self.block_of[lane]))}"

    def block_position(self, block: int) -> tuple[int, int, int]:
        """Coordinates of a running block in the grid."""
        x, y, _ = self.grid
        number = int(self.which[block])
        return (number % x, number // x % y, number // (x * y))

    @property
    def memory_bytes(self) -> int:
        """Shared memory of a block."""
        return self.code.shared.size + self.dynamic_shared

    # --- who goes next

    def park(self, position: int, lanes: Array) -> None:
        """Lanes wait at an instruction for lanes of their warp, which meet them there."""
        here = self.waiting.get(position)
        if here is not None:
            lanes = np.sort(np.concatenate([here, lanes]))
        self.waiting[position] = lanes

    def release(self, position: int, lanes: Array) -> None:
        """Lanes may go on at an instruction."""
        if len(self.teams) == 1:
            self.teams[0].add(position, lanes)
            return
        teams = self.team_of[self.warp_of[lanes]]
        for number in np.unique(teams):
            self.teams[number].add(position, lanes[teams == number])

    def start(self, teams: int) -> None:
        """All lanes are at the first instruction; warps are dealt out to teams."""
        self.teams = [Team() for _ in range(teams)]
        self.team_of = np.arange(self.warps) * teams // self.warps
        self.release(0, np.flatnonzero(self.exists))

    def run(self, order: str, seed: int) -> None:
        """Run all blocks to their ends."""
        self.start(1 if order == "lockstep" else self.warps)
        random = np.random.default_rng(seed)
        while True:
            ready = [team for team in self.teams if team.groups]
            if not ready:
                if self.exited.all():
                    self.mbarriers.finish()
                    self.bulk_stores.finish()
                    self.warpgroups.finish()
                    return
                if self.mbarriers.wake():
                    continue
                self.stuck()
            if order == "random":
                self.run_team(ready[random.integers(len(ready))], int(random.integers(1, 200)))
            else:
                self.run_team(ready[-1], 1 << 30)

    def run_team(self, team: Team, quantum: int) -> None:
        """Run the lanes of a team until none can go on or a number of instructions is over."""
        groups, code = team.groups, self.code
        guards, leaves, steps = code.guards, code.leaves, code.steps
        while groups and quantum > 0:
            position = min(groups)
            lanes = groups.pop(position)
            if position in self.waiting:
                lanes = self._joined(position, lanes)
            stop = min(groups) if groups else 1 << 60
            ix: Lanes = ALL if len(lanes) == self.lanes else lanes
            count = len(lanes)
            while True:
                self.at = position
                quantum -= 1
                self.steps += 1
                self.lane_steps += count
                guard = guards[position]
                if leaves[position]:
                    self._leave(team, position, lanes, ix, guard)
                    break
                if guard is None:
                    steps[position](self, ix)
                else:
                    self._guarded(position, lanes, ix, guard)
                position += 1
                if position == stop or position in self.waiting or quantum <= 0:
                    team.add(position, lanes)
                    break
            if self.steps > self.budget:
                self.fail(
                    errors.RunawayLoop,
                    f"at most {self.budget} instructions, got more",
                    int(lanes[0]),
                )

    def _joined(self, position: int, lanes: Array) -> Array:
        """Add the lanes that wait at an instruction for others of their warps."""
        parked = self.waiting[position]
        mine = np.isin(parked // WARP, lanes // WARP)
        if mine.all():
            del self.waiting[position]
        else:
            self.waiting[position] = parked[~mine]
        return np.sort(np.concatenate([lanes, parked[mine]]))

    def _taken(self, ix: Lanes, guard: tuple[int, bool]) -> Array:
        taken: Array = self.registers[guard[0]][ix]
        return ~taken if guard[1] else taken

    def _guarded(self, position: int, lanes: Array, ix: Lanes, guard: tuple[int, bool]) -> None:
        taken = self._taken(ix, guard)
        if taken.all():
            self.code.steps[position](self, ix)
        elif taken.any():
            self.code.steps[position](self, lanes[taken])

    def _leave(
        self, team: Team, position: int, lanes: Array, ix: Lanes, guard: tuple[int, bool] | None
    ) -> None:
        """Run an instruction that may send lanes elsewhere; None sends them on."""
        taken = None if guard is None else self._taken(ix, guard)
        if taken is not None and not taken.all():
            team.add(position + 1, lanes[~taken])
            lanes = ix = lanes[taken]
            if not len(lanes):
                return
        flow = self.code.steps[position](self, ix)
        for target, those in ((position + 1, lanes),) if flow is None else flow:
            team.add(target, those)

    def exit(self, ix: Lanes) -> None:
        """Lanes have ended."""
        self.exited[ix] = True

    def stuck(self) -> NoReturn:
        """Nobody can go on: say who waits for whom."""
        if self.waiting:
            self.at = min(self.waiting)
            lanes = self.waiting[self.at]
            self.fail(
                errors.WarpFault, "a warp-wide instruction: all lanes that it names arrive, got "
                f"{len(lanes)} that wait for others of their warps", int(lanes[0]),
            )  # fmt: skip
        self.mbarriers.stuck()
        self.barriers.stuck()
        raise AssertionError("threads that neither run nor wait nor have ended")
