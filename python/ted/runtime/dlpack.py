"""DLPack, the exchange of arrays between libraries without copies, by ctypes: in and out.

A producer's capsule holds a pointer to a struct with address, shape, strides, type and device, and
a function that the consumer calls when it is done. Source: the DLPack 1.0 header, and its
"Python specification for DLPack".
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, c_char_p, c_int, c_int64, c_uint8, c_void_p
from math import prod
from typing import Any

from ted.codegen.manifest import ITEM_SIZES
from ted.errors import ExecutionError
from ted.records import dataclass

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
VERSION = (1, 0)
READ_ONLY = 1  # a bit of the flags
_KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}  # DLDataTypeCode
_NAMES = {(_KINDS[name.rstrip("0123456789")], 8 * size): name for name, size in ITEM_SIZES.items()}
_CODES = {name: code for code, name in _NAMES.items()}


class _Device(ctypes.Structure):
    _fields_ = [("type", c_int), ("number", c_int)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device", _Device), ("rank", c_int), ("dtype", _DataType),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


_DELETER = CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", c_void_p),
        ("deleter", c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


_STRUCTS: dict[bytes, Any] = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


def _python(name: str, result: Any, *types: Any) -> Any:
    return PYFUNCTYPE(result, *types)((name, ctypes.pythonapi))


_capsule_new = _python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_capsule_pointer = _python("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_capsule_is = _python("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_capsule_rename = _python("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)
# A capsule that is being destroyed has no references left to count: it comes as an address.
_dying_is = _python("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
_dying_pointer = _python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)


@dataclass(frozen=True)
class Imported:
    """What a capsule describes; `owner` keeps the memory, and returns it when it goes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in elements; None when dense
    dtype: str
    device: tuple[int, int]
    owner: Any
    writable: bool = True  # capsules before versions do not say


class _Owner:
    """The producer's struct: its deleter is called when nobody uses the array any more."""

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._delete = _DELETER(deleter) if deleter else None

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


def from_capsule(capsule: Any) -> Imported:
    """Take over what a capsule of either version holds.

    Raises: ExecutionError for an element type that ted does not have, or no such capsule.
    """
    name = next((n for n in _STRUCTS if _capsule_is(capsule, n)), None)
    if name is None:
        raise ExecutionError(f"__dlpack__ gives a capsule that is not used, got {capsule!r}")
    address = _capsule_pointer(capsule, name)
    managed = _STRUCTS[name].from_address(address)
    _capsule_rename(capsule, _USED[name])
    owner = _Owner(address, managed.deleter)
    tensor = managed.tensor
    kind = (tensor.dtype.code, tensor.dtype.bits)
    if kind not in _NAMES or tensor.dtype.lanes != 1:
        raise ExecutionError(f"an element type is one of {[*ITEM_SIZES]}, got DLPack type {kind}")
    return Imported(
        (tensor.data or 0) + tensor.offset,
        tuple(tensor.shape[: tensor.rank]),
        tuple(tensor.strides[: tensor.rank]) if tensor.strides else None,
        _NAMES[kind],
        (tensor.device.type, tensor.device.number),
        owner,
        not getattr(managed, "flags", 0) & READ_ONLY,
    )


_exported: dict[int, tuple[Any, ...]] = {}  # structs that consumers hold, with what they point to


def to_capsule(
    pointer: int,
    shape: tuple[int, ...],
    dtype: str,
    device: int,
    owner: Any,
    versioned: bool,
    kind: int = CUDA,
) -> Any:
    """A capsule of a dense array on a device; `owner` lives until the consumer is done."""
    name = b"dltensor_versioned" if versioned else b"dltensor"
    managed = _STRUCTS[name]()
    extents = (c_int64 * max(len(shape), 1))(*shape)
    strides = (c_int64 * max(len(shape), 1))(*(prod(shape[k + 1 :]) for k in range(len(shape))))
    code, bits = _CODES[dtype]
    managed.tensor = _Tensor(
        pointer, _Device(kind, device), len(shape), _DataType(code, bits, 1), extents, strides, 0
    )
    managed.deleter = ctypes.cast(_release, c_void_p).value
    if versioned:
        managed.major, managed.minor = VERSION
    address = ctypes.addressof(managed)
    _exported[address] = (managed, extents, strides, owner)
    return _capsule_new(address, name, ctypes.cast(_drop_capsule, c_void_p).value)


@_DELETER
def _release(address: int) -> None:
    _exported.pop(address, None)


@_DELETER
def _drop_capsule(capsule: int) -> None:
    """A capsule that nobody consumed takes its array along."""
    for name in _STRUCTS:
        if _dying_is(capsule, name):
            _release(_dying_pointer(capsule, name))
