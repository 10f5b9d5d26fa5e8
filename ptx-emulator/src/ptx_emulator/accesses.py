"""`ld`, `ldu`, `st`, `atom`, `red`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.forms import NUMPY, Array, Form, Step, instruction
from ptx_emulator.memory import ATOMIC, FIXED, ORDINARY, by_space
from ptx_emulator.rounding import decoded, encoded
from ptx_emulator.syntax import width_of

_SPACES = (
    "global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry",
    "param::func", "const",
)  # fmt: skip
_STRONG = ("relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_EVICTIONS = ("evict_normal", "evict_unchanged", "evict_first", "evict_last")
_CACHES = (
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B",
    *(f"L{level}::{eviction}" for level in (1, 2) for eviction in _EVICTIONS),
)  # fmt: skip


def _space(form: Form, k: Builder, address: int) -> str:
    space = (form.one(*_SPACES) or "generic").split("::")[0]
    space = "global" if space == "const" else space
    return k.space_of(form.operands[address], space)


def _access(form: Form, k: Builder, space: str) -> tuple[str, int, str]:
    """The type, the number of values and the kind of an access."""
    strong = form.flag(*_STRONG)
    form.flag("weak", *_SCOPES, *_CACHES)
    fixed = form.flag("nc")
    lanes = form.one("v2", "v4", "v8")
    count = int(lanes[1:]) if lanes else 1
    kind = form.kind()
    if kind == "b128":
        raise form.unknown("an access of up to 64 bits a register")
    k.access(space, count * width_of(kind))
    if form.flag("L2::cache_hint"):
        raise form.unknown("an access without a cache policy")
    return kind, count, ATOMIC if strong else FIXED if fixed else ORDINARY


@instruction("ld", "ldu")
def load(form: Form, k: Builder) -> Step:
    """Loads of one to eight values."""
    form.count(2)
    space = _space(form, k, 1)
    kind, count, access = _access(form, k, space)
    if form.source.parts[0] == "ldu":
        access = FIXED
    address, bytes_, dtype = k.address(form.operands[1]), count * width_of(kind), NUMPY[kind]
    writes = [k.write(item, kind) for item in form.vector(0, count)]
    slots = [k.carried_slot(item) for item in form.vector(0, count)]
    # Shared memory is for what was just put there: whoever reads it too early is wrong at once.
    carried = slots if any(slot is not None for slot in slots) and space == "global" else ()

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        where = m.spread(address(m, ix), ix)
        data = m.memory.load(space, where, lanes, bytes_, access, carried)
        values = np.ascontiguousarray(data).view(dtype)
        for position, write in enumerate(writes):
            write(m, ix, np.ascontiguousarray(values[:, position]))

    return step


@instruction("st")
def store(form: Form, k: Builder) -> Step:
    """Stores of one to eight values."""
    form.count(2)
    space = _space(form, k, 0)
    kind, count, access = _access(form, k, space)
    address = k.address(form.operands[0])
    reads = [k.read(item, kind) for item in form.vector(1, count)]
    slots = [k.carried_slot(item) for item in form.vector(1, count)]
    carries = any(slot is not None for slot in slots) and space != "generic"
    size = width_of(kind)

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        values = np.stack([m.spread(read(m, ix), ix) for read in reads], 1).view(np.uint8)
        where = m.spread(address(m, ix), ix)
        written = None
        if carries:
            written = np.concatenate([m.memory.marks.get(s, lanes, size) for s in slots], 1)
        m.memory.store(space, where, lanes, values, access, written)

    return step


def _exchange(old: Any, new: Any) -> Any:
    return new


def _increased(old: Any, top: Any) -> Any:
    return np.where(old >= top, 0, old + np.uint32(1)).astype(np.uint32)


def _decreased(old: Any, top: Any) -> Any:
    return np.where((old == 0) | (old > top), top, old - np.uint32(1)).astype(np.uint32)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "exch": _exchange, "inc": _increased,
    "dec": _decreased,
}  # fmt: skip


@instruction("atom", "red")
def atomic(form: Form, k: Builder) -> Step:
    """Atomic operations, one lane after the other in the order of lanes."""
    returns = form.source.parts[0] == "atom"
    first = 1 if returns else 0
    space = _space(form, k, first)
    form.flag(*_STRONG, *_SCOPES, "noftz")
    name = form.needed(*_OPERATIONS, "cas")
    kind = form.kind()
    if form.one("v2", "v4"):
        raise form.unknown("an atomic operation on one value")
    if kind[0] == "b" and kind[1:].isdigit():
        kind = "u" + kind[1:]
    form.count(first + (3 if name == "cas" else 2))
    k.access(space, width_of(kind))
    address = k.address(form.operands[first])
    values = k.read(form.operands[first + 1], kind)
    swaps = k.read(form.operands[first + 2], kind) if name == "cas" else None
    write = k.write(form.operands[0], kind) if returns else None

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix)
        value = m.spread(values(m, ix), ix)
        swap = m.spread(swaps(m, ix), ix) if swaps else None
        where, old = m.spread(address(m, ix), ix), np.empty_like(value)
        parts = (
            by_space(where, lanes)
            if space == "generic"
            else [(space, np.arange(len(lanes)), where, lanes)]
        )
        for inner, which, inside, who in parts:
            given = None if swap is None else swap[which]
            old[which] = _perform(m, inner, inside, who, value[which], given, name, kind)
        if write is not None:
            write(m, ix, old)

    return step


def _perform(
    m: Any, space: str, where: Array, lanes: Array, value: Array, swap: Array | None, name: str,
    kind: str,
) -> Array:  # fmt: skip
    """Do the operations and give the values found."""
    count = value.dtype.itemsize
    m.memory.load(space, where, lanes, count, ATOMIC)  # checks that there is a value
    places = m.memory.place(space, where, lanes, count, "update")
    m.memory.note(space, places, where, lanes, count, ATOMIC, "write")
    cells, rows = m.memory.array_of(space)[0].view(value.dtype), places // count

    def after(old: Any, at: Any) -> Any:
        if swap is not None:
            return np.where(old == value[at], swap[at], old).astype(value.dtype)
        operation = _OPERATIONS[name]
        if kind in ("f16", "bf16", "f16x2", "bf16x2"):
            return encoded(kind, operation(decoded(kind, old), decoded(kind, value[at])))
        return operation(old, value[at])

    if len(np.unique(rows)) == len(rows):
        found = cells[rows]
        cells[rows] = after(found, slice(None))
        return found
    found = np.empty_like(value)
    for position, row in enumerate(rows):
        at = slice(position, position + 1)
        found[at] = cells[row : row + 1]
        cells[row : row + 1] = after(found[at], at)
    return found
