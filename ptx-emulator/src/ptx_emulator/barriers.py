"""`bar` and `barrier`: who has arrived at which barrier of a block, and when they may go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ptx_emulator import errors
from ptx_emulator.forms import Array, Lanes

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine

WARP = 32


@dataclass
class _Barrier:
    """One barrier of a block while it fills."""

    known: Array
    expected: int | None  # threads, None for all of the block
    positions: dict[int, list[Array]] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    waiting_warps: set[int] = field(default_factory=set)
    parts: dict[int, int] = field(default_factory=dict)
    value: int | None = None
    writers: list[tuple[Any, Array]] = field(default_factory=list)


class Barriers:
    """The barriers 0 to 15 of every running block."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.open: dict[tuple[int, int], _Barrier] = {}

    def arrive(
        self, ix: Lanes, numbers: Array, counts: Array | None, wait: bool, aligned: bool,
        reduction: tuple[str, Array, Any] | None = None,
    ) -> list[tuple[int, Array]] | None:  # fmt: skip
        """Lanes arrive; where those go that need not wait, None if all go on."""
        machine = self.machine
        plain = isinstance(ix, slice) and counts is None and wait and reduction is None
        if plain and not self.open and (numbers == numbers[0]).all():
            machine.clocks.meet_all()
            return None
        lanes, position = machine.numbers(ix), machine.at
        keys = machine.block_of[lanes] * WARP + numbers.astype(np.int64)
        for key in np.unique(keys):
            here = keys == key
            block, number = divmod(int(key), WARP)
            if number > 15:
                machine.fail(
                    errors.BarrierFault,
                    f"a barrier: a number below 16, got {number}",
                    int(lanes[0]),
                )
            those = lanes[here]
            count = None if counts is None else self._count(counts[here], those)
            barrier = self._barrier(block, number, count, those)
            if reduction is not None:
                kind, values, write = reduction
                _reduce(barrier, kind, values[here])
                barrier.writers.append((write, those))
            self._add(barrier, block, those, position, wait, aligned)
            self._complete(block, number, barrier)
        return [] if wait else None

    def _count(self, counts: Array, lanes: Array) -> int:
        count = int(counts[0])
        if (counts != count).any() or count % WARP or not 0 < count <= self.machine.padded:
            self.machine.fail(
                errors.BarrierFault, "a barrier: a count of threads that is a multiple of 32 and "
                f"at most the block's, got {count}", int(lanes[0]),
            )  # fmt: skip
        return count

    def _barrier(self, block: int, number: int, count: int | None, lanes: Array) -> _Barrier:
        barrier = self.open.get((block, number))
        if barrier is None:
            known = np.zeros(self.machine.warps + 1, np.int32)
            barrier = self.open[block, number] = _Barrier(known, count)
        elif barrier.expected != count:
            self.machine.fail(
                errors.BarrierFault, f"barrier {number}: one count of threads for all that meet, "
                f"got {barrier.expected or 'all'} and {count or 'all'}", int(lanes[0]),
            )  # fmt: skip
        return barrier

    def _add(
        self, barrier: _Barrier, block: int, lanes: Array, position: int, wait: bool, aligned: bool
    ) -> None:
        machine = self.machine
        warps = machine.warp_of[lanes]
        if barrier.expected is None and wait and barrier.positions:
            other = next(iter(barrier.positions))
            if other != position:
                self._apart(lanes, other)
        for warp in np.unique(warps):
            those = lanes[warps == warp]
            warp = int(warp)
            arrived = barrier.parts.get(warp, 0) + len(those)
            if aligned and arrived > len(those):
                at = [
                    p for p, found in barrier.positions.items() for f in found if self._has(f, warp)
                ]
                if any(p != position for p in at):
                    self._apart(lanes, at[0])
            if warp in barrier.whole:
                machine.fail(
                    errors.BarrierFault,
                    "a barrier: a warp that has yet to arrive, got one that did",
                    int(those[0]),
                )
            barrier.parts[warp] = arrived
            if arrived == self._threads_of(warp):
                barrier.whole.add(warp)
                if not wait:
                    np.maximum(barrier.known, machine.clocks.leave(block, warp), out=barrier.known)
            if wait:
                barrier.waiting_warps.add(warp)
        if wait:
            barrier.positions.setdefault(position, []).append(lanes)

    def _has(self, lanes: Array, warp: int) -> bool:
        return bool((self.machine.warp_of[lanes] == warp).any())

    def _threads_of(self, warp: int) -> int:
        return min(WARP, self.machine.threads - WARP * warp)

    def _apart(self, lanes: Array, other: int) -> NoReturn:
        line = self.machine.code.instructions[other].line
        self.machine.fail(
            errors.BarrierFault, "a barrier: one instruction at which all threads meet, got "
            f"threads that wait for the same barrier at line {line}", int(lanes[0]),
        )  # fmt: skip

    def _complete(self, block: int, number: int, barrier: _Barrier) -> None:
        machine = self.machine
        wanted = machine.padded if barrier.expected is None else barrier.expected
        if WARP * len(barrier.whole) < wanted:
            return
        del self.open[block, number]
        if barrier.waiting_warps:
            warps = np.array(sorted(barrier.waiting_warps))
            everyone = len(warps) == machine.warps
            machine.clocks.meet(block, warps, barrier.known, everyone)
        for write, lanes in barrier.writers:
            value = barrier.value or 0
            write(machine, lanes, np.uint32(value) if write.counts else np.bool_(value))
        for position, found in barrier.positions.items():
            machine.release(position + 1, np.sort(np.concatenate(found)))

    def stuck(self) -> NoReturn:
        """Nobody can go on: name a barrier and who is missing."""
        machine = self.machine
        (block, number), barrier = next(e for e in self.open.items() if e[1].positions)
        machine.at, lanes = next((p, f[0]) for p, f in barrier.positions.items())
        mine = machine.exists & (machine.block_of == block)
        here = np.concatenate([f for found in barrier.positions.values() for f in found])
        mine[here] = False
        ended = np.flatnonzero(mine & machine.exited)
        elsewhere = np.flatnonzero(mine & ~machine.exited)
        missing = [
            f"{len(found)} that {verb} (first: {machine.who(int(found[0]))})"
            for found, verb in ((ended, "have ended"), (elsewhere, "wait elsewhere"))
            if len(found)
        ]
        machine.fail(
            errors.BarrierFault, f"barrier {number}: all of its threads arrive, got {len(here)} "
            f"that wait for {' and '.join(missing) or 'more than the block has'}", int(lanes[0]),
        )  # fmt: skip


def _reduce(barrier: _Barrier, kind: str, values: Array) -> None:
    if kind == "popc":
        barrier.value = (barrier.value or 0) + int(values.sum())
    elif kind == "and":
        barrier.value = int(bool(1 if barrier.value is None else barrier.value) and values.all())
    else:
        barrier.value = int(bool(barrier.value or 0) or values.any())
