"""Two bf16 in one i32: their product with another pair, as a body and as an instruction.

The sum of `out + high(a) * high(b) + low(a) * low(b)` is in f32; the halves of one factor may come
as they are, each a bf16 by itself. As a body it is operations of
`arith`, of which every CPU has instructions; `multiply_add_pairs` is one instruction of those with
AVX512_BF16, which takes subnormal numbers for zero.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def product_of_pairs(a: Sequence[ir.Value], b: Sequence[ir.Value], out: ir.Value) -> ir.Value:
    """`out` with both products added, of a pair or of two halves each."""
    total = add(out, multiply(_high(a[-1]), _high(b[-1])))
    return add(total, multiply(_low(a[0]), _low(b[0])))


def _high(value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.BF16Type):
        return arith.ExtFOp(ir.F32Type.get(), value).result
    bits = arith.AndIOp(value, constant(value.type, _UPPER)).result
    return arith.BitcastOp(ir.F32Type.get(), bits).result


def _low(value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.BF16Type):
        return _high(value)
    bits = arith.ShLIOp(value, constant(value.type, BITS)).result
    return arith.BitcastOp(ir.F32Type.get(), bits).result


def factors_of_pairs(block: ir.Block) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The inputs with the lower halves that `product_of_pairs` multiplies, and with the upper ones.

    A pair has both. None for another body.
    """
    last = defining(block.operations[-1].operands[0], "arith.addf")
    first = None if last is None else defining(last.operands[0], "arith.addf")
    if last is None or first is None or first.operands[0] != block.arguments[-1]:
        return None
    low = _factors(last.operands[1], "arith.shli", block)
    high = _factors(first.operands[1], "arith.andi", block)
    return None if low is None or high is None else (low, high)


def _factors(product: ir.Value, halves: str, block: ir.Block) -> tuple[int, int] | None:
    """The inputs of a product of halves that an operation cuts out."""
    owner = defining(product, "arith.mulf")
    if owner is None:
        return None
    sources = [_source(v, halves) for v in owner.operands]
    arguments: list[ir.Value] = list(block.arguments)
    found = [arguments.index(v) for v in sources if v is not None and v in arguments]
    return (found[0], found[1]) if len(found) == 2 else None


def _source(value: ir.Value, halves: str) -> ir.Value | None:
    """The bf16 that is extended, or the pair of which a half is cut out."""
    extended = defining(value, "arith.extf")
    if extended is not None:
        source = extended.operands[0]
        return source if isinstance(source.type, ir.BF16Type) else None
    cast = defining(value, "arith.bitcast")
    cut = None if cast is None else defining(cast.operands[0], halves)
    return None if cut is None else cut.operands[0]


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
