"""What changes no maximum -> a number that LLVM does not know: `ted-hide-identities`.

Before: `%v = llvm.select %c, %x, %low`, `%m = llvm.intr.maximum(%total, %v)`, %low a constant -inf
After:  the same with `%low` out of an empty `llvm.inline_asm` at the function's entry

LLVM knows that -inf leaves the total as it is, makes `select %c, maximum(%total, %x), %total` of
both, and then vectorises no such loop: a masked maximum took thirty times as long as a plain one.
It does so for the total of a masked sum as well, but there it knows the form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from ted.mlir import ir, llvm
from ted.mlir.queries import defining, operations
from ted.records import dataclass

# What has a least or greatest value: whether it keeps the greater one, of numbers with a sign.
_KEEPS = {
    "llvm.intr.maximum": (True, True), "llvm.intr.maxnum": (True, True),
    "llvm.intr.minimum": (False, True), "llvm.intr.minnum": (False, True),
    "llvm.intr.smax": (True, True), "llvm.intr.smin": (False, True),
    "llvm.intr.umax": (True, False), "llvm.intr.umin": (False, False),
}  # fmt: skip
_WORDS = {"f32": "i32", "f64": "i64", "i32": "i32", "i64": "i64"}  # whole registers


@dataclass(frozen=True)
class TedHideIdentities:
    """Rewrite the constants of choices that a maximum or minimum takes."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function with code."""
        for op in [o.operation for o in module.body.operations]:
            if op.name == "llvm.func" and len(op.regions[0].blocks):
                _rewrite(op)


def _rewrite(function: ir.Operation) -> None:
    hidden: dict[tuple[str, str], ir.Value] = {}
    for choice, k, constant in list(_identities(function)):
        key = str(constant.results[0].type), str(constant.attributes["value"])
        if key not in hidden:
            hidden[key] = _hidden(function, constant)
        choice.operands[k] = hidden[key]


def _identities(function: ir.Operation) -> Iterator[tuple[ir.Operation, int, ir.Operation]]:
    """Choices that a maximum or minimum takes, and which operand of them leaves it as it is."""
    for op in operations(function, *_KEEPS):
        choices = [c for v in op.operands if (c := defining(v, "llvm.select")) is not None]
        for choice, k in product(choices, (1, 2)):
            constant = defining(choice.operands[k], "llvm.mlir.constant")
            if constant is not None and _is_identity(op.name, constant):
                yield choice, k, constant


def _is_identity(name: str, constant: ir.Operation) -> bool:
    keeps_greater, has_sign = _KEEPS[name]
    kind, value = constant.results[0].type, constant.attributes["value"]
    if str(kind) not in _WORDS:
        return False
    if isinstance(value, ir.FloatAttr):
        return value.value == (-math.inf if keeps_greater else math.inf)
    width = ir.IntegerType(kind).width
    number = ir.IntegerAttr(value).value % (1 << width)
    least = 1 << (width - 1) if has_sign else 0
    return number == (least if keeps_greater else (least - 1) % (1 << width))


def _hidden(function: ir.Operation, constant: ir.Operation) -> ir.Value:
    """The constant through a register, at the entry."""
    kind = constant.results[0].type
    word = ir.Type.parse(_WORDS[str(kind)])
    asm = {"asm_string": ir.StringAttr.get(""), "constraints": ir.StringAttr.get("=r,0")}
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), constant.location:
        value = _as(word, constant.clone().operation.results[0])
        passed = ir.Operation.create("llvm.inline_asm", [word], [value], {**asm})
        return _as(kind, passed.results[0])


def _as(kind: ir.Type, value: ir.Value) -> ir.Value:
    return value if value.type == kind else llvm.BitcastOp(kind, value).result
