"""What a caller passes -> an address on the device, or an error that names the argument.

Arrays come by `__cuda_array_interface__`, by DLPack, or as torch tensors, whose attributes are read
directly because that is faster. Nothing is copied or converted: an array on the host, of another
type, not dense or not aligned is refused with the way out. Python numbers fit scalars.
"""

from __future__ import annotations

import struct
import sys
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ted.codegen.manifest import ITEM_SIZES, ArraySpec
from ted.errors import ExecutionError
from ted.machine import ACCESS_BYTES
from ted.records import dataclass
from ted.runtime import dlpack
from ted.runtime.cuda.arrays import DeviceArray, element_type_of, empty
from ted.runtime.cuda.contexts import Context
from ted.runtime.cuda.streams import LEGACY_DEFAULT, chosen_stream, stream_handle

UNORDERED = -1  # in place of a stream, for DLPack: the consumer has seen to the order
_TYPESTR = {np.dtype(name).str: name for name in ITEM_SIZES if name != "bfloat16"}
_FORMATS = {name: np.dtype(name).char for name in ITEM_SIZES if name != "bfloat16"} | {
    "int64": "q", "uint64": "Q",  # numpy's letters for them are C's long, of 4 bytes in struct
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """An array of any library: where it is and what it looks like; `owner` keeps it alive."""

    pointer: int
    shape: tuple[int, ...]
    element_type: str
    dense: bool
    device: int
    owner: Any
    stream: int | None = None  # the stream that writes it, when it is to be waited for
    writable: bool = True


def is_torch(value: Any) -> bool:
    """Whether a value is a tensor of torch; torch is never imported for this."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


@cache
def torch_type(element_type: str) -> Any:
    """Torch's name for an element type."""
    return getattr(sys.modules["torch"], element_type)


def torch_stream(ordinal: int) -> int:
    """Torch's current stream on a device."""
    return sys.modules["torch"].cuda.current_stream(ordinal).cuda_stream


def view_of(value: Any, what: str, stream: int) -> View:
    """The view of an array on a device, which work on `stream` may read.

    Raises: ExecutionError for host arrays and for what is no array.
    """
    if isinstance(value, DeviceArray):
        return View(value.pointer, value.shape, value.element_type, True, value.context.ordinal,
                    value, value.stream)  # fmt: skip
    if is_torch(value):
        return _torch_view(value, what)
    interface = hasattr(value, "__cuda_array_interface__")
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        try:  # first, since its producer orders the streams
            return _dlpack_view(value, what, stream)
        except (BufferError, TypeError, ValueError, RuntimeError) as error:
            if not interface:
                raise ExecutionError(f"{what}: {_name(value)} gives no DLPack: {error}") from error
    if interface:
        return _interface_view(value, what)
    raise _on_host(value, what)


def check(view: View, spec: ArraySpec, what: str, ordinal: int) -> None:
    """Compare rank, type, shape, layout, device and alignment, in this order.

    Raises: ExecutionError for the first difference.
    """
    shape = spec.shape
    if len(view.shape) != len(shape):
        raise ExecutionError(
            f"{what}: expected rank {len(shape)} (shape {shape}), "
            f"got rank {len(view.shape)} (shape {view.shape})"
        )
    if view.element_type != spec.dtype:
        raise ExecutionError(f"{what}: expected dtype {spec.dtype}, got {view.element_type}")
    if view.shape != shape:
        raise ExecutionError(f"{what}: expected shape {shape}, got {view.shape}")
    if not view.dense:
        raise ExecutionError(
            f"{what}: expected a contiguous row-major array, got strides; copy it "
            "(torch: x.contiguous(), cupy: cupy.ascontiguousarray(x))"
        )
    if view.device != ordinal:
        raise ExecutionError(f"{what}: expected an array on cuda:{ordinal}, got cuda:{view.device}")
    least = alignment(spec)
    if not view.pointer and spec.nbytes:
        raise ExecutionError(f"{what}: expected memory of the device, got a null pointer")
    if view.pointer % least:
        raise ExecutionError(
            f"{what}: expected an address that is a multiple of {least}, got {view.pointer:#x}; "
            "a slice that starts inside an array is to be copied"
        )


def alignment(spec: ArraySpec) -> int:
    """The alignment that kernels rely on: 16 bytes, less only for arrays that are smaller."""
    return ACCESS_BYTES if spec.nbytes >= ACCESS_BYTES else ITEM_SIZES[spec.dtype]


def number(value: float, spec: ArraySpec, what: str, context: Context, stream: int) -> DeviceArray:
    """A Python number as an array of rank 0.

    Raises: ExecutionError when the argument is no scalar, or its type does not hold the number.
    """
    if spec.shape:
        raise ExecutionError(
            f"{what}: expected rank {len(spec.shape)} (shape {spec.shape}), got the scalar {value}"
        )
    weak = {bool: "bif", int: "if"}.get(type(value), "f")  # the kinds that such a number fits
    kind = "f" if "float" in spec.dtype else spec.dtype[0]
    if kind not in weak:
        raise ExecutionError(
            f"{what}: expected dtype {spec.dtype}, got {type(value).__name__} {value}"
        )
    made = empty((), spec.dtype, context=context, stream=stream)
    data = _bytes(value, spec, what)
    width = min(len(data), 4)
    fill = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}[width]
    for offset in range(0, len(data), width):
        bits = int.from_bytes(data[offset : offset + width], "little")
        getattr(context.driver, fill)(made.pointer + offset, bits, 1, stream)
    return made


