"""`mov` with packing, `cvta`, `isspacep`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.building import Builder
from ptx_emulator.device import LOCAL, PARAM, SHARED, SPACE
from ptx_emulator.forms import Array, Form, Step, instruction
from ptx_emulator.syntax import Vector

_TAGS = {"shared": SHARED, "local": LOCAL, "param": PARAM, "global": 0, "const": 0}


@instruction("mov")
def move(form: Form, k: Builder) -> Step:
    """`mov`: copies, addresses of variables, packing and unpacking of vectors."""
    form.count(2)
    kind = form.kind()
    target, source = form.operands
    if isinstance(target, Vector):
        return _unpack(form, k, kind)
    if isinstance(source, Vector):
        return _pack(form, k, kind)
    write, read = k.write(target, kind), k.read(source, kind)
    return lambda m, ix: write(m, ix, read(m, ix))


def _part(form: Form, kind: str, vector: Vector) -> tuple[str, int]:
    bits, count = int(kind[1:]), len(vector.items)
    if bits % count or bits // count not in (8, 16, 32):
        raise form.unknown("a vector of the same bits")
    return f"b{bits // count}", count


def _unpack(form: Form, k: Builder, kind: str) -> Step:
    vector = form.operands[0]
    assert isinstance(vector, Vector)
    part, count = _part(form, kind, vector)
    writes = [k.write(item, part) for item in vector.items]
    read, dtype = k.read(form.operands[1], f"b{kind[1:]}"), f"u{int(part[1:]) // 8}"

    def step(m: Any, ix: Any) -> None:
        value = np.ascontiguousarray(np.atleast_1d(read(m, ix)))
        parts = value.view(dtype).reshape(-1, count)
        for position, write in enumerate(writes):
            write(m, ix, np.ascontiguousarray(parts[:, position]))

    return step


def _pack(form: Form, k: Builder, kind: str) -> Step:
    vector = form.operands[1]
    assert isinstance(vector, Vector)
    part, _ = _part(form, kind, vector)
    reads = [k.read(item, part) for item in vector.items]
    write, dtype = k.write(form.operands[0], f"b{kind[1:]}"), f"u{int(kind[1:]) // 8}"

    def step(m: Any, ix: Any) -> None:
        parts = np.broadcast_arrays(*np.atleast_1d(*(read(m, ix) for read in reads)))
        write(m, ix, np.ascontiguousarray(np.stack(parts, -1)).view(dtype)[:, 0])

    return step


@instruction("cvta")
def convert_address(form: Form, k: Builder) -> Step:
    """`cvta.space` to generic, `cvta.to.space` from generic, which must lie in the space."""
    kind = form.kind("u32", "u64")
    back = form.flag("to")
    space = (form.one(*_TAGS, "shared::cta", "shared::cluster") or "").split("::")[0]
    if not space:
        raise form.unknown("a space")
    space = "local" if space == "param" and _own_parameter(form, k) else space
    tag = np.uint64(_TAGS[space] << SPACE)
    write, read = k.write(form.operands[0], "u64"), k.read(form.operands[1], "u64")
    if kind == "u32" and space != "shared":
        raise form.unknown("addresses of 64 bits")

    def step(m: Any, ix: Any) -> None:
        write(m, ix, read(m, ix) ^ tag if back else read(m, ix) | tag)

    return step


def _own_parameter(form: Form, k: Builder) -> bool:
    return getattr(form.operands[1], "name", "") in k.local.offsets


@instruction("mapa")
def map_to_block(form: Form, k: Builder) -> Step:
    """An address in a block of the cluster, which has one block: the address itself."""
    form.count(3)
    kind = form.kind("u32", "u64")
    form.flag("shared::cluster")
    write, read = k.write(form.operands[0], kind), k.read(form.operands[1], kind)
    rank = k.read(form.operands[2], "u32")

    def step(m: Any, ix: Any) -> None:
        ranks = m.spread(rank(m, ix), ix)
        if ranks.any():
            lane = int(m.numbers(ix)[np.argmax(ranks != 0)])
            m.fail(errors.OutOfBounds, f"mapa: rank 0 in a cluster of one, got {ranks.max()}", lane)
        write(m, ix, read(m, ix))

    return step


@instruction("isspacep")
def is_in_space(form: Form, k: Builder) -> Step:
    """Whether a generic address lies in a space."""
    space = form.needed(*_TAGS, "shared::cta", "shared::cluster")
    tag = np.uint64(_TAGS[space.split("::")[0]])
    write, read = k.write(form.operands[0], "pred"), k.read(form.operands[1], "u64")

    def test(value: Array) -> Any:
        return (value >> np.uint64(SPACE)) == tag

    return lambda m, ix: write(m, ix, test(read(m, ix)))
