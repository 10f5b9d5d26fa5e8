"""Arithmetic on floating-point registers: f64 f32 f16 bf16 and packed pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.forms import Form, Step
from ptx_emulator.rounding import (
    decoded,
    encoded,
    flushed,
    fma_f32,
    fma_f64,
    narrowed,
    odd_f32,
    odd_sum,
)

FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})
_ROUNDINGS = ("rn", "rz", "rm", "rp")
Function = Callable[..., Any]


def is_float(form: Form) -> bool:
    """Whether the instruction's type is a floating-point one."""
    return any(part in FLOATS for part in form.rest)


def floating(form: Form, k: Builder, function: Function, mode: str = "rn") -> Step:
    """Apply a function of numbers to all operands after the first."""
    kind = form.kind(*FLOATS)
    ftz, saturate, relu = form.flag("ftz"), form.flag("sat"), form.flag("relu")
    write = k.write(form.operands[0], kind)
    reads = [k.read(operand, kind) for operand in form.operands[1:]]

    def step(m: Any, ix: Any) -> None:
        values = [decoded(kind, read(m, ix)) for read in reads]
        if ftz and kind == "f32":
            values = [flushed(v) for v in values]
        result = function(*values)
        if saturate:
            result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)).astype(result.dtype)
        if relu:
            result = np.where(result > 0, result, np.where(np.isnan(result), result, 0)).astype(
                result.dtype
            )
        result = encoded(kind, result, mode)
        write(m, ix, flushed(result) if ftz and kind == "f32" else result)

    return step


def mode_of(form: Form) -> str:
    """The rounding of an arithmetic instruction; `approx` and `full` round to nearest."""
    mode = form.one(*_ROUNDINGS)
    form.flag("approx", "full")
    return mode or "rn"


def _is_f64(value: Any) -> bool:
    return np.asarray(value).dtype == np.float64


def add(a: Any, b: Any, mode: str) -> Any:
    """The sum, rounded as said."""
    if mode == "rn":
        return a + b
    return narrowed(odd_sum(a, b), np.float32, mode) if not _is_f64(a) else a + b


def arithmetic(form: Form, k: Builder, name: str) -> Step:
    """`add sub mul div min max`."""
    mode = mode_of(form)
    wide = "f64" in form.rest
    if wide and mode != "rn":
        raise form.unknown("rounding to nearest for f64")
    if name in ("min", "max"):
        return floating(
            form, k, _extreme(name, form.flag("NaN"), form.flag("xorsign"), form.flag("abs"))
        )
    functions: dict[str, Function] = {
        "add": lambda a, b: add(a, b, mode),
        "sub": lambda a, b: add(a, -b, mode),
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
    }
    function = functions[name]
    if mode != "rn" and name == "mul":
        function = lambda a, b: narrowed(np.float64(a) * np.float64(b), np.float32, mode)  # noqa: E731
    if mode != "rn" and name == "div":
        function = lambda a, b: narrowed(np.float64(a) / np.float64(b), np.float32, mode)  # noqa: E731
    return floating(form, k, function)


def _extreme(name: str, propagate: bool, xorsign: bool, absolute: bool) -> Function:
    choose = np.fmax if name == "max" else np.fmin

    def function(a: Any, b: Any) -> Any:
        sign = np.signbit(a) ^ np.signbit(b)
        if absolute:
            a, b = np.abs(a), np.abs(b)
        result = choose(a, b)
        first = ~np.signbit(a) if name == "max" else np.signbit(a)
        result = np.where(a == b, np.where(first, a, b), result)
        if propagate:
            result = np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), result)
        if xorsign:
            result = np.copysign(result, np.where(sign, -1.0, 1.0).astype(result.dtype))
        return result.astype(np.asarray(a).dtype)

    return function


def fused(form: Form, k: Builder) -> Step:
    """`fma`, and `mad` of floats."""
    mode = mode_of(form)
    if "f64" in form.rest:
        if mode != "rn":
            raise form.unknown("rounding to nearest for f64")
        return floating(form, k, fma_f64)
    if "f32" in form.rest:
        return floating(form, k, lambda a, b, c: fma_f32(a, b, c, mode))
    return floating(form, k, lambda a, b, c: odd_f32(odd_sum(np.float64(a) * b, np.float64(c))))


def _through_f64(function: Function) -> Function:
    def apply(x: Any) -> Any:
        x = np.asarray(x)
        return function(x.astype(np.float64)).astype(x.dtype)

    return apply


_UNARY: dict[str, Function] = {
    "abs": np.abs,
    "neg": np.negative,
    "sqrt": np.sqrt,
    "rcp": lambda x: np.asarray(x).dtype.type(1) / x,
    "rsqrt": _through_f64(lambda x: 1 / np.sqrt(x)),
    "sin": _through_f64(np.sin),
    "cos": _through_f64(np.cos),
    "lg2": _through_f64(np.log2),
    "ex2": _through_f64(np.exp2),
    "tanh": _through_f64(np.tanh),
}


def unary(form: Form, k: Builder) -> Step:
    """Functions of one number; approximate ones give the nearest number, which is allowed."""
    name = form.source.parts[0]
    mode = mode_of(form)
    if mode != "rn":
        if name not in ("sqrt", "rcp") or "f32" not in form.rest:
            raise form.unknown("rounding to nearest")
        wide = np.sqrt if name == "sqrt" else np.reciprocal
        return floating(form, k, lambda x: narrowed(wide(np.float64(x)), np.float32, mode))
    form.count(2)
    return floating(form, k, _UNARY[name])


def copysign(form: Form, k: Builder) -> Step:
    """`copysign d, a, b`: the magnitude of b with the sign of a."""
    return floating(form, k, lambda a, b: np.copysign(b, a))


def testp(form: Form, k: Builder) -> Step:
    """`testp.kind p, a`."""
    kind = form.kind("f32", "f64")
    tests: dict[str, Function] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
    }
    test = tests[form.needed(*tests)]
    write, read = k.write(form.operands[0], "pred"), k.read(form.operands[1], kind)
    return lambda m, ix: write(m, ix, test(read(m, ix)))
