"""Streams, events and graphs of an emulated CUDA driver, and the order in which work is done.

Work of a stream is done as late as the rules allow, when somebody waits for it, so that a wait that
is missing shows as wrong numbers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Any

from ted.records import dataclass
from ted.runtime.cuda import host_memory
from ted.runtime.cuda.prototypes import CAPTURE_GLOBAL, CAPTURE_RELAXED, SUCCESS

INVALID_VALUE, NOT_FOUND, NOT_READY, LAUNCH_FAILED = 1, 500, 600, 719
CAPTURE_UNSUPPORTED, CAPTURE_ISOLATION = 900, 905
_NAMES = {
    1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY",
    201: "CUDA_ERROR_INVALID_CONTEXT", 218: "CUDA_ERROR_INVALID_PTX",
    222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 500: "CUDA_ERROR_NOT_FOUND",
    600: "CUDA_ERROR_NOT_READY", 719: "CUDA_ERROR_LAUNCH_FAILED",
    900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 905: "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
}  # fmt: skip


@dataclass
class _Stream:
    work: deque[Callable[[], None]] = field(default_factory=deque)
    recording: list[Callable[[], None]] | None = None  # what a capture has so far
    mode: int = CAPTURE_RELAXED  # what others may do while it records
    capture: int = 0  # its number


@dataclass
class _Event:
    stream: int = 0
    done: bool = True
    recorded_in: Any = None  # the capture that it belongs to


class _Thread(threading.local):
    def __init__(self) -> None:
        self.contexts: list[int] = []
        self.mode = CAPTURE_GLOBAL


class EmulatedStreams:
    """The part of the driver that says what happens when; `log` has all work that was given."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.fault: Exception | None = None
        self._streams: dict[int, _Stream] = {0: _Stream()}
        self._objects: dict[int, Any] = {}
        self._next = 0x1000
        self._captures = 0
        self._thread = _Thread()

    # ---- objects, errors -------------------------------------------------------------------------

    def _new(self, thing: Any) -> int:
        self._next += 16
        self._objects[self._next] = thing
        return self._next

    def _give(self, out: Any, value: int | float | bytes) -> int:
        host_memory.write_result(out, value)
        return SUCCESS

    def cuGetErrorName(self, code: int, out: Any) -> int:
        """Documented by the driver, as are all functions below."""
        return self._give(out, _NAMES.get(code, f"CUDA_ERROR_{code}").encode())

    def cuGetErrorString(self, code: int, out: Any) -> int:
        """The fault of a kernel, or words for a code."""
        return self._give(out, str(self.fault or _NAMES.get(code, "unknown")).encode())

    def cuCtxSynchronize(self) -> int:
        """Do everything that is waiting; not while something is captured."""
        if any(stream.recording is not None for stream in self._streams.values()):
            return CAPTURE_UNSUPPORTED
        for stream in list(self._streams):
            self._drain(stream)
        return self._status()

    # ---- streams and events ----------------------------------------------------------------------

    def cuStreamCreate(self, out: Any, flags: int) -> int:
        """A stream."""
        self._next += 16
        self._streams[self._next] = _Stream()
        return self._give(out, self._next)

    def cuStreamSynchronize(self, stream: int) -> int:
        """Do the work of a stream."""
        if self._streams[stream].recording is not None:
            return CAPTURE_UNSUPPORTED
        self._drain(stream)
        return self._status()

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> int:
        """Later work of the stream comes behind the event."""
        waited: _Event = self._objects[event]
        self._join(self._streams[stream], waited)
        if self._streams[stream].recording is not waited.recorded_in:
            return CAPTURE_ISOLATION
        return self._do(stream, lambda: self._reach(waited), ("wait", stream, waited.stream))

    def _join(self, found: _Stream, waited: _Event) -> None:
        """A stream that waits for an event of a capture is recorded into it."""
        for origin in self._streams.values():
            is_source = origin.recording is not None and origin.recording is waited.recorded_in
            if is_source and found.recording is None:
                found.recording, found.mode = origin.recording, origin.mode
                found.capture = origin.capture

    def cuEventCreate(self, out: Any, flags: int) -> int:
        """An event that has happened."""
        return self._give(out, self._new(_Event()))

    def cuEventRecord(self, event: int, stream: int) -> int:
        """The event happens when the stream gets here."""
        made = self._objects[event] = _Event(stream, False, self._streams[stream].recording)

        def happen() -> None:
            made.done = True

        return self._do(stream, happen, ("record", stream))

    def cuEventQuery(self, event: int) -> int:
        """Whether it has happened."""
        if self._may_not():
            return CAPTURE_UNSUPPORTED
        return SUCCESS if self._objects[event].done else NOT_READY

    def cuEventSynchronize(self, event: int) -> int:
        """Wait for it."""
        self._reach(self._objects[event])
        return self._status()

    def cuEventElapsedTime(self, out: Any, start: int, end: int) -> int:
        """A millisecond: nothing here says how fast a device is."""
        done = self._objects[start].done and self._objects[end].done
        return self._give(out, 1.0) if done else NOT_READY

    def cuEventDestroy_v2(self, event: int) -> int:
        """Forget it; what waits for it still does."""
        return SUCCESS if self._objects.pop(event, None) else INVALID_VALUE

    # ---- graphs ----------------------------------------------------------------------------------

    def cuStreamBeginCapture_v2(self, stream: int, mode: int) -> int:
        """From here on work of the stream is recorded."""
        if stream == 0 or self._streams[stream].recording is not None:
            return CAPTURE_UNSUPPORTED
        self._captures += 1
        found = self._streams[stream]
        found.recording, found.mode, found.capture = [], mode, self._captures
        return SUCCESS

    def cuStreamGetCaptureInfo_v2(
        self, stream: int, active: Any, number: Any, graph: Any, nodes: Any, count: Any
    ) -> int:
        """Whether a stream is recorded, and the number of the capture."""
        found = self._streams.get(stream)
        if found is None:
            return INVALID_VALUE
        recorded = found.recording is not None
        self._give(number, found.capture if recorded else 0)
        return self._give(active, int(recorded))

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> int:
        """What this thread may do during captures."""
        before, self._thread.mode = self._thread.mode, host_memory.read_result(mode)
        return self._give(mode, before)

    def _may_not(self) -> bool:
        """Whether a capture forbids this thread what may make streams wait for each other."""
        recorded = [s for s in self._streams.values() if s.recording is not None]
        modes = {self._thread.mode, *(s.mode for s in recorded)}
        return bool(recorded) and CAPTURE_RELAXED not in modes

    def cuStreamEndCapture(self, stream: int, out: Any) -> int:
        """What was recorded."""
        recorded = self._streams[stream].recording
        for found in self._streams.values():
            if found.recording is recorded:
                found.recording = None
        return INVALID_VALUE if recorded is None else self._give(out, self._new(recorded))

    def cuGraphInstantiateWithFlags(self, out: Any, graph: int, flags: int) -> int:
        """A graph that can be launched."""
        return self._give(out, self._new(list(self._objects[graph])))

    def cuGraphLaunch(self, graph: int, stream: int) -> int:
        """All recorded work, in order."""
        recorded = list(self._objects[graph])

        def replay() -> None:
            for work in recorded:
                work()

        return self._do(stream, replay, ("graph", len(recorded)))

    def cuGraphDestroy(self, graph: int) -> int:
        """Forget it."""
        return SUCCESS if self._objects.pop(graph, None) is not None else INVALID_VALUE

    def cuGraphExecDestroy(self, graph: int) -> int:
        """Forget it."""
        return self.cuGraphDestroy(graph)

    # ---- the order of work -----------------------------------------------------------------------

    def _do(self, stream: int, work: Callable[[], None], entry: tuple[Any, ...]) -> int:
        if self.fault:
            return LAUNCH_FAILED
        if stream not in self._streams:
            return INVALID_VALUE
        self.log.append((*entry, stream))
        found = self._streams[stream]
        (found.work if found.recording is None else found.recording).append(work)
        return SUCCESS

    def _drain(self, stream: int) -> None:
        work = self._streams[stream].work
        while work:
            self._perform(work.popleft())

    def _reach(self, event: _Event) -> None:
        work = self._streams[event.stream].work
        while work and not event.done:
            self._perform(work.popleft())

    def _perform(self, work: Callable[[], None]) -> None:
        if self.fault is None:
            try:
                work()
            except Exception as error:
                self.fault = error

    def _status(self) -> int:
        return LAUNCH_FAILED if self.fault else SUCCESS
