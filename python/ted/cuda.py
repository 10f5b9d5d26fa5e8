"""NVIDIA GPUs for users: arrays on the device, streams, graphs, saved programs.

Programs get there by `ted.compile(..., target="cuda")`. Everything here loads the driver on first
use; without one it raises ExecutionError "no CUDA driver: ...".
"""

from __future__ import annotations

from typing import Any

from ted.runtime.cuda.arguments import copy, device_array
from ted.runtime.cuda.arrays import DeviceArray, element_type_of
from ted.runtime.cuda.arrays import empty as _empty
from ted.runtime.cuda.contexts import context_of
from ted.runtime.cuda.driver import is_available
from ted.runtime.cuda.graphs import Graph, capture
from ted.runtime.cuda.loading import Bundle, load
from ted.runtime.cuda.streams import Event, Stream, chosen_stream

__all__ = [
    "Bundle",
    "DeviceArray",
    "Event",
    "Graph",
    "Stream",
    "asarray",
    "capture",
    "chip",
    "copy",
    "empty",
    "is_available",
    "load",
    "memory",
    "release_memory",
    "synchronize",
]


def asarray(value: Any, device: int = 0, stream: Any = None) -> DeviceArray:
    """An array as a DeviceArray: one of a device without a copy, one of the host by copying.

    Raises: ExecutionError for an element type that ted does not have, or an array with gaps.
    """
    return device_array(value, context=context_of(device), stream=stream)


def empty(
    shape: int | tuple[int, ...], dtype: Any = "float32", device: int = 0, stream: Any = None
) -> DeviceArray:
    """An array whose elements are not set."""
    context = context_of(device)
    with context:
        to = chosen_stream(context, stream)
        return _empty(shape, element_type_of(dtype), context=context, stream=to)


def synchronize(device: int = 0) -> None:
    """Wait for all work of a device.

    Raises: ExecutionError for an index out of range that a program met.
    """
    context_of(device).synchronize()


def chip(device: int = 0) -> str:
    """What a device is as a target: sm_80, sm_90a, ..."""
    return context_of(device).chip


def memory(device: int = 0) -> dict[str, int]:
    """Bytes of ted's arrays and programs: `used` now, `peak` so far, `held` from the driver."""
    usage = context_of(device).memory.usage
    return {"used": usage.used, "peak": usage.peak, "held": usage.held}


def release_memory(device: int = 0) -> None:
    """Return memory that is held but not used to the driver, so that other libraries get it."""
    with context_of(device) as context:
        context.memory.trim()
