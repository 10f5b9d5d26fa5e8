"""Which accesses are ordered: a vector clock for each warp of each running block.

`seen[b, w, u]` is the latest time of warp `u` that warp `w` of block `b` knows to be past; `u = w`
is its own time.  The last column is the agent that writes for tensor copies.  Barriers join the
clocks of those that meet; an access is ordered before another if its time is known to the other's
warp (FastTrack: Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection").
"""

from __future__ import annotations

import numpy as np

from ptx_emulator.forms import Array

FOREVER = np.int32(2**30)


class Clocks:
    """Times of the warps of the running blocks."""

    def __init__(self, blocks: int, warps: int) -> None:
        self.warps = warps
        self.seen = np.zeros((blocks, warps, warps + 1), np.int32)
        own = np.arange(warps)
        self.seen[:, own, own] = 1
        self.epoch = np.ones(blocks, np.int32)
        self.copies = np.zeros(blocks, np.int32)
        # What a warp had seen when it last fenced the asynchronous proxy.
        self.fenced = np.zeros_like(self.seen)
        self.fenced_barriers = np.zeros_like(self.seen)  # the same, of barrier objects

    def meet_all(self) -> None:
        """A barrier of every running block, each on its own."""
        own = np.arange(self.warps)
        self.seen[:] = self.seen.max(axis=1, keepdims=True)
        self.seen[:, own, own] += 1
        self.epoch += 1

    def meet(self, block: int, warps: Array, known: Array, everyone: bool) -> None:
        """A barrier: all that any of the warps knows, or that is `known`, all of them know."""
        self.seen[block, warps] = np.maximum(known, self.seen[block, warps].max(axis=0))
        self.seen[block, warps, warps] += 1
        if everyone:
            self.epoch[block] += 1

    def leave(self, block: int, warp: int) -> Array:
        """What a warp knows, to be handed on by a barrier object; its own time goes on."""
        known = self.seen[block, warp].copy()
        self.seen[block, warp, warp] += 1
        return known

    def learn(self, block: int, warp: int, known: Array) -> None:
        """Take over what a barrier object hands on."""
        own = self.seen[block, warp, warp]
        np.maximum(self.seen[block, warp], known, out=self.seen[block, warp])
        self.seen[block, warp, warp] = max(own, self.seen[block, warp, warp])

    def fence(self, block: Array, warp: Array, all_memory: bool) -> None:
        """A proxy fence: everything known so far may be read by asynchronous readers.

        Without `all_memory` it is that of initialised barrier objects only.
        """
        self.fenced_barriers[block, warp] = self.seen[block, warp]
        if all_memory:
            self.fenced[block, warp] = self.seen[block, warp]
        self.seen[block, warp, warp] += 1

    def next_copy(self, block: int) -> int:
        """The time of a new tensor copy."""
        self.copies[block] += 1
        return int(self.copies[block])
