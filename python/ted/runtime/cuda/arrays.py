"""Arrays on the device: what CUDA functions return, and what other libraries take without copies.

Before: numpy array, or anything on the device      After: `DeviceArray`, which torch, cupy and jax
read through `__dlpack__`, and all but bfloat16 also through `__cuda_array_interface__`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ted.codegen.manifest import ITEM_SIZES
from ted.errors import ExecutionError
from ted.runtime import dlpack
from ted.runtime.cuda.contexts import Context
from ted.runtime.cuda.driver import DriverError
from ted.runtime.cuda.error_flags import ErrorFlag
from ted.runtime.cuda.pool import Block, wait_for
from ted.runtime.cuda.streams import LEGACY_DEFAULT, stream_handle


@cache
def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype of an element type; bfloat16 is uint16 where ml_dtypes is not installed."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return np.dtype(np.uint16)


def element_type_of(dtype: Any) -> str:
    """The element type of a numpy dtype or its name.

    Raises: ExecutionError when ted has no such type.
    """
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in ITEM_SIZES:
        raise ExecutionError(f"cuda: an element type of {[*ITEM_SIZES]}, got {name}")
    return name


class DeviceArray:
    """A dense row-major array on a device, computed in the order of its stream.

    `.numpy()` waits and copies to the host. `owner` keeps the memory.
    """

    __slots__ = (
        "__weakref__",
        "context",
        "flag",
        "owner",
        "pointer",
        "shape_and_type",
        "stream",
    )  # fmt: skip

    def __init__(
        self,
        context: Context,
        pointer: int,
        shape: tuple[int, ...],
        element_type: str,
        owner: Any,
        stream: int = 0,
        flag: ErrorFlag | None = None,
    ) -> None:
        self.context = context
        self.pointer = pointer
        self.owner = owner
        self.stream = stream
        self.flag = flag
        self.shape_and_type = (shape, element_type)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.shape_and_type[0]

    @property
    def element_type(self) -> str:
        """The name of the element type: float32, bfloat16, ..."""
        return self.shape_and_type[1]

    @property
    def dtype(self) -> np.dtype:
        """The numpy dtype of the elements."""
        return numpy_dtype(self.element_type)

    @property
    def ndim(self) -> int:
        """Rank."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * ITEM_SIZES[self.element_type]

    def numpy(self) -> np.ndarray:
        """A copy on the host, once the array is computed.

        Raises: ExecutionError for an index out of range that the program met.
        """
        found = np.empty(self.shape, self.dtype)
        with self.context as context:
            if self.nbytes:
                address, driver = found.ctypes.data, context.driver
                driver.cuMemcpyDtoHAsync_v2(address, self.pointer, self.nbytes, self.stream)
            context.driver.cuStreamSynchronize(self.stream)
            if self.flag is not None:
                self.flag.check()
        return found

    def use_on(self, stream: int) -> None:
        """Let a stream work on the array after what its own stream has to do."""
        if stream == self.stream or self.context.here.capture is not None:
            return  # a capture begins when all work is done
        wait_for(self.context.driver, stream, [self.stream])
        users = getattr(self.owner, "users", None)
        if users is not None:
            users.add(stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA, and the number of the device."""
        return (dlpack.CUDA, self.context.ordinal)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        """A capsule for another library, which may use it on `stream`; never a copy."""
        if copy:
            raise BufferError("cuda: __dlpack__ shares memory; copy in the library that consumes")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"cuda: the array is on {self.__dlpack_device__()}, got {dl_device}")
        if stream != -1:  # then the consumer has seen to the order
            with self.context:
                self.use_on(stream_handle(LEGACY_DEFAULT if stream is None else stream))
        return dlpack.to_capsule(
            self.pointer, self.shape, self.element_type, self.context.ordinal, self.owner,
            versioned=max_version is not None and tuple(max_version) >= dlpack.VERSION,
        )  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the protocol of numba, cupy and torch."""
        if self.element_type == "bfloat16":
            raise AttributeError("bfloat16 has no __cuda_array_interface__; use from_dlpack")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": self.stream or LEGACY_DEFAULT,
            "version": 3,
        }

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("cuda: the array is on the device; .numpy() copies it to the host")

    def __repr__(self) -> str:
        return f"DeviceArray({self.element_type}{list(self.shape)} on cuda:{self.context.ordinal})"


def empty(
    shape: int | tuple[int, ...],
    element_type: str,
    *,
    context: Context,
    stream: int = 0,
    flag: ErrorFlag | None = None,
) -> DeviceArray:
    """An array of a context's pool, not initialised; it goes back when nobody refers to it."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    size = prod(extents) * ITEM_SIZES[element_type]
    owner = PoolMemory(context, context.memory_for(stream).allocate(size, stream))
    return DeviceArray(context, owner.pointer, extents, element_type, owner, stream, flag)


class PoolMemory:
    """A block of the pool, as long as anything refers to this object."""

    __slots__ = ("_block", "_context", "pointer", "users")

    def __init__(self, context: Context, block: Block) -> None:
        self._context = context
        self._block = block
        self.pointer = block.pointer
        self.users = block.users

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        block = self._block
        if finalizing():
            return
        if not block.users:
            block.free()
            return
        with contextlib.suppress(DriverError), self._context:
            block.free()
