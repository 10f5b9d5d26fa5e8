"""How this thread computes with floats, by the C library: MXCSR, or FPCR with FPSR above it."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

IS_X86 = platform.machine() in ("x86_64", "AMD64")
IS_KNOWN = sys.platform == "linux"  # whose fenv_t is glibc's
FLUSHES = 0x8040 if IS_X86 else 1 << 24
UPWARD = 0x4000 if IS_X86 else 0x400000
MET = 0x3F if IS_X86 else 0x9F << 32  # all flags
OPERAND = 0x02 if IS_X86 else 0  # that was subnormal
RESULT = 0x10 if IS_X86 else 0x08 << 32  # below the normal range
TRAPS = 0x800  # of underflow: the bit on AArch64, on x86 the one that masks it
_BYTES, _PLACE = (32, 28) if IS_X86 else (8, 0)


def _stored() -> ctypes.Array[ctypes.c_char]:
    environment = ctypes.create_string_buffer(_BYTES)
    assert ctypes.CDLL(None).fegetenv(environment) == 0
    return environment


def float_mode() -> int:
    """The mode, with the flags of what was met."""
    return int.from_bytes(_stored().raw[_PLACE:], "little")


def set_float_mode(mode: int) -> None:
    """Change the mode."""
    environment = _stored()
    environment[_PLACE:_BYTES] = mode.to_bytes(_BYTES - _PLACE, "little")
    assert ctypes.CDLL(None).fesetenv(environment) == 0


@contextmanager
def mode_with(on: int = 0, off: int = 0) -> Iterator[int]:
    """Some bits set and some cleared, for a while; gives the mode."""
    before = float_mode()
    mode = (before | on) & ~off
    set_float_mode(mode)
    try:
        yield mode
    finally:
        set_float_mode(before)
