"""f16 and bf16 values -> i16: the pass `ted-store-halves-as-bits`, on the LLVM dialect.

Before: `%x = llvm.load %p : !llvm.ptr -> bf16`, and what moves x on (selects, shuffles, branches).
After: `%x = llvm.load %p : !llvm.ptr -> i16`, ... : instruction selection never sees the type.

Bodies compute in f32 and conversions are integer arithmetic, so 16-bit floats are only moved. The
conversions of f16 that processors have instructions for get a bitcast in front or behind.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from ted.errors import CompileError
from ted.math.arithmetic import element, like
from ted.math.narrow_floats import is_of_narrow
from ted.mlir import ir, llvm
from ted.records import dataclass

PASS = "ted-store-halves-as-bits"


@dataclass(frozen=True)
class TedStoreHalvesAsBits:
    """Give every value, constant, address and stack slot of 16-bit floats the type of its bits."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        conversions: list[ir.Operation] = []
        for block in _blocks(module):
            _retype(block.arguments)
            for view in block.operations:
                op = view.operation
                if op.name in _AROUND_CONVERSIONS:
                    conversions.append(op)
                elif op.name in _WITH_TYPES:
                    _WITH_TYPES[op.name](op)
                if op.name != "llvm.fptrunc":
                    _retype(op.results)
        for op in conversions:  # when every operand has its new type
            _AROUND_CONVERSIONS[op.name](op)


def _blocks(module: ir.Module) -> Iterator[ir.Block]:
    for function in module.body.operations:
        for region in function.operation.regions:
            yield from region.blocks


def _retype(values: Sequence[ir.Value]) -> None:
    for value in values:
        if is_of_narrow(value.type):
            value.set_type(_as_bits(value.type))


def _as_bits(kind: ir.Type) -> ir.Type:
    return like(kind, ir.IntegerType.get_signless(16))


def _constant(op: ir.Operation) -> None:
    kind = op.results[0].type
    if not is_of_narrow(kind):
        return
    value = op.attributes["value"]
    if not isinstance(kind, ir.VectorType):
        op.attributes["value"] = _bits(ir.FloatAttr(value))
        return
    numbers = ir.DenseElementsAttr(value)
    if not numbers.is_splat:
        raise CompileError(f"{PASS}: vectors of 16-bit floats have one number, got {value}")
    bits = _bits(ir.FloatAttr(numbers.get_splat_value()))
    op.attributes["value"] = ir.DenseElementsAttr.get_splat(_as_bits(kind), bits)


def _bits(number: ir.FloatAttr) -> ir.IntegerAttr:
    """The bits of a constant: those of f16, or the upper half of f32."""
    if isinstance(number.type, ir.F16Type):
        bits = struct.unpack("<h", struct.pack("<e", number.value))[0]
    else:
        bits = struct.unpack("<hh", struct.pack("<f", number.value))[1]
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(16), bits)


def _memory(op: ir.Operation) -> None:
    kind = ir.TypeAttr(op.attributes["elem_type"]).value
    if is_of_narrow(kind):
        op.attributes["elem_type"] = ir.TypeAttr.get(_as_bits(kind))


def _same_bits(op: ir.Operation) -> None:
    if op.operands[0].type == op.results[0].type:
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()


def _extension(op: ir.Operation) -> None:
    source = op.operands[0]
    if isinstance(element(source.type), ir.IntegerType):
        with ir.InsertionPoint(op), op.location:
            half = like(source.type, ir.F16Type.get())
            op.operands[0] = llvm.BitcastOp(half, source).result


def _intrinsic(op: ir.Operation) -> None:
    """Instructions on vectors of bf16 take them as they are named; registers have no type."""
    with ir.InsertionPoint(op), op.location:
        for k, value in enumerate(list(op.operands)):
            kind = element(value.type)
            if isinstance(kind, ir.IntegerType) and ir.IntegerType(kind).width == 16:
                op.operands[k] = llvm.BitcastOp(like(value.type, ir.BF16Type.get()), value).result


def _truncation(op: ir.Operation) -> None:
    half = op.results[0]
    if is_of_narrow(half.type):
        with ir.InsertionPoint.after(op), op.location:
            cast = llvm.BitcastOp(_as_bits(half.type), half)
        half.replace_all_uses_except(cast.result, cast.operation)


_WITH_TYPES = {
    "llvm.mlir.constant": _constant,
    "llvm.getelementptr": _memory,
    "llvm.alloca": _memory,
}
_AROUND_CONVERSIONS = {
    "llvm.bitcast": _same_bits,
    "llvm.fpext": _extension,
    "llvm.fptrunc": _truncation,
    "llvm.call_intrinsic": _intrinsic,
}
