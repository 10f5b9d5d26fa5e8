"""Warpgroup matrix products under way: what they read, what they owe, and who has waited.

Each warp of a warpgroup computes its own 16 rows.  With late delivery the accumulators hold NaN
until the wait that guarantees them; a product that follows in line takes the numbers owed instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptx_emulator import errors
from ptx_emulator.forms import Array

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine

WARP = 32
GROUP = 4


@dataclass
class Owed:
    """Numbers that accumulators will hold, and the latest product that wrote them, a warp each."""

    values: Array
    version: Array  # 0 where nothing is owed


@dataclass
class Product:
    """One product of several warps: the grains that each reads, and how to deliver it."""

    warps: Array
    grains: list[Array]
    deliver: Callable[[Array], None]


@dataclass
class _Group:
    owners: Array
    products: list[Product] = field(default_factory=list)


class Warpgroups:
    """The products of all running warps, numbered through all blocks."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.count = machine.lanes // WARP
        self.fenced = np.zeros(self.count, np.bool_)
        self.trace = np.zeros(self.count, np.uint64)
        self.open: list[Product] = []
        self.groups: list[_Group] = []
        self.owed: dict[tuple[int, ...], Owed] = {}
        self.version = 0

    def fence(self, warps: Array) -> None:
        """`wgmma.fence`: registers written so far may be read by products."""
        self.fenced[warps] = True

    def begin(self, warps: Array, descriptors: Array) -> None:
        """Products of warps: they must have fenced, and all warps of a group do the same."""
        if not self.fenced[warps].all():
            lane = int(warps[np.argmin(self.fenced[warps])]) * WARP
            self.machine.fail(
                errors.WarpgroupFault, "wgmma.mma_async: wgmma.fence before the first product "
                "after a wait, got none", lane,
            )  # fmt: skip
        mixed = (self.trace[warps] ^ descriptors) * np.uint64(0x9E37_79B9_7F4A_7C15)
        self.trace[warps] = mixed + np.uint64(1)

    def commit(self, warps: Array) -> None:
        """The warps' products since their last group become a group."""
        group, left = _Group(warps.copy()), []
        for product in self.open:
            mine = np.isin(product.warps, warps)
            for chosen, into in ((mine, group.products), (~mine, left)):
                if chosen.any():
                    grains = [g[chosen] for g in product.grains]
                    into.append(Product(product.warps[chosen], grains, product.deliver))
        self.open = left
        self.groups.append(group)

    def wait(self, warps: Array, count: int) -> None:
        """All but the `count` latest groups of each warp are done."""
        later = np.zeros(self.count, np.int32)
        active = np.zeros(self.count, np.bool_)
        active[warps] = True
        finished: list[tuple[_Group, Array]] = []
        kept = []
        for group in reversed(self.groups):
            mine = group.owners[active[group.owners]]
            done = mine[later[mine] >= count]
            later[mine] += 1
            if len(done):
                finished.append((group, done))
                group.owners = np.setdiff1d(group.owners, done)
            if len(group.owners):
                kept.append(group)
        self.groups = kept[::-1]
        for group, done in reversed(finished):
            self._finish(group, done)
        self._mark_pending()
        if count == 0:
            self.fenced[warps] = False

    def _finish(self, group: _Group, done: Array) -> None:
        machine = self.machine
        for product in group.products:
            mine = np.isin(product.warps, done)
            warps = product.warps[mine]
            if not len(warps):
                continue
            product.deliver(warps)
            if machine.shared_races is not None:
                block, warp = np.divmod(warps, machine.warps)
                for grains in product.grains:
                    machine.shared_races.agent_done(grains[mine], block, warp)

    def _mark_pending(self) -> None:
        """Reads of products still under way stay unordered, even where a finished one read too."""
        races = self.machine.shared_races
        if races is None:
            return
        for group in self.groups:
            for product in group.products:
                mine = np.isin(product.warps, group.owners)
                warp = product.warps[mine] % self.machine.warps
                for grains in product.grains:
                    races.read_at[grains[mine], warp[:, None]] = 2**30

    def finish(self) -> None:
        """All threads have ended: the warps of each group did the same, and waited for it."""
        machine = self.machine
        full = machine.warps - machine.warps % GROUP
        trace = self.trace.reshape(-1, machine.warps)
        groups = trace[:, :full].reshape(-1, GROUP)
        odd = np.flatnonzero((groups != groups[:, :1]).any(axis=1))
        if len(odd) or trace[:, full:].any():
            machine.fail(
                errors.WarpgroupFault, "wgmma: the same products by all four warps of a group, got "
                "others", 0,
            )  # fmt: skip
        late = [p for group in self.groups for p in group.products if len(group.owners)]
        for product in (*self.open, *late):
            machine.fail(
                errors.WarpgroupFault, "wgmma.mma_async: a wait for it before its threads end, got "
                "none", int(product.warps[0]) * WARP,
            )  # fmt: skip
