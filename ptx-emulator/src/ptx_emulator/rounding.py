"""Floating-point formats as numpy has them and as it has not: bf16, tf32, directed rounding, fma.

A sum is first rounded to odd in the wider format: rounding that once more, in any way, gives what
rounding the exact sum would have given (Boldo and Melquiond, "Emulation of FMA and correctly
rounded sums").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator.forms import Array

_TINY32 = np.float32(2.0**-126)
_TINY64 = np.float64(2.0**-1022)
_SPLIT = np.float64(2.0**27 + 1)


def bf16_to_f32(bits: Any) -> Array:
    """Numbers of bf16 bits."""
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(value: Any, mode: str = "rn") -> Array:
    """Bits of bf16 numbers, rounded to nearest even or towards zero."""
    value = np.asarray(value, np.float32)
    bits = value.view(np.uint32)
    if mode == "rn":
        bits = bits + (((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF))
    rounded = (bits >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(value), np.uint16(0x7FFF), rounded)


def f32_to_tf32(value: Any, mode: str) -> Array:
    """Bits of f32 numbers with 10 bits of fraction: `rna` nearest, ties away, `rn` even, `rz`."""
    value = np.asarray(value, np.float32)
    bits = value.view(np.uint32)
    odd = (bits >> np.uint32(13)) & np.uint32(1)
    more = {"rna": np.uint32(0x1000), "rn": odd + np.uint32(0xFFF), "rz": np.uint32(0)}[mode]
    rounded = (bits + more) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(value), rounded, bits)


def decoded(kind: str, raw: Any) -> Any:
    """Numbers of a format as f64 or f32; packed pairs get a last axis of two."""
    if kind == "bf16":
        return bf16_to_f32(raw)
    if kind == "f16":
        return np.asarray(raw).astype(np.float32)
    if kind in ("f16x2", "bf16x2"):
        halves = np.ascontiguousarray(np.atleast_1d(raw))[:, None].view(np.uint16)
        return decoded(kind[:-2], halves.view(np.float16) if kind == "f16x2" else halves)
    return raw


def encoded(kind: str, value: Any, mode: str = "rn") -> Any:
    """Numbers of f32 or f64 in a format: the inverse of `decoded`, rounded."""
    if kind in ("f16x2", "bf16x2"):
        halves = np.ascontiguousarray(encoded(kind[:-2], value, mode))
        return halves.view(np.uint32)[:, 0]
    if kind == "bf16":
        value = np.asarray(value)
        return f32_to_bf16(odd_f32(value) if value.dtype == np.float64 else value, mode)
    if kind == "f16":
        return _f16(np.asarray(value), mode)
    if kind == "f32" and np.asarray(value).dtype == np.float64:
        return narrowed(value, np.float32, mode)
    return np.asarray(value, np.float64) if kind == "f64" else value


def _f16(value: Array, mode: str) -> Array:
    return narrowed(value, np.float16, mode)


def narrowed(value: Any, dtype: Any, mode: str) -> Array:
    """Wide numbers rounded to a narrow type: `rn` even, `rz` zero, `rm` down, `rp` up."""
    value = np.asarray(value)
    near = value.astype(dtype)
    if mode == "rn":
        return near
    back = near.astype(value.dtype)
    low, high = np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))
    down = np.where(back > value, low, near)
    up = np.where(back < value, high, near)
    if mode == "rm":
        return down.astype(dtype)
    if mode == "rp":
        return up.astype(dtype)
    return np.where(value > 0, down, up).astype(dtype)


def odd_f32(value: Any) -> Array:
    """f64 numbers as f32, rounded to odd."""
    value = np.asarray(value, np.float64)
    cut = narrowed(value, np.float32, "rz")
    inexact = (cut.astype(np.float64) != value) & np.isfinite(cut)
    return np.where(inexact, (cut.view(np.uint32) | np.uint32(1)).view(np.float32), cut)


def odd_sum(a: Any, b: Any) -> Array:
    """The sum of f64 numbers, rounded to odd."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    total = a + b
    of_b = total - a
    error = (a - (total - of_b)) + (b - of_b)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    fix = even & (error != 0) & np.isfinite(error) & np.isfinite(total)
    if not fix.any():
        return total
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.where(fix, np.nextafter(total, towards), total)


def fma_f32(a: Any, b: Any, c: Any, mode: str = "rn") -> Array:
    """a * b + c of f32 numbers with one rounding."""
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    c = np.asarray(c, np.float64)
    if mode != "rn":
        return _signed_zero_sum(odd_sum(product, c), product, c, mode)
    total = product + c
    near = total.astype(np.float32)
    tie = (total.view(np.uint64) & np.uint64(0x1FFF_FFFF)) == np.uint64(0x1000_0000)
    small = np.abs(near) <= _TINY32
    if (tie | (small & (near != 0))).any():
        return odd_sum(product, c).astype(np.float32)
    return near


def _signed_zero_sum(total: Array, a: Array, b: Array, mode: str) -> Array:
    result = narrowed(total, np.float32, mode)
    if mode == "rm":  # x - x is -0 when rounding down
        result = np.where((total == 0) & (np.signbit(a) != np.signbit(b)), np.float32(-0.0), result)
    return result


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    high_a, high_b = a * _SPLIT, b * _SPLIT
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, error


def fma_f64(a: Any, b: Any, c: Any) -> Array:
    """a * b + c of f64 numbers with one rounding, but for products near overflow or underflow."""
    a, b, c = (np.asarray(x, np.float64) for x in (a, b, c))
    product, low = _two_product(a, b)
    plain = product + c
    usable = np.isfinite(low) & np.isfinite(plain) & (np.abs(product) > 1e-280)
    low = np.where(usable, low, 0.0)
    inner = c + low
    inner_error = (c - (inner - (inner - c))) + (low - (inner - c))
    total = product + inner
    part = total - product
    outer_error = (product - (total - part)) + (inner - part)
    return np.where(usable, total + odd_sum(inner_error, outer_error), plain)


def flushed(value: Any) -> Any:
    """Subnormal f32 numbers become zeros of their sign."""
    return np.where(np.abs(value) < _TINY32, np.copysign(np.float32(0), value), value)
