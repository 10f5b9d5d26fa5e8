"""Threads that work on one result together: lanes of a warp by shuffles, warps by shared memory.

The order in which totals are joined is a fixed tree: lane k joins lane k xor 16, 8, 4, 2, 1, then
the warps of a block in order. All threads of a team get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.lowering.gpu.combining import Combiner
from ted.lowering.gpu.launching import Launch, only_if
from ted.mlir import arith, gpu, ir, memref
from ted.schedules.emit import constant

WARP = 32
Values = list[ir.Value]


def joined_in_warp(totals: Values, combiners: Sequence[Combiner], lanes: int) -> Values:
    """Totals of `lanes` neighbouring lanes, in each of them; all lanes of the warp take part."""
    offset = lanes // 2
    while offset:
        others = [shuffled(t, offset) for t in totals]
        totals = [c.join(t, o) for c, t, o in zip(combiners, totals, others, strict=True)]
        offset //= 2
    return totals


def joined_in_block(kernel: Launch, totals: Values, combiners: Sequence[Combiner]) -> Values:
    """Totals of all threads of the block, in each of them."""
    totals = joined_in_warp(totals, combiners, WARP)
    warps = kernel.threads // WARP
    if warps == 1:
        return totals
    memories = [kernel.shared([warps], c.kind) for c in combiners]
    lane = arith.RemUIOp(kernel.thread, constant(WARP)).result
    warp = arith.DivUIOp(kernel.thread, constant(WARP)).result
    first = arith.CmpIOp(arith.CmpIPredicate.eq, lane, constant(0)).result
    with only_if(first):
        for total, memory in zip(totals, memories, strict=True):
            memref.StoreOp(total, memory, [warp])
    gpu.BarrierOp()
    results = []
    for combiner, memory in zip(combiners, memories, strict=True):
        total = memref.LoadOp(memory, [constant(0)]).result
        for k in range(1, warps):
            total = combiner.join(total, memref.LoadOp(memory, [constant(k)]).result)
        results.append(total)
    return results


def shuffled(value: ir.Value, offset: int) -> ir.Value:
    """The value of the lane whose number differs in the bits of `offset`."""
    kind = value.type
    i32, i64 = (ir.IntegerType.get_signless(w) for w in (32, 64))
    if isinstance(kind, (ir.F16Type, ir.BF16Type)):
        i16 = ir.IntegerType.get_signless(16)
        bits = arith.ExtUIOp(i32, arith.BitcastOp(i16, value).result).result
        moved = arith.TruncIOp(i16, _shuffle(bits, offset)).result
        return arith.BitcastOp(kind, moved).result
    if isinstance(kind, ir.F64Type):
        return arith.BitcastOp(kind, shuffled(arith.BitcastOp(i64, value).result, offset)).result
    if kind == i64:
        low = _shuffle(arith.TruncIOp(i32, value).result, offset)
        shift = arith.ConstantOp(i64, 32).result
        high = _shuffle(arith.TruncIOp(i32, arith.ShRUIOp(value, shift).result).result, offset)
        above = arith.ShLIOp(arith.ExtUIOp(i64, high).result, shift).result
        return arith.OrIOp(above, arith.ExtUIOp(i64, low).result).result
    if isinstance(kind, ir.IntegerType) and kind.width < 32:
        return arith.TruncIOp(kind, _shuffle(arith.ExtUIOp(i32, value).result, offset)).result
    return _shuffle(value, offset)


def _shuffle(value: ir.Value, offset: int) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    distance, width = (arith.ConstantOp(i32, n).result for n in (offset, WARP))
    return gpu.ShuffleOp(value, distance, width, gpu.ShuffleMode.XOR).results[0]
