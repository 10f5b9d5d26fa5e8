"""Waits and votes of a warp -> what AMD GPUs have: the pass `ted-lower-warps-to-rocdl`.

Before: `nvvm.match.sync any %mask, %key`      After: 31 `gpu.shuffle xor`, a bit of the mask each

Our kernels count on 32 lanes that work together; there, a wave of 64 lanes is two such groups. So
masks of lanes come from shuffles inside of a group, not from votes of the wave. A wait needs no
instruction, since lanes of a wave run together; it keeps the compiler from moving memory accesses.
"""

from __future__ import annotations

from ted.mlir import arith, gpu, ir
from ted.mlir.queries import operations
from ted.records import dataclass

LANES = 32
_WAIT, _MATCH, _VOTE = "nvvm.bar.warp.sync", "nvvm.match.sync", "nvvm.vote.sync"
_ACQUIRE_AND_RELEASE = 6  # LLVM's number of the ordering


@dataclass(frozen=True)
class TedLowerWarpsToRocdl:
    """Replace the operations of NVIDIA's warps inside kernels."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every GPU module."""
        for kernels in operations(module.operation, "gpu.module"):
            for op in operations(kernels, _WAIT, _MATCH, _VOTE):
                with ir.InsertionPoint(op), op.location:
                    if op.name == _WAIT:
                        _wait()
                    else:
                        op.results[0].replace_all_uses_with(_lanes(op))
                op.erase()


def _wait() -> None:
    ordering = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ACQUIRE_AND_RELEASE)
    scope = ir.StringAttr.get("wavefront")
    ir.Operation.create("llvm.fence", attributes={"ordering": ordering, "syncscope": scope})
    ir.Operation.create("rocdl.wave.barrier")


def _lanes(op: ir.Operation) -> ir.Value:
    """The lanes of the group that have the same key, or that vote for it."""
    i32 = ir.IntegerType.get_signless(32)
    value = op.operands[1]
    wanted = value
    if op.name == _VOTE:
        value = arith.ExtUIOp(i32, value).result
        wanted = _number(1)
    thread = arith.IndexCastOp(i32, gpu.ThreadIdOp(gpu.Dimension.x).result).result
    lane = arith.AndIOp(thread, _number(LANES - 1)).result
    found = _bit_if_equal(value, wanted, lane)
    for distance in range(1, LANES):
        other = gpu.ShuffleOp(
            value, _number(distance), _number(LANES), gpu.ShuffleMode.XOR
        ).results[0]
        place = arith.XOrIOp(lane, _number(distance)).result
        found = arith.OrIOp(found, _bit_if_equal(other, wanted, place)).result
    return found


def _bit_if_equal(value: ir.Value, wanted: ir.Value, place: ir.Value) -> ir.Value:
    is_equal = arith.CmpIOp(arith.CmpIPredicate.eq, value, wanted).result
    bit = arith.ShLIOp(_number(1), place).result
    return arith.SelectOp(is_equal, bit, _number(0)).result


def _number(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IntegerType.get_signless(32), value).result