def device_array(
    value: Any, *, context: Context, stream: Any = None, element_type: str | None = None
) -> DeviceArray:
    """An array as a DeviceArray: on a device without a copy, from the host by copying.

    `element_type` says what the bytes of an array of the host are, when numpy has no such type.
    Raises: ExecutionError for an element type that ted does not have, or an array with gaps.
    """
    with context:
        to = chosen_stream(context, stream)
        if not on_device(value):
            return _uploaded(value, context, to, element_type)
        if isinstance(value, DeviceArray):
            return value
        view = view_of(value, "cuda", to)
        spec = ArraySpec("array", view.shape, view.element_type)
        check(view, spec, "cuda: array", context.ordinal)
        at = torch_stream(context.ordinal) if is_torch(value) else view.stream
        return DeviceArray(context, view.pointer, view.shape, view.element_type, view.owner,
                           to if at is None else at)  # fmt: skip


def copy(target: DeviceArray, value: Any, stream: Any = None) -> None:
    """Fill an array with the numbers of another, of the host or of a device.

    Raises: ExecutionError when shape or type differ.
    """
    with target.context as context:
        to = chosen_stream(context, stream)
        source = device_array(value, context=context, stream=to)
        if (source.shape, source.element_type) != (target.shape, target.element_type):
            raise ExecutionError(f"cuda: copies an array to one like it, got {source} to {target}")
        target.use_on(to)
        source.use_on(to)
        if target.nbytes and target.pointer != source.pointer:
            driver = context.driver
            driver.cuMemcpyDtoDAsync_v2(target.pointer, source.pointer, target.nbytes, to)


def on_device(value: Any) -> bool:
    """Whether a value is an array on a CUDA device."""
    if isinstance(value, DeviceArray):
        return True
    if is_torch(value):
        return value.is_cuda
    if hasattr(value, "__cuda_array_interface__"):
        return True
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and device()[0] in (dlpack.CUDA, dlpack.CUDA_MANAGED)


def _uploaded(
    value: Any, context: Context, stream: int, element_type: str | None = None
) -> DeviceArray:
    if context.here.capture is not None:
        raise ExecutionError("cuda: arrays are moved to the device before a graph is captured")
    array = np.asarray(value, order="C")
    kind = element_type or element_type_of(array.dtype)
    made = empty(array.shape, kind, context=context, stream=stream)
    if array.nbytes:
        context.driver.cuMemcpyHtoDAsync_v2(made.pointer, array.ctypes.data, array.nbytes, stream)
        context.driver.cuStreamSynchronize(stream)  # the caller may change the array now
    return made


