"""Special registers: who a thread is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ptx_emulator.machine import Machine


def fill_specials(machine: Machine) -> None:
    """Give the special registers that a kernel reads their values."""
    for name, slot in machine.code.specials.items():
        machine.registers[slot][:] = _value(machine, name)


def _value(machine: Machine, name: str) -> Any:
    base, _, axis = name.removeprefix("%").partition(".")
    if axis:
        return _position(machine, base, "xyz".index(axis))
    lane = machine.lane_of.astype(np.uint32)
    one = np.uint32(1)
    simple = {
        "laneid": lane,
        "warpid": machine.warp_of,
        "nwarpid": machine.warps,
        "lanemask_eq": one << lane,
        "lanemask_lt": (one << lane) - one,
        "lanemask_le": (one << lane) | ((one << lane) - one),
        "lanemask_gt": ~((one << lane) | ((one << lane) - one)),
        "lanemask_ge": ~((one << lane) - one),
        "cluster_nctarank": 1,
        "dynamic_smem_size": machine.dynamic_shared,
        "total_smem_size": machine.memory_bytes,
    }
    return simple.get(base, 0)  # clocks and ranks: zero


def _position(machine: Machine, base: str, axis: int) -> Any:
    def coordinate(numbers: Any, sizes: tuple[int, int, int]) -> Any:
        return numbers // (sizes[0] * sizes[1] if axis == 2 else sizes[0] ** axis) % sizes[axis]

    blocks = machine.which[machine.block_of]
    if base == "tid":
        return coordinate(machine.thread_of, machine.block)
    if base in ("ctaid", "clusterid"):
        return coordinate(blocks, machine.grid)
    if base == "ntid":
        return machine.block[axis]
    if base in ("nctaid", "nclusterid"):
        return machine.grid[axis]
    return 1 if base == "cluster_nctaid" else 0
