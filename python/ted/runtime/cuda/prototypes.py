"""The functions of the CUDA driver that ted calls, with the C types of their parameters.

Names are those that the library exports (`_v2` where the header renames). All return a CUresult.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    c_char_p,
    c_float,
    c_int,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint64,
    c_ushort,
    c_void_p,
)  # fmt: skip
from typing import Any

_OUT = POINTER(c_void_p)  # where a handle is written
_INT = POINTER(c_int)
_ADDRESS = c_uint64  # CUdeviceptr
_STREAM = _EVENT = _GRAPH = _FUNCTION = _MODULE = _CONTEXT = c_void_p

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (_INT,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (_INT,),
    "cuDeviceGet": (_INT, c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (_INT, c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_OUT, c_int),
    "cuCtxGetCurrent": (_OUT,),
    "cuCtxPushCurrent_v2": (_CONTEXT,),
    "cuCtxPopCurrent_v2": (_OUT,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (_OUT, c_char_p, c_uint, c_void_p, c_void_p),
    "cuModuleUnload": (_MODULE,),
    "cuModuleGetFunction": (_OUT, _MODULE, c_char_p),
    "cuFuncGetAttribute": (_INT, c_int, _FUNCTION),
    "cuFuncSetAttribute": (_FUNCTION, c_int, c_int),
    "cuLaunchKernel": (_FUNCTION, *[c_uint] * 7, _STREAM, c_void_p, c_void_p),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemHostAlloc": (_OUT, c_size_t, c_uint),
    "cuMemFreeHost": (c_void_p,),
    "cuMemcpyHtoDAsync_v2": (_ADDRESS, c_void_p, c_size_t, _STREAM),
    "cuMemcpyDtoHAsync_v2": (c_void_p, _ADDRESS, c_size_t, _STREAM),
    "cuMemcpyDtoDAsync_v2": (_ADDRESS, _ADDRESS, c_size_t, _STREAM),
    "cuMemsetD8Async": (_ADDRESS, c_ubyte, c_size_t, _STREAM),
    "cuMemsetD16Async": (_ADDRESS, c_ushort, c_size_t, _STREAM),
    "cuMemsetD32Async": (_ADDRESS, c_uint, c_size_t, _STREAM),
    "cuStreamCreate": (_OUT, c_uint),
    "cuStreamSynchronize": (_STREAM,),
    "cuStreamWaitEvent": (_STREAM, _EVENT, c_uint),
    "cuEventCreate": (_OUT, c_uint),
    "cuEventRecord": (_EVENT, _STREAM),
    "cuEventQuery": (_EVENT,),
    "cuEventSynchronize": (_EVENT,),
    "cuEventElapsedTime": (POINTER(c_float), _EVENT, _EVENT),
    "cuEventDestroy_v2": (_EVENT,),
    "cuStreamBeginCapture_v2": (_STREAM, c_int),
    "cuStreamEndCapture": (_STREAM, _OUT),
    "cuStreamGetCaptureInfo_v2": (_STREAM, _INT, POINTER(c_uint64), _OUT, c_void_p, c_void_p),
    "cuThreadExchangeStreamCaptureMode": (_INT,),
    "cuGraphInstantiateWithFlags": (_OUT, _GRAPH, c_uint64),
    "cuGraphLaunch": (c_void_p, _STREAM),
    "cuGraphDestroy": (_GRAPH,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuTensorMapEncodeTiled": (
        c_void_p, c_int, c_uint, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, *[c_int] * 4
    ),
}  # fmt: skip

# Numbers of the driver's header that ted uses.
SUCCESS, OUT_OF_MEMORY, NO_DEVICE, INVALID_IMAGE, INVALID_PTX = 0, 2, 100, 200, 218
INVALID_CONTEXT, NO_BINARY_FOR_GPU, UNSUPPORTED_PTX_VERSION = 201, 209, 222
CAPABILITY_MAJOR, CAPABILITY_MINOR, SHARED_PER_BLOCK_OPTIN = 75, 76, 97  # CUdevice_attribute
FUNCTION_SHARED_BYTES, FUNCTION_MAX_DYNAMIC_SHARED = 1, 8  # CUfunction_attribute
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6  # CUjit_option
STREAM_NON_BLOCKING, EVENT_DISABLE_TIMING = 1, 2
CAPTURE_GLOBAL, CAPTURE_RELAXED = 0, 2
# CUtensorMapDataType and CUtensorMapSwizzle
TENSOR_MAP_TYPES = {
    "uint8": 0, "int8": 0, "bool": 0, "uint16": 1, "int16": 1, "uint32": 2, "int32": 3,
    "uint64": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
TENSOR_MAP_SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
TENSOR_MAP_PROMOTION_256B = 3  # of sectors that the second-level cache fetches
