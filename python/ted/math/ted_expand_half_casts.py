"""Conversions of f16 and bf16 -> integer arithmetic on their bits: `ted-expand-half-casts`.

Before: `%y = arith.truncf %x : f32 to bf16`.
After: five integer operations on the bits of x, `arith.bitcast %r : i16 to bf16`.

LLVM would call a function for each element where the processor has no instruction, and where it has
one for bf16, that takes subnormal numbers for zero: results are the same on every machine. f16 from
and to f32 has instructions on every row but `sse2`, which do the same, and stays.
"""

from __future__ import annotations

from ted.machine import DEFAULT, named_cpu
from ted.math.arithmetic import Num, element, like
from ted.math.half_casts import (
    from_bf16_bits,
    from_f16_bits,
    to_bf16_bits,
    to_f16_bits,
    to_odd_f32,
)
from ted.math.narrow_floats import is_of_narrow
from ted.mlir import arith, ir
from ted.mlir.queries import operations
from ted.records import dataclass

_FROM_INTEGERS = ("arith.sitofp", "arith.uitofp")
_TO_INTEGERS = ("arith.fptosi", "arith.fptoui")
_OF_FLOATS = ("arith.extf", "arith.truncf")


@dataclass(frozen=True)
class TedExpandHalfCasts:
    """Rewrite every conversion, scalar or vector; `cpu` names the CPU's row."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        has_halves = named_cpu(self.cpu).converts_halves
        found = operations(module.operation, *_FROM_INTEGERS, *_TO_INTEGERS, *_OF_FLOATS)
        if not any(is_of_narrow(v.type) for op in found for v in (*op.operands, *op.results)):
            return
        for op in found:
            if op.name not in _OF_FLOATS:
                _through_f32(op)
        for op in operations(module.operation, *_OF_FLOATS):
            narrow = op.operands[0] if op.name == "arith.extf" else op.results[0]
            if is_of_narrow(narrow.type):
                with ir.InsertionPoint(op), op.location:
                    _expand(op, element(narrow.type), has_halves)


def _through_f32(op: ir.Operation) -> None:
    """Convert between integers and f32, and that from or to 16 bits."""
    operand, result = op.operands[0], op.results[0]
    with ir.InsertionPoint.after(op), op.location:
        if op.name in _FROM_INTEGERS and is_of_narrow(result.type):
            kind = result.type
            result.set_type(like(kind, ir.F32Type.get()))
            cast = arith.TruncFOp(kind, result)
            result.replace_all_uses_except(cast.result, cast.operation)
    with ir.InsertionPoint(op), op.location:
        if op.name in _TO_INTEGERS and is_of_narrow(operand.type):
            op.operands[0] = arith.ExtFOp(like(operand.type, ir.F32Type.get()), operand).result


def _expand(op: ir.Operation, narrow: ir.Type, has_halves: bool) -> None:
    keeps = has_halves and isinstance(narrow, ir.F16Type)
    convert = _extended if op.name == "arith.extf" else _truncated
    result = convert(Num(op.operands[0]), op.results[0].type, keeps)
    op.results[0].replace_all_uses_with(result.value)
    op.erase()


def _extended(x: Num, kind: ir.Type, keeps: bool) -> Num:
    if keeps:
        wide = Num(arith.ExtFOp(like(kind, ir.F32Type.get()), x.value).result)
    else:
        bits = x.from_bits(like(kind, ir.IntegerType.get_signless(16)))
        is_f16 = isinstance(element(x.value.type), ir.F16Type)
        wide = from_f16_bits(bits) if is_f16 else from_bf16_bits(bits)
    return wide.to(kind)


def _truncated(x: Num, kind: ir.Type, keeps: bool) -> Num:
    if isinstance(element(x.value.type), ir.F64Type):
        x = to_odd_f32(x)
    if keeps:
        return x.to(kind)
    is_f16 = isinstance(element(kind), ir.F16Type)
    return (to_f16_bits(x) if is_f16 else to_bf16_bits(x)).from_bits(kind)
