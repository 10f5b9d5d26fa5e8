"""`math` operations -> polynomials in `arith`: the pass `ted-expand-math`.

Before: `%y = math.exp %x : f32`.  After: about twenty operations of `arith`, vectorised by LLVM
like any other; a call of the C library would keep its loop scalar. f16 and bf16 compute in f32;
erfc and f32 powers compute in f64. Trigonometric, hyperbolic and inverse functions, and f64 powers,
stay calls of the C library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ted.lowering import elementary_functions as functions
from ted.lowering.numbers_ir import Num, element, like
from ted.lowering.powers import pow_f32
from ted.mlir import ir
from ted.schedules.walking import operations

_UNARY: dict[str, Callable[[Num], Num]] = {
    f"math.{name}": getattr(functions, name)
    for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf", "erfc", "rsqrt",
    )
}  # fmt: skip
_IN_F64 = ("math.erfc",)


@dataclass(frozen=True)
class TedExpandMath:
    """Replace every operation of the table that is on floats, scalar or vector."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in operations(module.operation, *_UNARY, "math.powf"):
            _expand(op)


def _expand(op: ir.Operation) -> None:
    kind = op.results[0].type
    scalar = str(element(kind))
    if op.name == "math.powf" and scalar == "f64":
        return
    use_f64 = scalar == "f64" or op.name in _IN_F64
    work = like(kind, ir.F64Type.get() if use_f64 else ir.F32Type.get())
    with ir.InsertionPoint(op), op.location:
        arguments = [Num(v).to(work) for v in op.operands]
        function = pow_f32 if op.name == "math.powf" else _UNARY[op.name]
        result = function(*arguments).to(kind).value
    op.results[0].replace_all_uses_with(result)
    op.erase()
