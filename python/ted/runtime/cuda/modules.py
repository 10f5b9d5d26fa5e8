"""PTX -> loaded kernels: does the device run this target, does it have the memory, what went wrong.

A driver compiles PTX for its device when it is loaded, and keeps what it compiled on disk.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ted.codegen.manifest import Kernel, Manifest
from ted.errors import ExecutionError
from ted.machine import STATIC_SHARED_BYTES, compute_capability
from ted.runtime.cuda.contexts import Context, when_gone
from ted.runtime.cuda.driver import DriverError
from ted.runtime.cuda.prototypes import (
    FUNCTION_MAX_DYNAMIC_SHARED,
    FUNCTION_SHARED_BYTES,
    JIT_ERROR_LOG,
    JIT_ERROR_LOG_BYTES,
    NO_BINARY_FOR_GPU,
    UNSUPPORTED_PTX_VERSION,
)

_LOG_BYTES = 16384


def load_functions(context: Context, manifest: Manifest, owner: Any) -> dict[str, int]:
    """The functions of a manifest's kernels by name, loaded as long as `owner` lives.

    Raises: ExecutionError when the device is of another architecture, the driver too old, a kernel
    too large for the device, or the PTX not valid.
    """
    check_capability(context, manifest)
    if not manifest.kernels:
        return {}
    module = _load(context, manifest)
    when_gone(owner, context, _unload, context, module)
    return {
        kernel.name: _function(context, manifest, module, kernel) for kernel in manifest.kernels
    }


def check_capability(context: Context, manifest: Manifest) -> None:
    """Refuse a program for a newer or another device.

    Raises: ExecutionError naming both.
    """
    wanted, has = compute_capability(manifest.target), context.capability
    exact = manifest.target.endswith("a")  # extensions of one architecture run on no other
    same_family = manifest.target.endswith("f") and wanted[0] == has[0]
    fits = has == wanted if exact else has >= wanted and (same_family or manifest.target[-1] != "f")
    if not fits:
        mine = f"sm_{has[0]}{has[1]}"
        raise ExecutionError(
            f"{manifest.name}: wrong compute capability: compiled for {manifest.target}, but "
            f"{context.name} is {mine}; compile with target='cuda:{mine}' or target='cuda'"
        )


def _load(context: Context, manifest: Manifest) -> int:
    module, log = ctypes.c_void_p(), ctypes.create_string_buffer(_LOG_BYTES)
    options = (ctypes.c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
    try:
        context.driver.cuModuleLoadDataEx(
            ctypes.byref(module), manifest.ptx.encode(), len(options), options, values
        )
    except DriverError as error:
        raise _load_error(context, manifest, error, log.value.decode(errors="replace")) from None
    return module.value or 0


def _load_error(
    context: Context, manifest: Manifest, error: DriverError, log: str
) -> ExecutionError:
    if error.code in (UNSUPPORTED_PTX_VERSION, NO_BINARY_FOR_GPU):
        version = context.driver.number("cuDriverGetVersion")
        written = next(
            (x for x in manifest.ptx.splitlines() if x.startswith(".version")), ".version"
        )
        return ExecutionError(
            f"{manifest.name}: the driver (CUDA {version // 1000}.{version % 1000 // 10}) does not "
            f"take PTX {written.removeprefix('.version').strip()} for {manifest.target}; "
            "install a newer driver"
        )
    said = log.strip() or "nothing more"
    return DriverError(f"{manifest.name}: loading the kernels: {error}; {said}", error.code)


def _function(context: Context, manifest: Manifest, module: int, kernel: Kernel) -> int:
    driver = context.driver
    function = driver.handle("cuModuleGetFunction", module, kernel.name.encode())
    fixed = driver.number("cuFuncGetAttribute", FUNCTION_SHARED_BYTES, function)
    dynamic = kernel.dynamic_shared_bytes
    if fixed + dynamic > context.shared_bytes:
        raise ExecutionError(
            f"{manifest.name}: too much shared memory: a block on {context.name} has at most "
            f"{context.shared_bytes} bytes, kernel {kernel.name} needs {fixed + dynamic}"
        )
    if fixed + dynamic > STATIC_SHARED_BYTES:
        driver.cuFuncSetAttribute(function, FUNCTION_MAX_DYNAMIC_SHARED, dynamic)
    return function


def _unload(context: Context, module: int) -> None:
    context.driver.cuCtxSynchronize()  # launches may be under way
    context.driver.cuModuleUnload(module)
