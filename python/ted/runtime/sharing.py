"""Memory that libraries share on the host: what they give by DLPack, and results for them.

NumPy reads buffers, `__array_interface__` and `__array__` by itself. Of DLPack it knows neither
bfloat16 nor what older libraries give, so that capsules are read and made here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ted.errors import ExecutionError, FrontendError
from ted.runtime import dlpack

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_BY_NUMPY = ("__array__", "__array_interface__")
_GPU = "__cuda_array_interface__"
_NEVER = (str, bytes, type, np.ndarray, np.generic)


def is_foreign(value: Any) -> bool:
    """Whether a value shares memory as an array, but has no shape and type to look at."""
    if isinstance(value, _NEVER) or (hasattr(value, "shape") and hasattr(value, "dtype")):
        return isinstance(value, memoryview)
    if any(hasattr(value, protocol) for protocol in (*_BY_NUMPY, "__dlpack__", _GPU)):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def has_only_dlpack(value: Any) -> bool:
    """Whether DLPack is the only way to the memory of a value that NumPy could not find."""
    by_numpy = isinstance(value, _NEVER) or any(hasattr(value, name) for name in _BY_NUMPY)
    return not by_numpy and (hasattr(value, "__dlpack__") or hasattr(value, _GPU))


def loses(value: Any) -> str:
    """What would be lost if a value were read as an array, and what to write; else ""."""
    kind = type(value).__module__.partition(".")[0]
    if kind == "numpy" and hasattr(value, "mask"):
        return "an array has a value everywhere, a masked one does not; write x.filled(value)"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.requires_grad:
        return "it requires grad; write x.detach(), or make the function a ted.torch.op"
    return ""


def is_shared(value: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether a value gives an array on its own memory; a copy would be elsewhere next time."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if isinstance(value, np.ndarray) or not root.flags.owndata:
        return True
    return np.asarray(value).ctypes.data == array.ctypes.data


class _Held:
    """Memory for NumPy; `owner` lives as long as the array."""

    def __init__(self, found: dlpack.Imported) -> None:
        kind = np.dtype(np.uint16 if found.dtype == "bfloat16" else found.dtype)
        self.owner = found.owner
        self.__array_interface__ = {
            "data": (found.pointer, not found.writable),
            "shape": found.shape,
            "strides": found.strides and tuple(kind.itemsize * step for step in found.strides),
            "typestr": kind.str,
            "version": 3,
        }


def viewed(value: Any) -> np.ndarray[Any, Any]:
    """The array on the host that a value gives by DLPack, without a copy.

    Raises: ExecutionError for memory of a device, or a type that ted does not have; whatever else
    the library raises.
    """
    if not hasattr(value, "__dlpack__"):
        raise ExecutionError("its memory must be that of the host, got memory of a GPU")
    device = value.__dlpack_device__()
    if device[0] not in (dlpack.CPU, dlpack.CUDA_HOST):
        raise ExecutionError(f"its memory must be that of the host, got DLPack device {device}")
    try:
        capsule = value.__dlpack__(max_version=dlpack.VERSION)
    except TypeError:  # of a library that is older than versions
        capsule = value.__dlpack__()
    found = dlpack.from_capsule(capsule)
    array = np.asarray(_Held(found))
    return array.view(_BFLOAT16) if found.dtype == "bfloat16" else array


class _Given:
    """A result for DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> Any:
        is_new = max_version is not None and tuple(max_version) >= dlpack.VERSION
        array = self._array
        return dlpack.to_capsule(
            array.ctypes.data, array.shape, array.dtype.name, 0, array, is_new, dlpack.CPU
        )


def giver(like: Any) -> Callable[[Any], Any]:
    """What makes arrays of a library from results, which share their memory.

    Raises: FrontendError for what has no `from_dlpack`.
    """
    take = getattr(like, "from_dlpack", None)
    if not callable(take):
        raise FrontendError(
            "function: like is a library that has from_dlpack, such as numpy, torch, jax.numpy or "
            f"cupy, got {like!r}"
        )

    def given(value: Any) -> Any:
        if like is np or not isinstance(value, (np.ndarray, np.generic)):
            return value if like is np or not hasattr(value, "__dlpack__") else take(value)
        array = np.asarray(value)
        return take(array if array.dtype.kind == "c" else _Given(array))

    return given
