"""`mbarrier.init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.device import SHARED, SPACE
from ptx_emulator.forms import Array, Form, Step, instruction
from ptx_emulator.mbarriers import Poll, parity_of_state
from ptx_emulator.syntax import Address, Name

_QUALIFIERS = (
    "shared", "shared::cta", "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster",
)  # fmt: skip
_TAG = np.uint64(SHARED << SPACE)


@instruction("mbarrier", leaves=True)
def barrier_object(form: Form, k: Builder) -> Step:
    """All operations on barrier objects."""
    k.access("shared", 8)
    k.only_block_barriers = False
    form.flag(*_QUALIFIERS)
    action = form.needed(
        "init",
        "inval",
        "arrive",
        "arrive_drop",
        "expect_tx",
        "complete_tx",
        "test_wait",
        "try_wait",
    )
    if action in ("init", "inval"):
        form.kind("b64")
        return _initialise(form, k, action)
    if action in ("test_wait", "try_wait"):
        return _wait(form, k, action == "test_wait")
    form.kind("b64")
    if action == "arrive":
        return _arrive(form, k, False, form.flag("expect_tx"))
    if action == "arrive_drop":
        return _arrive(form, k, True, form.flag("expect_tx"))
    return _count_bytes(form, k, 1 if action == "expect_tx" else -1)


def _local(addresses: Array) -> Array:
    """Shared addresses, given as such or as generic ones."""
    return np.where(addresses >> np.uint64(SPACE) == SHARED, addresses ^ _TAG, addresses)


def _initialise(form: Form, k: Builder, action: str) -> Step:
    form.count(2 if action == "init" else 1)
    address = k.address(form.operands[0])
    count = k.read(form.operands[1], "u32") if action == "init" else None

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        where = _local(m.spread(address(m, ix), ix))
        counts = m.spread(np.uint32(0) if count is None else count(m, ix), ix)
        for lane, at, number in zip(lanes, where, counts, strict=True):
            block = int(m.block_of[lane])
            if count is None:
                m.mbarriers.invalidate(block, int(at), int(lane))
            else:
                m.mbarriers.initialise(block, int(at), int(number), int(lane))

    return step


def _groups(m: Any, lanes: Array, *columns: Array) -> Iterator[tuple[Array, list[int]]]:
    """Positions of lanes of one warp that agree on all columns, and what they agree on."""
    rows = np.stack([lanes // 32, *(c.astype(np.int64) for c in columns)], 1)
    if (rows[0] == rows).all():
        yield np.arange(len(lanes)), [int(v) for v in rows[0, 1:]]
        return
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    for number, row in enumerate(kinds):
        yield np.flatnonzero(which.reshape(-1) == number), [int(v) for v in row[1:]]


def _arrive(form: Form, k: Builder, drop: bool, expect: bool) -> Step:
    operands = list(form.operands)
    target = Name("_") if isinstance(operands[0], Address) else operands.pop(0)
    if not 1 <= len(operands) <= 2 or (expect and len(operands) != 2):
        raise form.unknown("a number of operands")
    form.flag("noComplete")
    write, address = k.write(target, "b64"), k.address(operands[0])
    given = k.read(operands[1], "u32") if len(operands) == 2 else None

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        where = _local(m.spread(address(m, ix), ix))
        amounts = m.spread(np.uint32(1) if given is None else given(m, ix), ix)
        phases = np.zeros(len(lanes), np.uint64)
        for which, (at, amount) in _groups(m, lanes, where, amounts):
            who = lanes[which]
            count, bytes_ = (1, amount * len(who)) if expect else (amount, 0)
            block = int(m.block_of[who[0]])
            phases[which] = m.mbarriers.arrive(block, at, who, count, bytes_, drop)
        write(m, ix, phases << np.uint64(63))

    return step


def _count_bytes(form: Form, k: Builder, sign: int) -> Step:
    form.count(2)
    address, amount = k.address(form.operands[0]), k.read(form.operands[1], "u32")

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        where = _local(m.spread(address(m, ix), ix))
        amounts = m.spread(amount(m, ix), ix)
        for which, (at, count) in _groups(m, lanes, where, amounts):
            who = lanes[which]
            bytes_ = sign * count * len(who)
            m.mbarriers.arrive(int(m.block_of[who[0]]), at, who, 0, bytes_)

    return step


def _wait(form: Form, k: Builder, polls: bool) -> Step:
    by_parity = form.flag("parity")
    form.kind("b64")
    form.count(3, 4)
    write, address = k.write(form.operands[0], "pred"), k.address(form.operands[1])
    token = k.read(form.operands[2], "u32" if by_parity else "b64")

    def poll(m: Any) -> Poll:
        return Poll(lambda lanes: write(m, lanes, np.bool_(False)), polls)

    def step(m: Any, ix: Any) -> Any:
        lanes = m.numbers(ix)
        where = _local(m.spread(address(m, ix), ix))
        tokens = m.spread(token(m, ix), ix)
        parities = tokens & np.uint32(1) if by_parity else parity_of_state(tokens)
        done = np.zeros(len(lanes), np.bool_)
        for which, (at, parity) in _groups(m, lanes, where, parities):
            who = lanes[which]
            block = int(m.block_of[who[0]])
            done[which] = m.mbarriers.completed(block, at, parity, who)
            if not done[which[0]]:
                m.mbarriers.wait(block, at, who, poll(m))
        ready = lanes[done]
        if len(ready):
            write(m, ready, np.bool_(True))
        return [(m.at + 1, ready)]

    return step


def arrive_after_copies(form: Form, k: Builder) -> Step:
    """`cp.async.mbarrier.arrive`: the thread's copies so far, and then an arrival."""
    form.count(1)
    form.needed("arrive")
    form.kind("b64")
    form.flag("shared", "shared::cta")
    expected = form.flag("noinc")
    k.access("shared", 8)
    k.only_block_barriers = False
    address = k.address(form.operands[0])

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        where = _local(m.spread(address(m, ix), ix))
        for which, (at,) in _groups(m, lanes, where):
            who = lanes[which]
            land = m.copies.of_lanes(who)
            m.mbarriers.arrive_after_copies(int(m.block_of[who[0]]), at, who, not expected, land)

    return step
