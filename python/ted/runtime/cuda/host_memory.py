"""Reading and writing memory of the host at an address: what a driver does, for emulated ones."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


def read(address: Any, size: int) -> bytes:
    """The bytes at an address, given as a number or as an object of ctypes."""
    return ctypes.string_at(_number(address), size)


def write(address: Any, data: bytes) -> None:
    """Put bytes at an address."""
    ctypes.memmove(_number(address), data, len(data))


def read_arguments(params: Any, sizes: Sequence[int]) -> list[bytes]:
    """The values that the array of addresses of `cuLaunchKernel` points to."""
    return [read(params[k], size) for k, size in enumerate(sizes)]


def write_result(place: Any, value: int | float | bytes) -> None:
    """Write through what `ctypes.byref` made, as a driver writes through a pointer."""
    place._obj.value = value


def read_result(place: Any) -> int:
    """The number in what `ctypes.byref` made, which a driver also reads."""
    return place._obj.value


def pinned(size: int) -> Any:
    """Memory of the host as long as the object lives; `address_of` says where."""
    return ctypes.create_string_buffer(size)


def address_of(memory: Any) -> int:
    """The address of an object of ctypes."""
    return ctypes.addressof(memory)


def _number(address: Any) -> int:
    return address if isinstance(address, int) else ctypes.cast(address, ctypes.c_void_p).value or 0
