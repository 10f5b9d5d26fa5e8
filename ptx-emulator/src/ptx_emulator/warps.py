"""`shfl vote match activemask redux elect`, and `bar.warp.sync`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.building import Builder
from ptx_emulator.convergence import WARP, masked, warp_rows
from ptx_emulator.forms import NUMPY, Array, Form, Step, instruction
from ptx_emulator.syntax import Name, Pair


@instruction("shfl", leaves=True)
def shuffle(form: Form, k: Builder) -> Step:
    """`shfl.sync.mode.b32 d|p, a, b, c, mask`."""
    form.count(5)
    form.needed("sync")
    form.kind("b32")
    mode = form.needed("up", "down", "bfly", "idx")
    target = form.operands[0]
    first = target.first if isinstance(target, Pair) else target
    second = target.second if isinstance(target, Pair) else Name("_")
    write, tell = k.write(first, "b32"), k.write(second, "pred")
    value, by, limits = (k.read(o, "b32") for o in form.operands[1:4])

    def step(m: Any, lanes: Array, rows: Array, here: Array) -> None:
        lane = m.lane_of[lanes]
        count = np.asarray(by(m, lanes)).astype(np.int64) & 31
        bounds = np.asarray(limits(m, lanes)).astype(np.int64)
        segment, clamp = (bounds >> 8) & 31, bounds & 31
        last = (lane & segment) | (clamp & ~segment)
        source = {
            "up": lane - count,
            "down": lane + count,
            "bfly": lane ^ count,
            "idx": (lane & segment) | (count & ~segment),
        }[mode]
        inside = source >= last if mode == "up" else source <= last
        source = np.where(inside, source, lane)
        if not here[rows, source].all():
            worst = int(np.argmin(here[rows, source]))
            m.fail(
                errors.WarpFault, f"shfl: a source lane that executes it, got lane {source[worst]}",
                int(lanes[worst]),
            )  # fmt: skip
        words = np.zeros((len(here), WARP), np.uint32)
        words[rows, lane] = value(m, lanes)
        write(m, lanes, words[rows, source])
        tell(m, lanes, inside)

    return masked(k.read(form.operands[4], "b32"), step)


def _ballot(m: Any, lanes: Array, rows: Array, count: int, values: Any) -> Array:
    bits = np.zeros((count, WARP), np.bool_)
    bits[rows, m.lane_of[lanes]] = values
    return np.packbits(bits, axis=1, bitorder="little").view("<u4")[:, 0]


def _member_ballot(m: Any, lanes: Array, rows: Array, masks: Any, values: Any, count: int) -> Array:
    return _ballot(m, lanes, rows, count, values)[rows] & masks


@instruction("vote", leaves=True)
def vote(form: Form, k: Builder) -> Step:
    """`vote.sync.all .any .uni .ballot`."""
    form.count(3)
    form.needed("sync")
    mode = form.needed("all", "any", "uni", "ballot")
    kind = form.kind("pred", "b32")
    write, value = k.write(form.operands[0], kind), k.read(form.operands[1], "pred")
    mask = k.read(form.operands[2], "b32")

    def step(m: Any, lanes: Array, rows: Array, here: Array) -> None:
        masks = m.spread(mask(m, lanes), lanes)
        found = _member_ballot(m, lanes, rows, masks, value(m, lanes), len(here))
        if mode == "ballot":
            write(m, lanes, found)
        elif mode == "any":
            write(m, lanes, found != 0)
        else:
            every = found == masks & _ballot(m, lanes, rows, len(here), True)[rows]
            write(m, lanes, every | (found == 0) if mode == "uni" else every)

    return masked(mask, step)


@instruction("match", leaves=True)
def match(form: Form, k: Builder) -> Step:
    """`match.any.sync .all.sync`: the lanes with the same value."""
    form.count(3)
    form.needed("sync")
    mode, kind = form.needed("any", "all"), form.kind("b32", "b64")
    target = form.operands[0]
    first = target.first if isinstance(target, Pair) else target
    second = target.second if isinstance(target, Pair) else Name("_")
    write, tell = k.write(first, "b32"), k.write(second, "pred")
    value, mask = k.read(form.operands[1], kind), k.read(form.operands[2], "b32")

    def step(m: Any, lanes: Array, rows: Array, here: Array) -> None:
        masks = m.spread(mask(m, lanes), lanes)
        words = np.zeros((len(here), WARP), NUMPY[kind])
        mine = m.spread(value(m, lanes), lanes)
        words[rows, m.lane_of[lanes]] = mine
        same = (words[rows] == mine[:, None]) & here[rows]
        found = np.packbits(same, axis=1, bitorder="little").view("<u4")[:, 0] & masks
        if mode == "any":
            write(m, lanes, found)
            return
        every = found == masks
        write(m, lanes, np.where(every, masks, np.uint32(0)))
        tell(m, lanes, every)

    return masked(mask, step)


@instruction("activemask")
def active_mask(form: Form, k: Builder) -> Step:
    """The lanes that execute it together; any answer with the own lane would be allowed."""
    form.count(1)
    form.kind("b32")
    write = k.write(form.operands[0], "b32")

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        warps, rows = warp_rows(m, lanes)
        write(m, ix, _ballot(m, lanes, rows, len(warps), True)[rows])

    return step


@instruction("redux", leaves=True)
def reduce_warp(form: Form, k: Builder) -> Step:
    """`redux.sync.op d, a, mask`."""
    form.count(3)
    form.needed("sync")
    name, propagate = form.needed("add", "min", "max", "and", "or", "xor"), form.flag("NaN")
    kind = form.kind("u32", "s32", "b32", "f32")
    functions = {
        "add": np.add, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    if kind == "f32" and not propagate:
        functions |= {"min": np.fmin, "max": np.fmax}
    write, value = k.write(form.operands[0], kind), k.read(form.operands[1], kind)
    mask = k.read(form.operands[2], "b32")

    def step(m: Any, lanes: Array, rows: Array, here: Array) -> None:
        masks, mine = m.spread(mask(m, lanes), lanes), m.spread(value(m, lanes), lanes)
        keys = rows * (1 << 32) + masks.astype(np.int64)
        result = np.empty_like(mine)
        for key in np.unique(keys):
            result[keys == key] = functions[name].reduce(mine[keys == key])
        write(m, lanes, result)

    return masked(mask, step)


@instruction("elect", leaves=True)
def elect(form: Form, k: Builder) -> Step:
    """`elect.sync d|p, mask`: the least lane of the mask is elected."""
    form.count(2)
    form.needed("sync")
    target = form.operands[0]
    if not isinstance(target, Pair):
        raise form.unknown("a pair of destinations")
    write, tell = k.write(target.first, "b32"), k.write(target.second, "pred")
    mask = k.read(form.operands[1], "b32")

    def step(m: Any, lanes: Array, rows: Array, here: Array) -> None:
        masks = m.spread(mask(m, lanes), lanes)
        present = _ballot(m, lanes, rows, len(here), True)[rows] & masks
        lowest = np.log2((present & (~present + np.uint32(1))).astype(np.float64)).astype(np.uint32)
        write(m, lanes, lowest)
        tell(m, lanes, m.lane_of[lanes] == lowest)

    return masked(mask, step)


def warp_barrier(form: Form, k: Builder) -> Step:
    """`bar.warp.sync mask`."""
    form.needed("sync")
    form.count(1)
    return masked(k.read(form.operands[0], "b32"), lambda m, lanes, rows, here: None)
