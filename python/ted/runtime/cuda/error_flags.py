"""The error flag of a program: what its kernels found wrong, seen at the next synchronisation.

The flag lies on the device. Behind every call its words are copied to pinned host memory, in the
order of the stream, so that looking at them costs nothing and waits for nobody.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ted.codegen.manifest import ERROR_BYTES, ERROR_WORDS, Check
from ted.errors import ExecutionError
from ted.runtime.cuda.contexts import Context, when_gone
from ted.runtime.cuda.pool import Block


class ErrorFlag:
    """Device words of one program and their latest copy on the host."""

    def __init__(self, context: Context, function: str, checks: Sequence[Check]) -> None:
        self._context = context
        self._function = function
        self._checks = checks
        self._block = context.memory.allocate(ERROR_BYTES, 0)
        self._host = context.driver.handle("cuMemHostAlloc", ERROR_BYTES, 0)
        self._words = (ctypes.c_int64 * ERROR_WORDS).from_address(self._host)
        self._zero()
        context.flags.add(self)
        when_gone(self, context, _release, context, self._block, self._host)

    @property
    def pointer(self) -> int:
        """The address of the words on the device."""
        return self._block.pointer

    def fetch(self, stream: int) -> None:
        """Copy the words to the host, behind what the stream has to do."""
        self._context.driver.cuMemcpyDtoHAsync_v2(self._host, self.pointer, ERROR_BYTES, stream)

    def check(self) -> None:
        """Look at the latest copy; what is found is reported once.

        Raises: ExecutionError with the tensor, dim, extent and index of the first bad access.
        """
        code, value = self._words[0], self._words[1]
        if code == 0:
            return
        if not self._context.captures:
            self._context.driver.cuCtxSynchronize()  # copies of the words may be under way
        self._zero()
        raise ExecutionError(self._checks[code - 1].text(self._function, value))

    def _zero(self) -> None:
        driver = self._context.driver
        driver.cuMemsetD8Async(self.pointer, 0, ERROR_BYTES, 0)
        driver.cuStreamSynchronize(0)
        ctypes.memset(self._host, 0, ERROR_BYTES)


def _release(context: Context, block: Block, host: int) -> None:
    context.driver.cuCtxSynchronize()  # a copy of the words may be under way
    context.driver.cuMemFreeHost(host)
    block.free()
