"""Arrays at the boundary: what a caller passes -> a C-contiguous numpy array that a kernel accepts.

A compiled function states each argument as an `ArgSpec`. `as_input` converts what it may convert
without changing the meaning (layout, byte order, weak Python scalars, arrays of other libraries)
and refuses the rest by name. Results live in aligned memory of the runtime.
"""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from ted._runtime import Buffer
from ted.errors import ExecutionError, FrontendError
from ted.forking import cached_property
from ted.records import dataclass
from ted.runtime import sharing

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_DLPACK_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
_WEAK_ORDER = "bif"  # a Python bool fits every kind, an int fits int and float, a float only float


@dataclass(frozen=True)
class ArgSpec:
    """One argument or result of a compiled function; `dtype` is numpy's name for the type."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @cached_property
    def numpy_dtype(self) -> np.dtype:
        """The dtype that the caller sees."""
        return _BFLOAT16 if self.dtype == "bfloat16" else np.dtype(self.dtype)

    @cached_property
    def nbytes(self) -> int:
        """Size of the array in bytes."""
        return prod(self.shape) * self.numpy_dtype.itemsize

    def kernel_spec(self, writable: bool) -> tuple[np.dtype, tuple[int, ...], bool, int]:
        """The spec that the native kernel compares arguments with."""
        return self.numpy_dtype, self.shape, writable, self._dlpack

    @property
    def _dlpack(self) -> int:
        """DLPack's code of the element type times 256, and its bits."""
        kind = self.dtype.rstrip("0123456789")
        return _DLPACK_CODES[kind] << 8 | 8 * self.numpy_dtype.itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


def allocate(spec: ArgSpec) -> np.ndarray:
    """A fresh array of aligned memory, not initialised.

    Raises: MemoryError with the number of bytes.
    """
    memory: Any = Buffer(spec.nbytes)  # numpy's annotations list known buffer types before 3.12
    return np.ndarray(spec.shape, spec.numpy_dtype, memory)


def as_input(value: Any, spec: ArgSpec, function: str) -> np.ndarray:
    """What the caller passed for `spec` as a contiguous, aligned, native array.

    Raises: ExecutionError naming the argument when rank, dtype or shape differ.
    """
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        return _from_scalar(value, spec, function)
    what = f"{function}: argument {spec.name!r}"
    array = to_numpy(value, spec, what)
    check(array, spec, what)
    array = np.asarray(array, dtype=spec.numpy_dtype, order="C")
    array = array.view(spec.numpy_dtype)  # NumPy has two types of 64 bits
    if not array.flags.aligned:
        array = array.copy(order="C")
    return array


def as_array(value: Any) -> Any:
    """What another library shares as an array of NumPy; any other value as it is."""
    try:
        whole = type(value) is np.ndarray or sharing.loses(value)
        return value if whole else value.__array__()
    except Exception:  # whatever the other library raises; it is asked again by `to_numpy`
        return value


def to_numpy(value: Any, spec: ArgSpec, what: str) -> np.ndarray:
    """An array of any library as a numpy array, sharing memory where that library allows it.

    Raises: ExecutionError for what is no array, or does not convert to one of numbers.
    """
    if isinstance(value, (list, tuple, str, type(None))):
        raise ExecutionError(f"{what}: expected an array, got {type(value).__name__}")
    if lost := sharing.loses(value):
        raise ExecutionError(f"{what}: {type(value).__name__} does not convert: {lost}")
    if _is_torch_bfloat16(value):  # torch does not hand it to numpy, but it reinterprets bits
        return np.asarray(value.view(sys.modules["torch"].int16)).view(_BFLOAT16)
    try:
        array = sharing.viewed(value) if sharing.has_only_dlpack(value) else np.asarray(value)
    except FrontendError:
        raise ExecutionError(f"{what}: expected an array, got {value!r}") from None
    except Exception as error:  # whatever the other library raises
        raise ExecutionError(
            f"{what}: {type(value).__name__} does not convert to a numpy array: {error}"
        ) from error
    if array.dtype == object:
        kind = "an array of objects" if value is array else type(value).__name__
        raise ExecutionError(f"{what}: expected an array of {spec.dtype}, got {kind}")
    return array


def check(array: np.ndarray, spec: ArgSpec, what: str) -> None:
    """Compare rank, dtype and shape, in this order, and explain the first difference.

    Raises: ExecutionError for it.
    """
    if array.ndim != len(spec.shape):
        raise ExecutionError(
            f"{what}: expected rank {len(spec.shape)} (shape {spec.shape}), "
            f"got rank {array.ndim} (shape {array.shape})"
        )
    if array.dtype.newbyteorder("=") != spec.numpy_dtype:
        raise ExecutionError(f"{what}: expected dtype {spec.dtype}, got {array.dtype}")
    if array.shape != spec.shape:
        raise ExecutionError(f"{what}: expected shape {spec.shape}, got {array.shape}")


def _from_scalar(value: float, spec: ArgSpec, function: str) -> np.ndarray:
    what = f"{function}: argument {spec.name!r}"
    kind = "f" if spec.dtype == "bfloat16" else spec.numpy_dtype.kind.replace("u", "i")
    if spec.shape:
        raise ExecutionError(
            f"{what}: expected rank {len(spec.shape)} (shape {spec.shape}), got the scalar {value}"
        )
    own_kind = {bool: "b", int: "i"}.get(type(value), "f")
    if _WEAK_ORDER.index(own_kind) > _WEAK_ORDER.index(kind):
        raise ExecutionError(
            f"{what}: expected dtype {spec.dtype}, got {type(value).__name__} {value}"
        )
    try:
        with np.errstate(over="ignore"):
            return np.asarray(value, dtype=spec.numpy_dtype)
    except OverflowError:
        raise ExecutionError(f"{what}: {spec.dtype} does not hold {value}") from None


def _is_torch_bfloat16(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16
