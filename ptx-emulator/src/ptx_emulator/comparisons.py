"""`setp`, `set`, `selp`, `slct`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.forms import NUMPY, Array, Form, Read, Step, instruction
from ptx_emulator.rounding import decoded, flushed
from ptx_emulator.syntax import Name, Pair

_PLAIN: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
_COMPARISONS = (*_PLAIN, *_UNSIGNED, *_UNORDERED, "num", "nan")
_LOGIC: dict[str, Callable[..., Any]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}  # fmt: skip
_FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})


def _comparison(name: str, kind: str) -> Callable[[Any, Any], Array]:
    if kind not in _FLOATS:
        return _PLAIN[_UNSIGNED.get(name, name)]

    def compare(a: Any, b: Any) -> Array:
        unordered = np.isnan(a) | np.isnan(b)
        if name in ("num", "nan"):
            return ~unordered if name == "num" else unordered
        if name in _UNORDERED:
            return _PLAIN[_UNORDERED[name]](a, b) | unordered
        return _PLAIN[name](a, b) & ~unordered

    return compare


def _compared(form: Form, k: Builder) -> tuple[Read, str]:
    """What an instruction compares, and the type."""
    kind = form.kind()
    ftz = form.flag("ftz") and kind == "f32"
    name = form.needed(*_COMPARISONS)
    if kind in _FLOATS and name in _UNSIGNED:
        raise form.unknown("a comparison of floats")
    if kind not in _FLOATS and (name in _UNORDERED or name in ("num", "nan")):
        raise form.unknown("a comparison of integers")
    compare = _comparison(name, kind)
    a, b = k.read(form.operands[1], kind), k.read(form.operands[2], kind)

    def read(m: Any, ix: Any) -> Array:
        x, y = decoded(kind, a(m, ix)), decoded(kind, b(m, ix))
        return compare(flushed(x), flushed(y)) if ftz else compare(x, y)

    return read, kind


def _combined(form: Form, k: Builder) -> Callable[[Any, Any, Array], Array]:
    logic = form.one(*_LOGIC)
    if logic is None:
        form.count(3)
        return lambda m, ix, result: result
    form.count(4)
    function, third = _LOGIC[logic], k.read(form.operands[3], "pred")
    return lambda m, ix, result: function(result, third(m, ix))


@instruction("setp")
def set_predicate(form: Form, k: Builder) -> Step:
    """`setp.cmp.bool.type p|q, a, b, c`; of packed pairs p tells about the low half."""
    combine = _combined(form, k)
    read, kind = _compared(form, k)
    target = form.operands[0]
    first = target.first if isinstance(target, Pair) else target
    second = target.second if isinstance(target, Pair) else Name("_")
    write, other = k.write(first, "pred"), k.write(second, "pred")
    if kind.endswith("x2"):

        def step(m: Any, ix: Any) -> None:
            both = read(m, ix)
            write(m, ix, combine(m, ix, both[:, 0]))
            other(m, ix, combine(m, ix, both[:, 1]))

    elif isinstance(target, Pair):

        def step(m: Any, ix: Any) -> None:
            result = read(m, ix)
            opposite = combine(m, ix, ~result)
            write(m, ix, combine(m, ix, result))
            other(m, ix, opposite)

    else:

        def step(m: Any, ix: Any) -> None:
            write(m, ix, combine(m, ix, read(m, ix)))

    return step


@instruction("set")
def set_number(form: Form, k: Builder) -> Step:
    """`set.cmp.bool.dtype.type d, a, b, c`: all ones, or 1.0, where true."""
    combine = _combined(form, k)
    read, kind = _compared(form, k)
    target = form.kind()
    if kind.endswith("x2") or target not in ("u32", "s32", "f32"):
        raise form.unknown("a comparison into one word")
    true = NUMPY[target](1.0) if target == "f32" else np.array(-1).astype(NUMPY[target])
    write = k.write(form.operands[0], target)

    def step(m: Any, ix: Any) -> None:
        write(m, ix, np.where(combine(m, ix, read(m, ix)), true, NUMPY[target](0)))

    return step


@instruction("selp")
def select(form: Form, k: Builder) -> Step:
    """`selp d, a, b, p`."""
    form.count(4)
    kind = form.kind()
    write, p = k.write(form.operands[0], kind), k.read(form.operands[3], "pred")
    a, b = k.read(form.operands[1], kind), k.read(form.operands[2], kind)
    return lambda m, ix: write(m, ix, np.where(p(m, ix), a(m, ix), b(m, ix)))


@instruction("slct")
def select_by_sign(form: Form, k: Builder) -> Step:
    """`slct d, a, b, c`: a where c is not negative."""
    form.count(4)
    of, kind, ftz = form.kind("s32", "f32"), form.kind(), form.flag("ftz")
    write, c = k.write(form.operands[0], kind), k.read(form.operands[3], of)
    a, b = k.read(form.operands[1], kind), k.read(form.operands[2], kind)

    def step(m: Any, ix: Any) -> None:
        sign = flushed(c(m, ix)) if ftz else c(m, ix)
        write(m, ix, np.where(sign >= 0, a(m, ix), b(m, ix)))

    return step
