"""What a process may use of its CPU when the kernel has allowed it."""

from __future__ import annotations

import ctypes

# Of Linux on x86-64.
_ARCH_PRCTL, _REQUEST_PERMISSION, _MATRIX_DATA = 158, 0x1023, 18


def may_use_matrices() -> bool:
    """Ask for the registers of AMX, which the kernel saves only for processes that ask.

    Threads and forked processes have them, too. Source: Linux, Documentation/arch/x86/xstate.rst.
    """
    call = getattr(ctypes.CDLL(None), "syscall", None)
    return call is not None and call(_ARCH_PRCTL, _REQUEST_PERMISSION, _MATRIX_DATA) == 0
