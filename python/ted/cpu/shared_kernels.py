"""Kernels that are equal but for numbers -> one that takes them: the end of `ted-outline-kernels`.

Before: `call @kernel_1(%a)`, `call @kernel_2(%b)`, which multiply by 1.0 and by 2.0
After: `call @kernel_3(%a, %one)`, `call @kernel_3(%b, %two)`

Loops of Python make such. Numbers that are added and multiplied alone: code is the same for any of
them, while an extremum or a quotient knows its constant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence

from ted.mlir import func, ir
from ted.mlir.queries import operations
from ted.mlir.scalars import constant_from

_NUMBER = re.compile(r"(?<= = arith\.constant )\S+(?= : f(?:32|64)$)", re.MULTILINE)
_SAME_CODE = ("arith.addf", "arith.subf", "arith.mulf")


def name_by_text(kernel: func.FuncOp, prefix: str, known: dict[str, str]) -> bool:
    """Name a function after its text; whether it is the first of it, by the names in `known`."""
    kernel.attributes["sym_name"] = ir.StringAttr.get("kernel")
    text = str(kernel.operation.get_asm(use_local_scope=True, assume_verified=True))
    is_new = text not in known
    name = known.setdefault(text, f"{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    kernel.attributes["sym_name"] = ir.StringAttr.get(name)
    return is_new


def share_kernels(module: ir.Module, prefix: str, known: dict[str, str]) -> None:
    """Make kernels that differ in numbers one; `known` has their names by their texts."""
    alike: dict[str, list[str]] = {}
    for text, name in known.items():
        alike.setdefault(_NUMBER.sub("", text), []).append(name)
    several = [names for names in alike.values() if len(names) > 1]
    if not several:
        return
    symbols, calls = ir.SymbolTable(module.operation), _calls(module)
    for names in several:
        groups: dict[tuple[ir.Attribute, ...], list[func.FuncOp]] = {}
        for name in names:
            kernel = symbols[name]
            assert isinstance(kernel, func.FuncOp), f"{name}: a kernel is a function"
            own = tuple(_value(op) for op in _numbers(kernel) if not _is_free(op))
            groups.setdefault(own, []).append(kernel)
        for kernels in groups.values():
            if len(kernels) > 1:
                _share(kernels, prefix, known, calls)


def _calls(module: ir.Module) -> dict[str, list[ir.Operation]]:
    """The calls of each function."""
    found: dict[str, list[ir.Operation]] = {}
    for call in operations(module.operation, "func.call"):
        callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
        found.setdefault(callee, []).append(call)
    return found


def _share(
    kernels: Sequence[func.FuncOp],
    prefix: str,
    known: dict[str, str],
    calls: Mapping[str, Sequence[ir.Operation]],
) -> None:
    """Make the numbers in which kernels differ arguments of the first, in place of the others."""
    first, *others = kernels
    called = [calls[kernel.name.value] for kernel in kernels]
    values = [[*map(_value, _numbers(kernel))] for kernel in kernels]
    differing = [k for k, found in enumerate(zip(*values, strict=True)) if len({*found}) > 1]
    _take([_numbers(first)[k] for k in differing], first)
    is_new = name_by_text(first, prefix, known)
    for users, found in zip(called, values, strict=True):
        for call in users:
            _call(first.name.value, call, [found[k] for k in differing])
    for kernel in others if is_new else kernels:
        kernel.erase()


def _take(numbers: Collection[ir.Operation], kernel: func.FuncOp) -> None:
    """Make numbers of a kernel its last arguments."""
    block, kind = kernel.entry_block, kernel.type
    for op in numbers:
        value = op.results[0]
        value.replace_all_uses_with(block.add_argument(value.type, op.location))
        op.erase()
    types = [argument.type for argument in block.arguments]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, kind.results))
    kernel.arg_attrs = ir.ArrayAttr.get([*kernel.arg_attrs, *[ir.DictAttr.get({})] * len(numbers)])


def _call(name: str, call: ir.Operation, values: Sequence[ir.FloatAttr]) -> None:
    """Call a kernel, with numbers, in place of what has been called."""
    types = [result.type for result in call.results]
    with call.location, ir.InsertionPoint(call):
        numbers = [constant_from(value.type, value) for value in values]
        new = func.CallOp(types, name, [*call.operands, *numbers]).operation
    for old, result in zip(call.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    call.erase()


def _numbers(kernel: func.FuncOp) -> list[ir.Operation]:
    """The constants of a kernel that a call can take, in the order of its text."""
    found = operations(kernel, "arith.constant")
    return [op for op in found if isinstance(op.results[0].type, (ir.F32Type, ir.F64Type))]


def _value(number: ir.Operation) -> ir.FloatAttr:
    return ir.FloatAttr(number.attributes["value"])


def _is_free(number: ir.Operation) -> bool:
    return all(use.owner.operation.name in _SAME_CODE for use in number.results[0].uses)
