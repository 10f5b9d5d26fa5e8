"""Races in shared memory: who last wrote and who read each grain of it, and when."""

from __future__ import annotations

import numpy as np

from ptx_emulator.clocks import FOREVER, Clocks
from ptx_emulator.forms import Array


class SharedRaces:
    """Shadow of all running blocks' shared memory; a grain is the smallest access's size."""

    def __init__(self, size: int, warps: int, grain: int, clocks: Clocks) -> None:
        self.grain, self.warps, self.clocks = grain, warps, clocks
        count = size // grain
        self.writer = np.zeros(count, np.int16)  # warp + 1
        self.wrote = np.zeros(count, np.int32)
        self.atomic = np.zeros(count, np.bool_)  # the last write was an atomic one
        self.read_at = np.zeros((count, warps), np.int32)
        self.thread = np.zeros(count, np.int32)
        self.position = np.zeros(count, np.int32)  # the instruction of the last write
        self.now = 0  # the instruction that runs
        self.other: int | None = None  # the instruction of the write that the last fault met

    def grains(self, places: Array, count: int) -> Array:
        """Shadow numbers of accesses of `count` bytes at `places`: one row an access."""
        if count <= self.grain:
            return (places // self.grain)[:, None]
        return (places // self.grain)[:, None] + np.arange(count // self.grain)

    def _unseen_write(self, at: Array, block: Array, warp: Array) -> Array:
        writer = self.writer[at]
        seen = self.clocks.seen[block[:, None], warp[:, None], writer - 1]
        bad: Array = (self.wrote[at] > seen) & (writer > 0)
        return bad

    def _blame(self, at: Array, bad: Array) -> None:
        """Remember whose write the first bad access meets."""
        self.other = None
        if bad.any():
            row = int(np.argmax(bad.any(axis=1)))
            self.other = int(self.position[at[row, np.argmax(bad[row])]])

    def read(self, at: Array, block: Array, warp: Array, atomic: bool = False) -> Array | None:
        """Note a read; the rows that meet an unordered write, if any."""
        bad = self._unseen_write(at, block, warp)
        if atomic:
            bad &= ~self.atomic[at]
        self._blame(at, bad)
        if not atomic:
            self.read_at[at, warp[:, None]] = self.clocks.seen[block, warp, warp][:, None]
        return np.asarray(bad.any(axis=1)) if bad.any() else None

    def write(
        self, at: Array, block: Array, warp: Array, lanes: Array, atomic: bool = False
    ) -> Array | None:
        """Note a write; the rows that meet an unordered access, if any."""
        bad = self._unseen_write(at, block, warp)
        if atomic:
            bad &= ~self.atomic[at]
        self._blame(at, bad)
        known = self.clocks.seen[block, warp]
        readers = self.read_at[at] > known[:, None, : self.warps]
        if readers.any():
            bad |= readers.any(axis=2)
        self.writer[at] = (warp + 1)[:, None]
        self.wrote[at] = known[np.arange(len(warp)), warp][:, None]
        self.atomic[at] = atomic
        self.position[at] = self.now
        if not atomic:
            self.thread[at] = lanes[:, None]
            bad |= self.thread[at] != lanes[:, None]
        return np.asarray(bad.any(axis=1)) if bad.any() else None

    def restamp(self, at: Array, block: Array, warp: Array) -> None:
        """A copy that a thread has waited for counts as written at the time of the wait."""
        self.writer[at] = (warp + 1)[:, None]
        self.wrote[at] = self.clocks.seen[block, warp, warp][:, None]

    def agent_write(self, at: Array, block: int, warp: int, time: int) -> bool:
        """Note a tensor copy's write; whether it meets an access unordered to its issue."""
        known = self.clocks.seen[block, warp]
        writer = self.writer[at]
        bad = bool(((self.wrote[at] > known[writer - 1]) & (writer > 0)).any())
        bad |= bool((self.read_at[at] > known[: self.warps]).any())
        self.writer[at] = self.warps + 1
        self.wrote[at] = time
        self.position[at] = self.now
        self.atomic[at] = False
        return bad

    def agent_read(self, at: Array, block: Array, warp: Array) -> tuple[str, int]:
        """Note what asynchronous readers of warps read, until `agent_done`: one row a warp.

        Returns what is wrong ("race", "proxy" or nothing) and with which warp.
        """
        known, writer, wrote = self.clocks.seen[block, warp], self.writer[at], self.wrote[at]
        late = (wrote > np.take_along_axis(known, writer - 1, 1)) & (writer > 0)
        self.read_at[at, warp[:, None]] = FOREVER
        if late.any():
            return "race", int(np.argmax(late.any(axis=1)))
        generic = (writer > 0) & (writer <= self.warps)
        if not generic.any():
            return "", 0
        column = np.where(generic, writer - 1, 0)
        fenced = self.clocks.fenced
        by_writer = fenced[block[:, None], column, column]
        by_reader = fenced[block[:, None], warp[:, None], column]
        late = generic & (wrote > by_writer) & (wrote > by_reader)
        return ("proxy", int(np.argmax(late.any(axis=1)))) if late.any() else ("", 0)

    def agent_done(self, at: Array, block: Array, warp: Array) -> None:
        """The asynchronous readers of warps have been waited for."""
        self.read_at[at, warp[:, None]] = self.clocks.seen[block, warp, warp][:, None]
