"""Streams and events: ted's own, and the handles of other libraries' streams."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from ted.errors import ExecutionError
from ted.runtime.cuda.contexts import Context, context_of
from ted.runtime.cuda.pool import wait_for

LEGACY_DEFAULT = 1  # the number that protocols use for the default stream, whose handle is 0


class Stream:
    """A stream of ted's own; in a `with` block it is the one that calls use.

    The driver's stream outlives this object, since arrays refer to it: the next Stream takes it on.
    """

    def __init__(self, context: Context | None = None) -> None:
        self.context = context or context_of()
        self.handle = self.context.new_stream()
        self._before: list[int] = []

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol's version and the handle."""
        return (0, self.handle)

    def synchronize(self) -> None:
        """Wait for the work of this stream.

        Raises: ExecutionError for an index out of range that a program met.
        """
        with self.context:
            self.context.driver.cuStreamSynchronize(self.handle)
            for flag in list(self.context.flags):
                flag.check()

    def wait(self, other: Any) -> None:
        """Work that this stream gets from now on waits for what `other` has by now."""
        with self.context:
            wait_for(self.context.driver, self.handle, [stream_handle(other)])

    def __enter__(self) -> Stream:
        self._before.append(self.context.here.stream)
        self.context.here.stream = self.handle
        return self

    def __exit__(self, *_: object) -> None:
        self.context.here.stream = self._before.pop()

    def __del__(self) -> None:
        if getattr(self, "handle", 0):
            self.context.idle_streams.append(self.handle)


class Event:
    """A point in the work of a stream, with its time."""

    def __init__(self, context: Context | None = None) -> None:
        self.context = context or context_of()
        with self.context:
            self.handle = self.context.driver.handle("cuEventCreate", 0)

    def record(self, stream: Any = None) -> Event:
        """Put the event behind what the stream has got so far."""
        with self.context:
            self.context.driver.cuEventRecord(self.handle, chosen_stream(self.context, stream))
        return self

    def milliseconds_until(self, end: Event) -> float:
        """Time on the device from this event to a later one; waits for it."""
        found = ctypes.c_float()
        with self.context:
            self.context.driver.cuEventSynchronize(end.handle)
            self.context.driver.cuEventElapsedTime(ctypes.byref(found), self.handle, end.handle)
        return found.value

    def __del__(self) -> None:
        if getattr(self, "handle", 0) and not sys.is_finalizing():
            with self.context:
                self.context.driver.cuEventDestroy_v2(self.handle)


def chosen_stream(context: Context, stream: Any) -> int:
    """The handle of the stream that a caller names, or for None of the current one."""
    return context.here.stream if stream is None else stream_handle(stream)


def stream_handle(stream: Any) -> int:
    """The handle of a stream of ted, torch, cupy, of any object with `__cuda_stream__`, or an int.

    Raises: ExecutionError for anything else.
    """
    if isinstance(stream, int) and not isinstance(stream, bool):
        return 0 if stream == LEGACY_DEFAULT else stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return stream_handle(protocol()[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, cupy, others
        if isinstance(getattr(stream, name, None), int):
            return stream_handle(getattr(stream, name))
    raise ExecutionError(
        f"cuda: a stream is a handle or a stream of torch, cupy or ted, got {stream!r}"
    )
