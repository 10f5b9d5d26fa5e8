"""Races in global memory: between blocks of a launch at any time, within a block between barriers.

Each grain remembers its last writer, its readers and its atomic users.  Several readers are kept as
"several warps of one block" or "several blocks": enough to tell that a later write meets one of
them, and never a reason to report what is ordered.
"""

from __future__ import annotations

import numpy as np

from ptx_emulator.clocks import Clocks
from ptx_emulator.forms import Array

SEVERAL_BLOCKS = np.int32(-(2**31))
NONE, WITHIN, BETWEEN, NONCOHERENT = 0, 1, 2, 3


class GlobalRaces:
    """Shadow of device memory for one launch; ids are `block * warps + warp + 1`."""

    def __init__(self, size: int, warps: int, grain: int, strict: bool) -> None:
        self.warps, self.grain = warps, grain
        self.strict = strict  # all barriers are of whole blocks: epochs order everything
        count = size // grain
        self.writer, self.wrote = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.reader, self.red = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.user, self.used = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.fixed = np.zeros(count, np.bool_)  # read as memory that a launch does not change
        self.thread = np.zeros(count, np.int32)

    def bind(self, clocks: Clocks, first: Array) -> None:
        """The blocks that run now: their clocks, and the id of each one's first warp."""
        self.clocks, self.first = clocks, first

    def grains(self, places: Array, count: int) -> Array:
        """Shadow numbers of accesses of `count` bytes at `places`: one row an access."""
        if count <= self.grain:
            return (places // self.grain)[:, None]
        return (places // self.grain)[:, None] + np.arange(count // self.grain)

    def _conflict(self, ids: Array, times: Array, block: Array, warp: Array) -> Array | None:
        """For each access: NONE, WITHIN a block or BETWEEN blocks."""
        me = (self.first[block] + warp)[:, None]
        other = (ids != 0) & (ids != me)
        if not other.any():
            return None
        mine = ((self.first[block] - 1) // self.warps)[:, None]
        single = ids > 0
        their = np.where(single, (ids - 1) // self.warps, -ids.astype(np.int64) - 1)
        between = other & (their != mine)
        column = np.where(single, (ids - 1) % self.warps, 0)
        seen = self.clocks.seen[block[:, None], warp[:, None], column]
        late = np.where(single, times > seen, times >= self.clocks.epoch[block][:, None])
        if not self.strict:
            late &= single
        within = other & ~between & late
        return np.where(between, BETWEEN, np.where(within, WITHIN, NONE)).max(axis=1)

    def _join(self, ids: Array, times: Array, at: Array, block: Array, warp: Array) -> None:
        """Add accesses to those that a grain remembers."""
        me = np.broadcast_to((self.first[block] + warp)[:, None], at.shape).astype(np.int32)
        time = np.broadcast_to(self.clocks.seen[block, warp, warp][:, None], at.shape)
        epoch = np.broadcast_to(self.clocks.epoch[block][:, None], at.shape)
        old, mine = ids[at], (me - 1) // self.warps
        new, stamp = me.copy(), time.copy()
        other = (old != 0) & (old != me)
        if other.any():
            single = old > 0
            theirs = np.where(single, (old - 1) // self.warps, -old.astype(np.int64) - 1)
            seen = self.clocks.seen[
                block[:, None], warp[:, None], np.where(single, (old - 1) % self.warps, 0)
            ]
            past = np.where(single, times[at] <= seen, times[at] < epoch)
            several = other & (theirs == mine) & ~past
            new, stamp = np.where(several, -mine - 1, new), np.where(several, epoch, stamp)
            new = np.where(other & (theirs != mine), SEVERAL_BLOCKS, new).astype(np.int32)
        ids[at], times[at] = new, stamp
        back = ids[at]
        if (back == new).all():
            return
        # Lanes of one instruction met: first those of one block, then those of several.
        theirs = np.where(back > 0, (back - 1) // self.warps, -back.astype(np.int64) - 1)
        for chosen, value in (
            ((back != new) & (theirs == mine), -mine - 1),
            ((back != new) & (theirs != mine), np.full_like(new, SEVERAL_BLOCKS)),
        ):
            ids[at[chosen]], times[at[chosen]] = value[chosen], epoch[chosen]

    def read(self, at: Array, block: Array, warp: Array, fixed: bool = False) -> Array | None:
        """Note a read; what each access meets, None if nothing."""
        bad = self._conflict(self.writer[at], self.wrote[at], block, warp)
        bad = worst(bad, self._conflict(self.user[at], self.used[at], block, warp))
        self._join(self.reader, self.red, at, block, warp)
        if fixed:
            self.fixed[at] = True
            changed = (self.writer[at] != 0).any(axis=1)
            if changed.any():
                bad = np.where(changed, NONCOHERENT, NONE)
        return bad

    def write(self, at: Array, block: Array, warp: Array, lanes: Array) -> Array | None:
        """Note a write; what each access meets, None if nothing."""
        bad = self._conflict(self.writer[at], self.wrote[at], block, warp)
        bad = worst(bad, self._conflict(self.reader[at], self.red[at], block, warp))
        bad = worst(bad, self._conflict(self.user[at], self.used[at], block, warp))
        changed = self.fixed[at].any(axis=1)
        if changed.any():
            bad = np.where(changed, NONCOHERENT, NONE)
        self.writer[at] = (self.first[block] + warp)[:, None]
        self.wrote[at] = self.clocks.seen[block, warp, warp][:, None]
        self.thread[at] = lanes[:, None]
        back = self.thread[at] != lanes[:, None]
        if back.any():
            between = (self.writer[at] - 1) // self.warps != (
                (self.first[block] - 1) // self.warps
            )[:, None]
            bad = worst(bad, np.where(back, np.where(between, BETWEEN, WITHIN), NONE).max(axis=1))
        return bad

    def use(self, at: Array, block: Array, warp: Array) -> Array | None:
        """Note an atomic or otherwise strong access; atomic ones do not race with each other."""
        bad = self._conflict(self.writer[at], self.wrote[at], block, warp)
        bad = worst(bad, self._conflict(self.reader[at], self.red[at], block, warp))
        self._join(self.user, self.used, at, block, warp)
        return bad

    def use_to_read(self, at: Array, block: Array, warp: Array) -> Array | None:
        """Note a strong read."""
        bad = self._conflict(self.writer[at], self.wrote[at], block, warp)
        self._join(self.user, self.used, at, block, warp)
        return bad


def worst(first: Array | None, second: Array | None) -> Array | None:
    """The graver of two answers for each access."""
    if first is None or second is None:
        return second if first is None else first
    return np.maximum(first, second)
