"""Instructions that lanes of a warp execute together: those that arrive first wait for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.forms import Array, Step

WARP = 32


def warp_rows(m: Any, lanes: Array) -> tuple[Array, Array]:
    """The warps of sorted lanes, and for each lane the row of its warp among them."""
    warps, rows = np.unique(lanes // WARP, return_inverse=True)
    return warps, rows


def whole_warp(step: Step) -> Step:
    """A step for whole warps only: parts of a warp wait for its other lanes."""

    def gathered(m: Any, ix: Any) -> Any:
        if isinstance(ix, slice):
            step(m, ix)
            return None
        warps, rows = warp_rows(m, ix)
        whole = np.bincount(rows) == WARP
        if whole.all():
            step(m, ix)
            return None
        ready = whole[rows]
        _refuse_ended(m, warps[~whole], np.ones(WARP, np.bool_), ix[~ready])
        m.park(m.at, ix[~ready])
        if not ready.any():
            return []
        step(m, ix[ready])
        return [(m.at + 1, ix[ready])]

    return gathered


def _refuse_ended(m: Any, warps: Array, wanted: Array, lanes: Array) -> None:
    """Lanes that can never arrive are an error now."""
    members = warps[:, None] * WARP + np.arange(WARP)
    never = m.exited[members] & wanted
    if never.any():
        gone = int(members[never][0])
        verb = "has ended" if m.exists[gone] else "does not exist"
        m.fail(
            errors.WarpFault, f"a warp-wide instruction: all lanes that it names, got lane "
            f"{gone % WARP} of the warp that {verb}", int(lanes[0]),
        )  # fmt: skip


def masked(
    read_mask: Callable[[Any, Any], Any], step: Callable[[Any, Any, Array, Array], None]
) -> Step:
    """A step for the lanes of a member mask; it is given the lanes' warps as rows of 32.

    `step(machine, lanes, rows, here)`: `rows[k]` is the row of lane k's warp, `here[row, lane]`
    tells who is there.
    """

    def gathered(m: Any, ix: Any) -> Any:
        lanes = m.numbers(ix)
        masks = m.spread(read_mask(m, ix), ix)
        own = (masks >> m.lane_of[lanes].astype(np.uint32)) & np.uint32(1)
        if (own == 0).any():
            lane = int(lanes[np.argmax(own == 0)])
            m.fail(
                errors.WarpFault,
                "a member mask: one with the lane that executes it, got none",
                lane,
            )
        warps, rows = warp_rows(m, lanes)
        here = np.zeros((len(warps), WARP), np.bool_)
        here[rows, m.lane_of[lanes]] = True
        wanted = ((masks[:, None] >> np.arange(WARP, dtype=np.uint32)) & np.uint32(1)).astype(
            np.bool_
        )
        members = warps[rows][:, None] * WARP + np.arange(WARP)
        missing = (wanted & ~here[rows] & m.exists[members]).any(axis=1)
        if not missing.any():
            step(m, lanes, rows, here)
            return None
        # A warp may hold several masks; keep it simple: all of the warp waits.
        late = np.bincount(rows, missing)[rows] > 0
        first = np.argmax(missing)
        _refuse_ended(
            m, warps[rows[first : first + 1]], wanted[first] & m.exists[members[first]], lanes[late]
        )
        m.park(m.at, lanes[late])
        ready = lanes[~late]
        if not len(ready):
            return []
        warps, rows = warp_rows(m, ready)
        step(m, ready, rows, here[np.isin(np.arange(len(here)), rows_of(lanes, ready))])
        return [(m.at + 1, ready)]

    return gathered


def rows_of(lanes: Array, ready: Array) -> Array:
    """Rows, among the warps of `lanes`, of the warps of `ready`."""
    return np.flatnonzero(np.isin(np.unique(lanes // WARP), ready // WARP))
