"""Products of 16 x 8 and 8 x 8 matrices in f64, by the instructions that a chip has.

Fragments are those of tf32 at this size: register 2 h + r of A holds rows 8 r .. of the half h of
k, register h of B that half, and register 2 r + c of the sums column c of the lane's two. From
compute capability 9.0 on one instruction takes them whole, before, four of 8 x 8 x 4 do: row r
takes the halves of k in turn. (Source: PTX ISA, matrix fragments for mma.m8n8k4 and mma.m16n8k8.)
"""

from __future__ import annotations

from itertools import product

from ted.gpu.templates.kernels import element_type
from ted.machine import compute_capability
from ted.mlir import ir, nvgpu, nvvm, vector

WHOLE = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {{{}}}, {{{}}}, {{{}}}, {{{}}};"


def multiply(chip: str, a: ir.Value, b: ir.Value, sums: ir.Value) -> ir.Value:
    """`sums` + A B of one fragment each: vectors of 4 x 1, 2 x 1 and 2 x 2."""
    if compute_capability(chip) < (9, 0):
        return _in_quarters(a, b, sums)
    taken = [_item(a, k, 0) for k in range(4)] + [_item(b, k, 0) for k in range(2)]
    held = [_item(sums, row, column) for row, column in product(range(2), range(2))]
    # The sums that come in are behind the results in the instruction's list.
    groups = (range(4), range(4, 8), range(8, 10), range(10, 14))
    text = WHOLE.format(*(", ".join(f"${k}" for k in group) for group in groups))
    kinds = [element_type("f64")] * 4
    found = nvvm.InlinePtxOp(kinds, [*taken, *held], [], text)
    return vector.FromElementsOp(sums.type, list(found.writeOnlyArgs)).result


def _in_quarters(a: ir.Value, b: ir.Value, sums: ir.Value) -> ir.Value:
    single = ir.VectorType.get([1, 1], element_type("f64"))
    pair = ir.VectorType.get([1, 2], element_type("f64"))
    for row in range(2):
        total = vector.ExtractStridedSliceOp(pair, sums, [row, 0], [1, 2], [1, 1]).result
        for half in range(2):
            left, right = (
                vector.ExtractStridedSliceOp(single, values, [place, 0], [1, 1], [1, 1]).result
                for values, place in ((a, 2 * half + row), (b, half))
            )
            total = nvgpu.MmaSyncOp(pair, left, right, total, [8, 8, 4]).result
        sums = vector.InsertStridedSliceOp(total, sums, [row, 0], [1, 1]).result
    return sums


def _item(values: ir.Value, row: int, column: int) -> ir.Value:
    return vector.ExtractOp(values, [], [row, column]).result
