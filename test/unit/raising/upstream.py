"""Programs of linalg run as MLIR itself lowers them: the oracle of what is raised."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ted import dialects
from ted.ir.passes import make_pass
from ted.mlir import ExecutionEngine, PassManager, ir

BUFFERIZE = (
    "builtin.module(func.func(convert-elementwise-to-linalg),"
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map})"
)
LOWER = (
    "builtin.module(func.func(convert-linalg-to-loops,lower-affine),convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,arith-expand,math-expand-ops{ops=round},"
    "convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm,convert-arith-to-llvm,"
    "convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)"
)


def _descriptor(array: Any) -> Any:
    rank = array.ndim
    sizes = ctypes.c_int64 * rank
    pointers = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64)]

    class Memref(ctypes.Structure):
        _fields_ = [*pointers, *([("shape", sizes), ("strides", sizes)] if rank else [])]

    found = Memref(array.ctypes.data, array.ctypes.data, 0)
    if rank:
        found.shape = sizes(*array.shape)
        steps = [n // array.itemsize for n in array.strides]
        found.strides = sizes(*steps)
    return found


def run(text: str, arrays: list[Any], results: list[Any], name: str = "main") -> None:
    """Run the function of a text on arrays; `results` are filled."""
    context = dialects.make_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        (function,) = (
            op
            for op in module.body.operations
            if ir.StringAttr(op.attributes["sym_name"]).value == name
        )
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        PassManager.parse(BUFFERIZE).run(module.operation)
        make_pass("ted-convert-copies").run(module)  # the binding has no function that copies
        PassManager.parse(LOWER).run(module.operation)
        engine = ExecutionEngine(module, opt_level=0)
    given = [_argument(a, t) for a, t in zip(arrays, kind.inputs, strict=True)]
    makes = [_argument(np.empty_like(r), t) for r, t in zip(results, kind.results, strict=True)]

    class Results(ctypes.Structure):
        _fields_ = [(f"r{k}", type(m)) for k, m in enumerate(makes)]

    found = Results()
    packed = [ctypes.pointer(ctypes.pointer(found))]
    for value, one in zip(given, kind.inputs, strict=True):
        pointer: Any = ctypes.pointer(value)
        packed.append(ctypes.pointer(pointer) if _is_tensor(one) else pointer)
    engine.invoke(name, *packed)
    for k, result in enumerate(results):
        made = getattr(found, f"r{k}")
        if not _is_tensor(kind.results[k]):
            result[...] = made
            continue
        start = made.data + made.offset * result.itemsize
        memory = (ctypes.c_char * (result.size * result.itemsize)).from_address(start)
        strides = [n * result.itemsize for n in made.strides] if result.ndim else []
        flat: Any = np.frombuffer(memory, result.dtype)
        result[...] = np.lib.stride_tricks.as_strided(flat, result.shape, strides)


def _is_tensor(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType)


def _argument(array: Any, kind: ir.Type) -> Any:
    if _is_tensor(kind):
        return _descriptor(np.ascontiguousarray(array).reshape(array.shape))
    scalars: dict[str, Any] = {"f64": ctypes.c_double, "i64": ctypes.c_int64}
    return scalars[str(kind)](array.item())
