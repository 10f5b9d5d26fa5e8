"""`cvt`: between all integer and floating-point types, with rounding and saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.float_arithmetic import FLOATS
from ptx_emulator.forms import NUMPY, Array, Form, Step, instruction
from ptx_emulator.rounding import decoded, encoded, f32_to_tf32, flushed, narrowed

_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_ROUNDINGS = ("rn", "rz", "rm", "rp")


@instruction("cvt")
def convert(form: Form, k: Builder) -> Step:
    """`cvt` in all its forms."""
    source = form.kind()
    if form.rest and form.rest[-1] == "tf32":
        return _to_tf32(form, k, source)
    target = form.kind()
    if target in ("f16x2", "bf16x2") and source == "f32":
        return _to_pair(form, k, target)
    form.count(2)
    if target in FLOATS:
        return _to_float(form, k, source, target)
    return _to_integer(form, k, source, target)


def _to_tf32(form: Form, k: Builder, source: str) -> Step:
    if source != "f32":
        raise form.unknown("a source of f32")
    form.kind("tf32")
    mode, relu = form.needed("rna", "rn", "rz"), form.flag("relu")
    write, read = k.write(form.operands[0], "b32"), k.read(form.operands[1], "f32")

    def step(m: Any, ix: Any) -> None:
        value = read(m, ix)
        write(m, ix, f32_to_tf32(_relu(value) if relu else value, mode))

    return step


def _relu(value: Any) -> Array:
    return np.where(np.isnan(value), value, np.maximum(value, 0)).astype(value.dtype)


def _to_pair(form: Form, k: Builder, target: str) -> Step:
    form.count(3)
    mode, relu = form.needed("rn", "rz"), form.flag("relu")
    limit = np.float32(65504) if target == "f16x2" else np.float32(3.3895314e38)
    finite = form.flag("satfinite")
    write = k.write(form.operands[0], "b32")
    high, low = k.read(form.operands[1], "f32"), k.read(form.operands[2], "f32")

    def step(m: Any, ix: Any) -> None:
        pair = np.stack(np.broadcast_arrays(*np.atleast_1d(low(m, ix), high(m, ix))), -1)
        if relu:
            pair = _relu(pair)
        if finite:
            pair = np.clip(pair, -limit, limit)
        write(m, ix, encoded(target, pair, mode))

    return step


def _to_float(form: Form, k: Builder, source: str, target: str) -> Step:
    integral = form.one(*_TO_INTEGER)
    mode = form.one(*_ROUNDINGS) or "rn"
    saturate, ftz, relu = form.flag("sat"), form.flag("ftz"), form.flag("relu")
    write, read = k.write(form.operands[0], target), k.read(form.operands[1], source)

    def step(m: Any, ix: Any) -> None:
        value = decoded(source, read(m, ix))
        if source not in FLOATS:
            value = _from_integer(np.asarray(value), target, mode)
        elif target == "f64":
            value = np.asarray(value).astype(np.float64)
        if ftz and source == "f32":
            value = flushed(value)
        if integral:
            value = _TO_INTEGER[integral](value)
        if saturate:
            value = np.where(np.isnan(value), 0, np.clip(value, 0, 1)).astype(value.dtype)
        if relu:
            value = _relu(value)
        result = encoded(target, value, mode)
        write(m, ix, flushed(result) if ftz and target == "f32" else result)

    return step


def _from_integer(value: Array, target: str, mode: str) -> Array:
    """Exact in f64 below 2**53; longer integers are rounded to odd there, but for f64 itself."""
    wide = value.astype(np.float64)
    if value.dtype.itemsize < 8:
        return wide
    if target == "f64":
        return wide if mode == "rn" else narrowed(value.astype(np.longdouble), np.float64, mode)
    high = (value >> value.dtype.type(11)) << value.dtype.type(11)
    odd = np.where(value == high, high, high | value.dtype.type(1 << 11))
    small = np.abs(wide) < 2.0**52
    return np.where(small, wide, odd.astype(np.float64))


def _to_integer(form: Form, k: Builder, source: str, target: str) -> Step:
    saturate, ftz = form.flag("sat"), form.flag("ftz")
    integral = form.one(*_TO_INTEGER)
    write, read = k.write(form.operands[0], target), k.read(form.operands[1], source)
    dtype = NUMPY[target]
    info = np.iinfo(dtype)
    if source not in FLOATS:

        def step(m: Any, ix: Any) -> None:
            value = np.asarray(read(m, ix))
            if saturate:
                low, high = (
                    max(info.min, np.iinfo(value.dtype).min),
                    min(info.max, np.iinfo(value.dtype).max),
                )
                value = np.clip(value, value.dtype.type(low), value.dtype.type(high))
            write(m, ix, value.astype(dtype))

        return step
    if integral is None:
        raise form.unknown("a rounding to integers")
    rounding = _TO_INTEGER[integral]

    def step(m: Any, ix: Any) -> None:
        value = np.asarray(decoded(source, read(m, ix)))
        value = flushed(value) if ftz and source == "f32" else value
        write(m, ix, float_to_integer(rounding(value.astype(np.float64)), dtype))

    return step


def float_to_integer(value: Array, dtype: Any) -> Array:
    """Integral f64 numbers as integers, clamped to their range; NaN is zero."""
    info = np.iinfo(dtype)
    low, high = float(info.min), float(info.max)
    inside = (value >= low) & (value < high)
    safe = np.where(inside, value, 0.0).astype(dtype)
    return np.where(
        inside,
        safe,
        np.where(value >= high, dtype(info.max), np.where(value < low, dtype(info.min), dtype(0))),
    )
