"""Two bf16 in one i32: their product with another pair, as a body and as an instruction.

The sum of `out + high(a) * high(b) + low(a) * low(b)` is in f32. As a body it is operations of
`arith`, of which every CPU has instructions; `multiply_add_pairs` is one instruction of those with
AVX512_BF16, which takes subnormal numbers for zero.
"""

from __future__ import annotations

from ted.mlir import arith, ir
from ted.mlir.queries import defining
from ted.mlir.scalars import constant
from ted.mlir.semiring import add, multiply

BITS = 16
_UPPER = -1 << BITS
INTRINSIC = "llvm.x86.avx512bf16.dpbf16ps.512"


def pair(low: ir.Value, high: ir.Value | None) -> ir.Value:
    """Two bf16 as one i32; zero above the last one."""
    lower = _extended(low)
    if high is None:
        return lower
    shift = constant(lower.type, BITS)
    return arith.OrIOp(lower, arith.ShLIOp(_extended(high), shift).result).result


def _extended(half: ir.Value) -> ir.Value:
    short, wide = (ir.IntegerType.get_signless(width) for width in (BITS, 2 * BITS))
    return arith.ExtUIOp(wide, arith.BitcastOp(short, half).result).result


def product_of_pairs(a: ir.Value, b: ir.Value, out: ir.Value) -> ir.Value:
    """`out` with both products added."""
    total = add(out, multiply(_high(a), _high(b)))
    return add(total, multiply(_low(a), _low(b)))


def _high(value: ir.Value) -> ir.Value:
    bits = arith.AndIOp(value, constant(value.type, _UPPER)).result
    return arith.BitcastOp(ir.F32Type.get(), bits).result


def _low(value: ir.Value) -> ir.Value:
    bits = arith.ShLIOp(value, constant(value.type, BITS)).result
    return arith.BitcastOp(ir.F32Type.get(), bits).result


def factors_of_pairs(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs a body of `product_of_pairs` multiplies; None for another body."""
    last = defining(block.operations[-1].operands[0], "arith.addf")
    first = None if last is None else defining(last.operands[0], "arith.addf")
    if last is None or first is None or first.operands[0] != block.arguments[-1]:
        return None
    low = _factors(last.operands[1], "arith.shli", block)
    high = _factors(first.operands[1], "arith.andi", block)
    return low if low == high else None


def _factors(product: ir.Value, halves: str, block: ir.Block) -> tuple[int, int] | None:
    """The inputs of a product of halves that an operation cuts out."""
    owner = defining(product, "arith.mulf")
    if owner is None:
        return None
    casts = [defining(v, "arith.bitcast") for v in owner.operands]
    cuts = [None if c is None else defining(c.operands[0], halves) for c in casts]
    arguments: list[ir.Value] = list(block.arguments)
    found = [arguments.index(c.operands[0]) for c in cuts if c and c.operands[0] in arguments]
    return (found[0], found[1]) if len(found) == 2 else None


def multiply_add_pairs(left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    """Vectors of 16 pairs, multiplied and added to 16 totals by one instruction."""
    kind = ir.VectorType.get([2 * ir.VectorType(left.type).shape[0]], ir.BF16Type.get())
    halves = [ir.Operation.create("llvm.bitcast", [kind], [v]).results[0] for v in (left, right)]
    attributes = {
        "intrin": ir.StringAttr.get(INTRINSIC),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([3, 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    return ir.Operation.create(
        "llvm.call_intrinsic", [total.type], [total, *halves], attributes=attributes
    ).results[0]
