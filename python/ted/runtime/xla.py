"""Compiled functions for XLA: tables of the runtime about them, under numbers.

Before: the address of packed code, its arrays      After: the number by which XLA finds it
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.forking import Lock
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec
from ted.runtime.library import address_of, library

FORMAT = 3  # TED_EXPORTED_VERSION


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("constant", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("element_bytes", ctypes.c_int32),
        ("is_result", ctypes.c_int32),
    )


class _Access(ctypes.Structure):
    _fields_ = (("tensor", ctypes.c_char_p), ("place", ctypes.c_char_p))


class _Version(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("parameters", ctypes.POINTER(_Parameter)),
        ("accesses", ctypes.POINTER(_Access)),
    )


class _Function(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("format", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("subnormals", ctypes.c_int32),
        ("versions", ctypes.c_int64),
        ("of", ctypes.POINTER(_Version)),
        ("instructions", ctypes.c_char_p),
    )


@dataclass(frozen=True, eq=False)
class Entry:
    """Packed code in this process: `constants` are the arrays of the last inputs.

    `owner` keeps the code in memory, `accesses[k]` are the tensor and line of check number k.
    """

    name: str
    address: int
    owner: Any
    inputs: tuple[ArgSpec, ...]
    outputs: tuple[ArgSpec, ...]
    constants: tuple[np.ndarray[Any, Any], ...]
    accesses: tuple[tuple[str, str], ...]
    threads: int
    subnormals: int


_lock = Lock()
_kept: dict[int, Any] = {}  # XLA may call whatever it compiled as long as this process lives


def register(entry: Entry, number: int) -> None:
    """Let calls of XLA find a function under a number, which is that of equal functions.

    Raises: ExecutionError where there is no memory.
    """
    with _lock:
        if number not in _kept:
            _register(entry, number)


def _register(entry: Entry, number: int) -> None:
    arrays = [np.ascontiguousarray(a) for a in entry.constants]
    given = len(entry.inputs) - len(arrays)
    data = [None] * given + [a.ctypes.data for a in arrays]
    rows = [_row(spec, place, 0) for spec, place in zip(entry.inputs, data, strict=True)]
    rows += [_row(spec, None, 1) for spec in entry.outputs]
    accesses = [(tensor.encode(), place.encode()) for tensor, place in entry.accesses]
    parameters = (_Parameter * len(rows))(*rows)
    checks = (_Access * len(accesses))(*accesses)
    version = _Version(entry.address, len(rows), parameters, checks)
    function = _Function(
        entry.name.encode(), FORMAT, entry.threads, entry.subnormals, 1, ctypes.pointer(version),
        b"\0",
    )  # fmt: skip
    if library().ted_xla_register(ctypes.c_int64(number), ctypes.byref(function)):
        raise ExecutionError(f"{entry.name}: out of memory: cannot allocate a table for XLA")
    _kept[number] = entry, arrays, parameters, checks, version, function


def handler() -> int:
    """The address of the handler of all such calls."""
    return address_of("ted_xla_call")


def _row(spec: ArgSpec, constant: int | None, is_result: int) -> tuple[Any, ...]:
    size = spec.numpy_dtype.itemsize
    return spec.name.encode(), constant, spec.nbytes // size, size, is_result
