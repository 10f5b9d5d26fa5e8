"""Device memory: allocations that are kept and given out again, in the order of streams.

A block belongs to a stream. When it comes back, what runs next on that stream may use its memory at
once: the device works on it in order. Nobody waits, and the driver is asked for memory only when no
block of the size class is free. Blocks that other streams used as well are made to wait for them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ted.errors import ExecutionError
from ted.forking import Lock
from ted.runtime.cuda.driver import DriverError
from ted.runtime.cuda.prototypes import EVENT_DISABLE_TIMING, OUT_OF_MEMORY

SMALLEST = 512
_STEPS_PER_OCTAVE = 8
_LARGE, _LARGE_STEP = 64 << 20, 2 << 20


class Block:
    """Memory of a pool: an address, its size class, and the stream whose order it follows."""

    __slots__ = ("bytes", "pointer", "pool", "stream", "users")

    def __init__(self, pool: MemoryPool, pointer: int, size: int, stream: int) -> None:
        self.pool = pool
        self.pointer = pointer
        self.bytes = size
        self.stream = stream
        self.users: set[int] = set()  # other streams that have used it

    def free(self) -> None:
        """Give the memory back; work that is under way on its streams still may use it."""
        self.pool.free(self)


class Usage:
    """Bytes in use and held, and the most that were in use at once."""

    __slots__ = ("held", "peak", "used")

    def __init__(self) -> None:
        self.used = self.held = self.peak = 0


class MemoryPool:
    """The blocks of one context.

    A pool with a parent serves one graph: what it gave out is never reused by anyone else until
    `close`, since every replay of the graph uses it again.
    """

    def __init__(self, driver: Any, parent: MemoryPool | None = None) -> None:
        self._driver = driver
        self._parent = parent
        self._free: dict[tuple[int, int], list[Block]] = {}  # by stream and size class
        self._closed = False
        self._lock = Lock()  # a collection of garbage may free within an allocation
        self.usage: Usage = parent.usage if parent else Usage()

    def allocate(self, size: int, stream: int) -> Block:
        """A block of at least `size` bytes for work on a stream.

        Raises: ExecutionError with the bytes when the device has no more.
        """
        return self.allocate_class(size_class(size), stream)

    def allocate_class(self, size: int, stream: int) -> Block:
        """A block of a size class, for callers that know it.

        Raises: ExecutionError with the bytes when the device has no more.
        """
        usage = self.usage
        with self._lock:
            waiting = self._free.get((stream, size))
            block = waiting.pop() if waiting else self._take(size, stream)
            usage.used += size
            if usage.used > usage.peak:
                usage.peak = usage.used
        return block

    def free(self, block: Block) -> None:
        """Take a block back."""
        if self._closed and self._parent:
            block.pool = self._parent
            self._parent.free(block)
            return
        if block.users:
            self._order(block)
        with self._lock:
            self.usage.used -= block.bytes
            waiting = self._free.get((block.stream, block.bytes))
            if waiting is None:
                waiting = self._free[block.stream, block.bytes] = []
            waiting.append(block)

    def close(self) -> None:
        """Hand free blocks, and those that come back from now on, to the parent."""
        assert self._parent, "the pool of a context stays open"
        self._closed = True
        for blocks in self._free.values():
            for block in blocks:
                self.usage.used += block.bytes
                self.free(block)
        self._free.clear()

    def trim(self) -> None:
        """Return all free memory to the driver, once the device has done with it."""
        with self._lock:
            blocks = [block for waiting in self._free.values() for block in waiting]
            if blocks:
                self._driver.cuCtxSynchronize()
            self._free.clear()
            for block in blocks:
                self.usage.held -= block.bytes
                self._driver.cuMemFree_v2(block.pointer)

    def _take(self, size: int, stream: int) -> Block:
        """A block that is free on the stream in a parent, else a new one."""
        if self._parent is None:
            return self._new(size, stream)
        with self._parent._lock:
            waiting = self._parent._free.get((stream, size))
            block = waiting.pop() if waiting else self._parent._take(size, stream)
        block.pool = self
        return block

    def _new(self, size: int, stream: int) -> Block:
        try:
            pointer = self._ask(size)
        except DriverError:
            self.trim()
            pointer = self._ask(size, last=True)
        self.usage.held += size
        return Block(self, pointer, size, stream)

    def _ask(self, size: int, last: bool = False) -> int:
        pointer = ctypes.c_uint64()
        try:
            self._driver.cuMemAlloc_v2(ctypes.byref(pointer), size)
        except DriverError as error:
            if error.code != OUT_OF_MEMORY or not last:
                raise
            raise ExecutionError(
                f"cuda: out of memory: cannot allocate {size} bytes, "
                f"{self.usage.used} bytes are in use"
            ) from None
        return pointer.value

    def _order(self, block: Block) -> None:
        """The block's stream waits for what other streams have been given to do so far."""
        wait_for(self._driver, block.stream, sorted(block.users - {block.stream}))
        block.users.clear()


def size_class(size: int) -> int:
    """The size that is allocated: eight sizes per power of two, large ones to 2 MiB."""
    if size <= SMALLEST:
        return SMALLEST
    step = _LARGE_STEP if size > _LARGE else _octave(size) // _STEPS_PER_OCTAVE
    return -(-size // step) * step


def _octave(size: int) -> int:
    """The power of two below a size, large enough that steps stay aligned."""
    return max(1 << (size - 1).bit_length() - 1, SMALLEST * _STEPS_PER_OCTAVE)


def wait_for(driver: Any, stream: int, others: Sequence[int]) -> None:
    """Work that a stream gets from now on waits for what the others have by now."""
    for other in others:
        event = driver.handle("cuEventCreate", EVENT_DISABLE_TIMING)
        driver.cuEventRecord(event, other)
        driver.cuStreamWaitEvent(stream, event, 0)
        driver.cuEventDestroy_v2(event)