def _bytes(value: float, spec: ArraySpec, what: str) -> bytes:
    try:
        if spec.dtype == "bfloat16":
            return _bfloat16(value)
        if spec.dtype in ("float32", "float16"):
            with np.errstate(over="ignore"):
                return np.asarray(value, spec.dtype).tobytes()
        return struct.pack("<" + _FORMATS[spec.dtype], value)
    except (OverflowError, struct.error):
        raise ExecutionError(f"{what}: {spec.dtype} does not hold {value}") from None


def _bfloat16(value: float) -> bytes:
    """The nearest bfloat16, ties to even; by hand, since a bundle may lack ml_dtypes."""
    bits = int.from_bytes(struct.pack("<f", np.float32(value)), "little")
    if value == value:
        bits += 0x7FFF + (bits >> 16 & 1)
    return (bits >> 16 & 0xFFFF).to_bytes(2, "little")


def _name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _on_host(value: Any, what: str) -> ExecutionError:
    return ExecutionError(
        f"{what}: a cuda function takes arrays on the device, got {_name(value)} on the host; move "
        "it with ted.cuda.asarray(x) (or in its library: x.cuda(), cupy.asarray(x))"
    )


def _torch_view(value: Any, what: str) -> View:
    if not value.is_cuda:
        raise _on_host(value, what)
    kind = str(value.dtype).removeprefix("torch.")
    return View(value.data_ptr(), tuple(value.shape), kind, value.is_contiguous(),
                value.device.index, value)  # fmt: skip


def _interface_view(value: Any, what: str) -> View:
    found = value.__cuda_array_interface__
    if missing := {"shape", "typestr", "data"} - {*found}:
        raise ExecutionError(
            f"{what}: __cuda_array_interface__ has shape, typestr and data, got none of its "
            f"{', '.join(sorted(missing))}"
        )
    kind = found["typestr"]
    if kind not in _TYPESTR:
        raise ExecutionError(f"{what}: expected one of {[*ITEM_SIZES]}, got typestr {kind}")
    if found.get("mask") is not None:
        raise ExecutionError(f"{what}: expected an array without a mask")
    shape, size = tuple(found["shape"]), ITEM_SIZES[_TYPESTR[kind]]
    strides = found.get("strides")
    dense = strides is None or _dense(shape, [s / size for s in strides])
    device = getattr(getattr(value, "device", None), "id", 0)  # cupy's; the protocol has none
    stream = found.get("stream")
    wait = None if stream is None else stream_handle(stream)
    pointer, is_read_only = found["data"]
    return View(pointer, shape, _TYPESTR[kind], dense, device, value, wait, not is_read_only)


def _dlpack_view(value: Any, what: str, stream: int) -> View:
    if value.__dlpack_device__()[0] not in (dlpack.CUDA, dlpack.CUDA_MANAGED):
        raise _on_host(value, what)
    asked = stream or LEGACY_DEFAULT
    try:
        capsule = value.__dlpack__(stream=asked, max_version=dlpack.VERSION)
    except TypeError:  # a producer from before versions
        capsule = value.__dlpack__(stream=asked)
    found = dlpack.from_capsule(capsule)
    dense = found.strides is None or _dense(found.shape, found.strides)
    return View(found.pointer, found.shape, found.dtype, dense, found.device[1], found.owner,
                writable=found.writable)  # fmt: skip


def _dense(shape: tuple[int, ...], strides: Any) -> bool:
    """Whether strides, in elements, are those of a row-major array without gaps."""
    if 0 in shape:
        return True
    expected = (prod(shape[k + 1 :]) for k in range(len(shape)))
    pairs = zip(shape, strides, expected, strict=True)
    return all(extent == 1 or found == wanted for extent, found, wanted in pairs)
