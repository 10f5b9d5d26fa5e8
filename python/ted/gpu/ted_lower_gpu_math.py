"""`math` operations with an instruction -> LLVM intrinsics: the pass `ted-lower-gpu-math`.

Before: `math.sqrt %x : f32`      After: `llvm.call_intrinsic "llvm.sqrt.f32"(%x)`

Left to `convert-gpu-to-nvvm` they would become calls of a device library, where the square root is
an approximation and a fused multiply-add is no instruction. What `ted-expand-math` leaves (powers,
remainders, sines of f64) still becomes such calls.
"""

from __future__ import annotations

from ted.mlir import arith, ir
from ted.mlir.queries import operations
from ted.records import dataclass

# Operation -> intrinsic.
INTRINSICS = {
    "math.absf": "fabs", "math.ceil": "ceil", "math.copysign": "copysign", "math.floor": "floor",
    "math.fma": "fma", "math.round": "round", "math.roundeven": "roundeven", "math.sqrt": "sqrt",
    "math.trunc": "trunc", "math.ctpop": "ctpop", "math.absi": "abs",
    "math.ctlz": "ctlz", "math.cttz": "cttz",
}  # fmt: skip
_IN_F32 = ("f16", "bf16")
_POISON_FLAG = ("math.absi", "math.ctlz", "math.cttz")


@dataclass(frozen=True)
class TedLowerGpuMath:
    """Replace the operations of the table inside kernels."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every GPU module."""
        for kernels in operations(module.operation, "gpu.module"):
            for op in operations(kernels, *INTRINSICS):
                with ir.InsertionPoint(op), op.location:
                    op.results[0].replace_all_uses_with(_intrinsic(op))
                op.erase()


def _intrinsic(op: ir.Operation) -> ir.Value:
    kind = op.results[0].type
    operands: list[ir.Value] = list(op.operands)
    if kind == ir.IndexType.get():  # no type of LLVM
        i64 = ir.IntegerType.get_signless(64)
        numbers: list[ir.Value] = [arith.IndexCastOp(i64, o).result for o in operands]
        return arith.IndexCastOp(kind, _call(op.name, i64, numbers)).result
    if str(kind) not in _IN_F32:
        return _call(op.name, kind, operands)
    f32 = ir.F32Type.get()
    wide: list[ir.Value] = [arith.ExtFOp(f32, o).result for o in operands]
    return arith.TruncFOp(kind, _call(op.name, f32, wide)).result


def _call(name: str, kind: ir.Type, operands: list[ir.Value]) -> ir.Value:
    if name in _POISON_FLAG:
        i1 = ir.IntegerType.get_signless(1)
        operands = [*operands, arith.ConstantOp(i1, 0).result]
    intrinsic = ir.StringAttr.get(f"llvm.{INTRINSICS[name]}.{kind}")
    return ir.Operation.create(
        "llvm.call_intrinsic",
        results=[kind],
        operands=operands,
        attributes={
            "intrin": intrinsic,
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        },
    ).results[0]
