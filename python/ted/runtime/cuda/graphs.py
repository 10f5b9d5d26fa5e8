"""CUDA graphs: calls that are recorded once and then launched as one.

Before: with capture() as graph: loss, *state = step(*state, x)      After: graph.replay()

Within the block calls do not run, they are recorded, with the memory that they use. A replay reads
the same input arrays again and writes the same results. What is data stays data: Python numbers
that were passed are part of the recording.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from ted.errors import ExecutionError
from ted.runtime.cuda.arguments import copy, device_array, is_torch
from ted.runtime.cuda.arrays import DeviceArray
from ted.runtime.cuda.contexts import Context, context_of, when_gone
from ted.runtime.cuda.pool import MemoryPool
from ted.runtime.cuda.prototypes import CAPTURE_RELAXED
from ted.runtime.cuda.streams import Stream, chosen_stream


class Graph:
    """Recorded calls. Make one in a `with` block, or by `capture()`."""

    def __init__(self, context: Context | None = None) -> None:
        self.context = context or context_of()
        self.memory = MemoryPool(self.context.driver, self.context.memory)
        self._stream = Stream(self.context)
        self.stream = self._stream.handle
        self._kept: list[Any] = []
        self._arrays: list[DeviceArray] = []
        self._executable = 0

    def __enter__(self) -> Graph:
        if self.context.here.capture is not None or self._executable:
            raise ExecutionError("cuda: a graph is captured once, and not inside of another")
        self.context.synchronize()
        with self.context:
            self.context.driver.cuStreamBeginCapture_v2(self.stream, CAPTURE_RELAXED)
        self._stream.__enter__()
        self.context.begin_capture(self)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._stream.__exit__()
        driver = self.context.driver
        with self.context:
            try:
                recorded = self._end(kind is not None)
            finally:
                self.context.end_capture()
            if recorded and kind is None:
                self._executable = driver.handle("cuGraphInstantiateWithFlags", recorded, 0)
            if recorded:
                driver.cuGraphDestroy(recorded)

    def keep(self, *values: Any) -> None:
        """Keep what the recording refers to as long as the graph."""
        self._kept += values
        self._arrays += [v for v in values if isinstance(v, DeviceArray)]

    def replay(self, stream: Any = None) -> None:
        """Run the recorded calls on a stream.

        Raises: ExecutionError before anything was recorded, or for an index out of range that an
        earlier replay met.
        """
        if not self._executable:
            raise ExecutionError("cuda: a graph is replayed after its block has ended")
        with self.context:
            for flag in list(self.context.flags):
                flag.check()
            to = chosen_stream(self.context, stream)
            for array in self._arrays:
                array.use_on(to)
                array.stream = to
            self.context.driver.cuGraphLaunch(self._executable, to)

    def _end(self, failed: bool) -> int:
        try:
            found = ctypes.c_void_p()
            self.context.driver.cuStreamEndCapture(self.stream, ctypes.byref(found))
            return found.value or 0
        except ExecutionError:
            if failed:
                return 0  # the error inside of the block is the one to see
            raise

    def __del__(self) -> None:
        if sys.is_finalizing() or not hasattr(self, "_executable"):
            return
        with self.context:
            if self._executable:
                self.context.driver.cuCtxSynchronize()
                self.context.driver.cuGraphExecDestroy(self._executable)
            self._kept.clear()
            self._arrays.clear()
            self.memory.close()


class Recording:
    """Calls of one program in a capture that another library has begun, say `torch.cuda.graph`.

    Their memory is nobody else's as long as the program lives, since the graph may be replayed.
    Within a `with` block calls of this thread are recorded, and may ask the driver for memory.
    """

    def __init__(self, context: Context, stream: int) -> None:
        self.stream = stream
        self.memory = MemoryPool(context.driver, context.memory)
        self._context = context
        self._kept: list[Any] = []
        when_gone(self, context, self.memory.close)

    def __enter__(self) -> Recording:
        self._mode = ctypes.c_int(CAPTURE_RELAXED)
        self._exchange()
        self._context.here.capture = self
        return self

    def __exit__(self, *_: object) -> None:
        self._context.here.capture = None
        self._exchange()

    def keep(self, program: Any, *values: Any) -> None:
        """Keep what the recording reads, but for tensors of torch, which keeps its own."""
        self._kept += [value for value in values if not is_torch(value)]

    def _exchange(self) -> None:
        """Say what this thread may do during captures, and take note of what was said before."""
        self._context.driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(self._mode))


def capture(context: Context | None = None) -> Graph:
    """A graph that records the calls of a `with` block."""
    return Graph(context)


class GraphCall:
    """A function recorded on fixed arrays: calling it copies new inputs in and replays.

    `inputs` and `outputs` are those arrays; `replay()` runs on what they hold now.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arrays: tuple[Any, ...],
        context: Context,
        **options: Any,
    ) -> None:
        self.inputs = [device_array(array, context=context) for array in arrays]
        self.graph = Graph(context)
        with self.graph:
            self.outputs = function(*self.inputs, **options)

    def __call__(self, *arrays: Any, stream: Any = None) -> Any:
        """Copy arrays, of the host or a device, over the inputs and run; the same results again.

        Raises: ExecutionError when their number, shapes or types differ.
        """
        if len(arrays) != len(self.inputs):
            raise ExecutionError(
                f"cuda: the graph was recorded for {len(self.inputs)} arrays, got {len(arrays)}"
            )
        for target, array in zip(self.inputs, arrays, strict=True):
            copy(target, array, stream)
        self.replay(stream)
        return self.outputs

    def replay(self, stream: Any = None) -> None:
        """Run on what the inputs hold now."""
        self.graph.replay(stream)
