"""A device and its primary context, the one that torch, cupy and jax use as well."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ted.errors import ExecutionError
from ted.runtime.cuda.driver import Driver, DriverError, open_driver
from ted.runtime.cuda.pool import MemoryPool
from ted.runtime.cuda.prototypes import (
    CAPABILITY_MAJOR,
    CAPABILITY_MINOR,
    EVENT_DISABLE_TIMING,
    SHARED_PER_BLOCK_OPTIN,
    STREAM_NON_BLOCKING,
    SUCCESS,
)


class _Here(threading.local):
    """What a thread is doing with a context."""

    def __init__(self) -> None:
        self.stream = 0  # what calls use when nobody names one; 0 is the default stream
        self.capture: Any = None  # the graph that calls are recorded into
        self.pushed: list[bool] = []
        self.done: Callable[[str], None] | None = None  # is told of kernels, see `Plan.run`
        self.foreign: list[Any] = []  # arrays of other libraries that the call at hand reads
        self.current = ctypes.c_void_p()
        self.place = ctypes.byref(self.current)


class Context:
    """The primary context of a device; use it in a `with` block to make it the current one."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.device = driver.number("cuDeviceGet", ordinal)
        self.handle = driver.handle("cuDevicePrimaryCtxRetain", self.device)
        self.name = self._name()
        self.capability = (self.attribute(CAPABILITY_MAJOR), self.attribute(CAPABILITY_MINOR))
        self.shared_bytes = self.attribute(SHARED_PER_BLOCK_OPTIN)
        self.memory = MemoryPool(driver)
        self.flags: weakref.WeakSet[Any] = weakref.WeakSet()  # error flags of loaded programs
        self.idle_streams: list[int] = []
        self.captures = 0  # graphs that are being recorded, by any thread
        self.postponed: list[Callable[[], None]] = []  # what waits for their end
        self._retiring: deque[tuple[int, list[Any]]] = deque()
        self.here = _Here()

    @property
    def chip(self) -> str:
        """The target to compile for: with the extensions of the architecture where they matter."""
        major, minor = self.capability
        return f"sm_{major}{minor}{'a' if major == 9 else ''}"

    def attribute(self, number: int) -> int:
        """A CUdevice_attribute of the device."""
        return self.driver.number("cuDeviceGetAttribute", number, self.device)

    def memory_for(self, stream: int) -> MemoryPool:
        """The pool for work on a stream: a captured stream has its own."""
        capture = self.here.capture
        return capture.memory if capture is not None and capture.stream == stream else self.memory

    def new_stream(self) -> int:
        """The handle of a stream that nobody uses; it is put back to `idle_streams`."""
        if self.idle_streams:
            return self.idle_streams.pop()
        with self:
            return self.driver.handle("cuStreamCreate", STREAM_NON_BLOCKING)

    def enter(self) -> bool:
        """Make the context current; whether another one was, so that `leave` is to be called."""
        here = self.here
        self.driver.cuCtxGetCurrent(here.place)
        current = here.current.value
        if current == self.handle:
            return False
        self.driver.cuCtxPushCurrent_v2(self.handle)
        return current is not None  # where there was none, it may stay

    def leave(self) -> None:
        """Undo `enter`."""
        self.driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def __enter__(self) -> Context:
        self.here.pushed.append(self.enter())
        return self

    def __exit__(self, *_: object) -> None:
        if self.here.pushed.pop():
            self.leave()

    def retire(self, stream: int) -> None:
        """Keep the foreign arrays until the stream has done what it has to do now."""
        driver = self.driver
        event = driver.handle("cuEventCreate", EVENT_DISABLE_TIMING)
        driver.cuEventRecord(event, stream)
        self._retiring.append((event, self.here.foreign))
        self.here.foreign = []
        while driver.library.cuEventQuery(self._retiring[0][0]) == SUCCESS:
            driver.cuEventDestroy_v2(self._retiring.popleft()[0])
            if not self._retiring:
                break

    def capture_of(self, stream: int) -> int:
        """The number of the capture that records a stream; 0 where none does."""
        active, number = ctypes.c_int(), ctypes.c_uint64()
        self.driver.cuStreamGetCaptureInfo_v2(
            stream, ctypes.byref(active), ctypes.byref(number), None, None, None
        )
        return number.value if active.value else 0

    def begin_capture(self, graph: Any) -> None:
        """Calls of this thread go into a graph from here on."""
        self.here.capture = graph
        self.captures += 1

    def end_capture(self) -> None:
        """Undo `begin_capture`, and do what has waited for it."""
        self.here.capture = None
        self.captures -= 1
        while self.postponed and not self.captures:
            with contextlib.suppress(DriverError), self:
                self.postponed.pop()()

    def synchronize(self) -> None:
        """Wait for all work of the device.

        Raises: ExecutionError for an index out of range that a program met.
        """
        with self:
            self.driver.cuCtxSynchronize()
            while self._retiring:
                self.driver.cuEventDestroy_v2(self._retiring.popleft()[0])
            for flag in list(self.flags):
                flag.check()

    def _name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.driver.cuDeviceGetName(text, len(text), self.device)
        return text.value.decode()


def when_gone(owner: Any, context: Context, release: Callable[..., None], *values: Any) -> None:
    """Call `release` in the context when the owner is no more; not when the process ends."""
    weakref.finalize(owner, _release, context, release, *values).atexit = False


def _release(context: Context, release: Callable[..., None], *values: Any) -> None:
    if context.captures:  # to wait for the device would end them
        context.postponed.append(partial(release, *values))
        return
    with contextlib.suppress(DriverError), context:  # a device that failed has nothing left to keep
        release(*values)


def context_of(ordinal: int = 0) -> Context:
    """The context of a device of this process.

    Raises: ExecutionError without a driver, or when there are not so many devices.
    """
    driver = open_driver()
    if ordinal not in driver.contexts:
        count = driver.number("cuDeviceGetCount")
        if ordinal not in range(count):
            raise ExecutionError(f"cuda: there are {count} devices, got number {ordinal}")
        driver.contexts[ordinal] = Context(driver, ordinal)
    return driver.contexts[ordinal]
