"""Kernels in the LLVM dialect -> LLVM IR text, with the fix-ups that a GPU module needs on the way.

What `convert-gpu-to-nvvm` leaves is nearly right for the code generator; four things are not:

* `gpu.dynamic_shared_memory` becomes an internal array of no elements, which LLVM 22 prints as one
  byte of *static* memory: it would overlap whatever lies there. It must be external, and aligned
  for what may be put into it (1024: a swizzled tile of the tensor memory accelerator).
* Workgroup attributions get their element's alignment, but `cp.async` and `ldmatrix` move 16 bytes.
* A tensor map is passed by value. The type is lost on the way, so the kernel names such arguments:
  `gpu.func @k(%map: !llvm.ptr {llvm.align = 64 : i64}, ...) kernel attributes {ted.tensor_maps =
  array<i64: 0>}`; they become `.param .align 64 .b8 k_param_0[128]`.
* Operations of NVVM that are spelled as inline PTX must have been expanded.

The binding's translation ends the process when it meets an operation that it cannot translate, so
anything left of other dialects is an error before.
"""

from __future__ import annotations

from typing import Any, cast

from ted.errors import CompileError
from ted.mlir import ir, llvm, scalar_value
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import symbol_name

DYNAMIC_SHARED = "__dynamic_shmem__"  # prefix of the symbols that convert-gpu-to-nvvm makes
TENSOR_MAPS = "ted.tensor_maps"
_SHARED_SPACE = 3
_TRANSLATABLE = ("llvm.", "nvvm.", "rocdl.")


def mlir_gpu_module_to_llvm_text(module: ir.Module | ir.Operation | ir.OpView) -> str:
    """Translate the kernels of a `gpu.module`, or of all in a `builtin.module`, to one LLVM module.

    The bodies are in the LLVM and NVVM dialects, as these passes leave them:

        builtin.module(convert-nvgpu-to-nvvm, gpu.module(expand-strided-metadata, lower-affine,
          convert-scf-to-cf, convert-vector-to-llvm,
          convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1}, reconcile-unrealized-casts))

    The module itself is not changed; whatever else it holds, a host function say, is left out.
    Symbols that several kernel modules share must be equal: name kernels apart. Then
    `compile_to_ptx(mlir_gpu_module_to_llvm_text(module), "sm_90a")`.

    Raises: CompileError for an operation that cannot be translated, a symbol with two definitions,
    a `ted.tensor_maps` that names no pointer.
    """
    operation = module.operation
    with operation.context, ir.Location.unknown():
        modules = gpu_modules(operation)
        for one in modules:
            _check_translatable(one)
        kernels = _one_module(modules)
        pass_manager("builtin.module(convert-nvvm-to-llvm)", kernels.context).run(kernels.operation)
        for op in kernels.body.operations:
            if op.operation.name == "llvm.mlir.global":
                _fix_shared_memory(op.operation)
            elif op.operation.name == "llvm.func":
                _fix_tensor_maps(op.operation)
        return cast("Any", llvm).translate_module_to_llvmir(kernels.operation)


def gpu_modules(operation: ir.Operation) -> list[ir.Operation]:
    """The kernel modules in a module, or the operation itself if it is one.

    Raises: CompileError when there are none.
    """
    if operation.name == "gpu.module":
        return [operation]
    body = operation.regions[0].blocks[0]
    found = [op.operation for op in body if op.operation.name == "gpu.module"]
    if not found:
        raise CompileError("gpu: a module must hold a gpu.module, got none")
    return found


def _one_module(modules: list[ir.Operation]) -> ir.Module:
    """A new module with the contents of all; what is equal in several comes once."""
    merged = ir.Module.create()
    seen: dict[str, str] = {}
    with ir.InsertionPoint(merged.body):
        for op in (op.operation for m in modules for op in m.regions[0].blocks[0]):
            symbol = _symbol(op)
            if symbol in seen:
                if seen[symbol] != str(op):
                    raise CompileError(
                        f"gpu: symbols of kernel modules must be distinct or equal, got two "
                        f"definitions of {symbol!r}"
                    )
                continue
            seen |= {symbol: str(op)} if symbol else {}
            op.clone()
    return merged


def _symbol(op: ir.Operation) -> str:
    if "sym_name" not in op.attributes:
        return ""
    return symbol_name(op)


def _check_translatable(module: ir.Operation) -> None:
    left: dict[str, ir.Location] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not op.name.startswith(_TRANSLATABLE) and op != module:
            left.setdefault(op.name, op.location)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    if left:
        places = ", ".join(f"{name} at {where}" for name, where in sorted(left.items()))
        raise CompileError(
            f"gpu: a kernel must be in the LLVM dialect to be translated, got {places}; lower it "
            "before, or expand what convert-gpu-to-nvvm has no pattern for"
        )


def _fix_shared_memory(variable: ir.Operation) -> None:
    attributes = variable.attributes
    if "addr_space" not in attributes or scalar_value(attributes["addr_space"]) != _SHARED_SPACE:
        return
    i64 = ir.IntegerType.get_signless(64)
    if _symbol(variable).startswith(DYNAMIC_SHARED):
        attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
        attributes["alignment"] = ir.IntegerAttr.get(i64, 1024)
    elif "alignment" not in attributes:
        attributes["alignment"] = ir.IntegerAttr.get(i64, 16)


def _fix_tensor_maps(function: ir.Operation) -> None:
    attributes = function.attributes
    if TENSOR_MAPS not in attributes:
        return
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    arguments: list[dict[str, ir.Attribute]] = [{} for _ in types]
    if "arg_attrs" in attributes:
        arguments = [
            {named.name: named.attr for named in ir.DictAttr(a)}
            for a in ir.ArrayAttr(attributes["arg_attrs"])
        ]
    by_value = ir.TypeAttr.get(ir.Type.parse("!llvm.array<128 x i8>"))
    i64 = ir.IntegerType.get_signless(64)
    for k in ir.DenseI64ArrayAttr(attributes[TENSOR_MAPS]):
        if not 0 <= k < len(types) or str(types[k]) != "!llvm.ptr":
            raise CompileError(
                f"gpu: {TENSOR_MAPS} must name arguments of type !llvm.ptr, got {k} of "
                f"{_symbol(function)!r} ({', '.join(map(str, types))})"
            )
        arguments[k] |= {
            "llvm.byval": by_value,
            "llvm.align": ir.IntegerAttr.get(i64, 64),
            "nvvm.grid_constant": ir.UnitAttr.get(),
        }
    attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in arguments])
