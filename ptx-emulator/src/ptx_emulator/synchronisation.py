"""`bar`, `barrier`, `fence`, and `cp.async` with its waits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.building import Builder
from ptx_emulator.bulk import bulk_copy
from ptx_emulator.forms import Form, Step, instruction
from ptx_emulator.mbarrier_instructions import arrive_after_copies
from ptx_emulator.syntax import Immediate
from ptx_emulator.warps import warp_barrier


class _Finish:
    """Writes the result of a barrier's reduction once all have arrived."""

    def __init__(self, write: Any, counts: bool) -> None:
        self.write, self.counts = write, counts

    def __call__(self, m: Any, lanes: Any, value: Any) -> None:
        self.write(m, lanes, value)


@instruction("bar", "barrier", leaves=True)
def barrier(form: Form, k: Builder) -> Step:
    """`bar.sync bar.arrive bar.red`, `barrier.*` with and without `aligned`, clusters of one."""
    short = form.source.parts[0] == "bar"
    if form.flag("warp"):
        return warp_barrier(form, k)
    if form.flag("cluster"):
        return _cluster_barrier(form, k)
    form.flag("cta")
    aligned = form.flag("aligned") or short
    action = form.needed("sync", "arrive", "red")
    reduction = form.needed("popc", "and", "or") if action == "red" else None
    counted = reduction == "popc"
    if reduction:
        form.kind("u32", "pred")
    operands = list(form.operands)
    finish = value = None
    if reduction:
        finish = _Finish(k.write(operands.pop(0), "u32" if counted else "pred"), counted)
        value = k.read(operands.pop(), "pred")
    if not 1 <= len(operands) <= 2 or (action == "arrive" and len(operands) != 2):
        raise form.unknown("a number of operands")
    number = k.read(operands[0], "u32")
    count = k.read(operands[1], "u32") if len(operands) == 2 else None
    if count is not None or operands[0] != Immediate(0):
        k.only_block_barriers = False

    def step(m: Any, ix: Any) -> Any:
        counts = None if count is None else m.spread(count(m, ix), ix)
        reduced = None
        if reduction and value is not None:
            reduced = (reduction, m.spread(value(m, ix), ix), finish)
        return m.barriers.arrive(
            ix, m.spread(number(m, ix), ix), counts, action != "arrive", aligned, reduced
        )

    return step


def _cluster_barrier(form: Form, k: Builder) -> Step:
    """In a cluster of one block: arriving does nothing, waiting is a barrier of the block."""
    form.flag("aligned", "release", "acquire", "relaxed")
    if form.needed("arrive", "wait") == "arrive":
        return lambda m, ix: None
    return lambda m, ix: m.barriers.arrive(ix, m.spread(np.uint32(0), ix), None, True, True)


@instruction("fence")
def fence(form: Form, k: Builder) -> Step:
    """Fences: memory is in order here, only the proxy of asynchronous readers is not."""
    form.flag("sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys")
    form.flag("sync_restrict::shared::cta", "sync_restrict::shared::cluster")
    if form.flag("mbarrier_init"):
        return _proxy_fence(False)
    if not form.flag("proxy"):
        return lambda m, ix: None
    kind = form.needed("async", "async::generic", "alias", "async.shared", "tensormap::generic")
    form.flag("shared::cta", "shared::cluster", "global")
    if kind != "async":
        if kind != "alias":
            raise form.unknown("a proxy")
        return lambda m, ix: None
    return _proxy_fence(True)


def _proxy_fence(all_memory: bool) -> Step:
    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        keys = np.unique(m.block_of[lanes] * m.warps + m.warp_of[lanes])
        m.clocks.fence(keys // m.warps, keys % m.warps, all_memory)

    return step


@instruction("cp")
def copy_async(form: Form, k: Builder) -> Step:
    """`cp.async` and everything that begins like it."""
    form.needed("async")
    if form.flag("bulk"):
        return bulk_copy(form, k)
    if form.flag("commit_group"):
        form.count(0)
        return lambda m, ix: m.copies.commit(ix)
    if form.flag("wait_all"):
        form.count(0)
        return lambda m, ix: m.copies.wait_all(ix)
    if form.flag("wait_group"):
        return _wait_group(form)
    if form.flag("mbarrier"):
        return arrive_after_copies(form, k)
    form.needed("ca", "cg")
    form.needed("shared", "shared::cta")
    form.needed("global")
    form.flag("L2::64B", "L2::128B", "L2::256B")
    return _copy(form, k)


def _wait_group(form: Form) -> Step:
    form.count(1)
    count = form.operands[0]
    if not isinstance(count, Immediate):
        raise form.unknown("a constant number of groups")
    return lambda m, ix: m.copies.wait(ix, count.value)


def _copy(form: Form, k: Builder) -> Step:
    operands = form.count(3, 4)
    size = form.operands[2]
    if not isinstance(size, Immediate) or size.value not in (4, 8, 16):
        raise form.unknown("a copy of 4, 8 or 16 bytes")
    count = size.value
    if "cg" in form.source.parts and count != 16:
        raise form.unknown("a .cg copy of 16 bytes")
    k.access("shared", count)
    k.access("global", 1 if operands == 4 else count)
    target, source = k.address(form.operands[0]), k.address(form.operands[1])
    given = k.read(form.operands[3], "u32") if operands == 4 else None

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        sizes = m.spread(np.uint32(count) if given is None else given(m, ix), ix)
        if (sizes > count).any():
            m.fail(
                errors.OutOfBounds,
                f"cp.async: at most {count} bytes to read, got {sizes.max()}",
                int(lanes[0]),
            )
        m.copies.issue(
            lanes, m.spread(target(m, ix), ix), m.spread(source(m, ix), ix), count,
            sizes.astype(np.int64),
        )  # fmt: skip

    return step
