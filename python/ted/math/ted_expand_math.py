"""`math` operations -> polynomials in `arith`: the pass `ted-expand-math`.

Before: `%y = math.exp %x : f32`.  After: about twenty operations of `arith`, vectorised by LLVM
like any other; a call of the C library would keep its loop scalar. f16 and bf16 compute in f32;
erfc, inverse hyperbolic functions, f32 powers and remainders compute in f64. Powers, remainders,
sin, cos and tan of f64 stay for `ted-outline-math`, which comes first on CPUs, or for a library.
"""

from __future__ import annotations

from collections.abc import Callable

from ted.math import elementary_functions, hyperbolic, trigonometry
from ted.math.arithmetic import Num, element, like
from ted.math.powers import pow_f32
from ted.math.remainders import fmod
from ted.mlir import ir
from ted.mlir.queries import operations
from ted.records import dataclass

_MODULES = {
    elementary_functions: "exp exp2 expm1 log log2 log10 log1p tanh erf erfc rsqrt",
    trigonometry: "sin cos tan asin acos atan atan2",
    hyperbolic: "sinh cosh asinh acosh atanh cbrt",
}
FUNCTIONS: dict[str, Callable[..., Num]] = {
    "math.powf": pow_f32,
    "arith.remf": fmod,
    **{
        f"math.{name}": getattr(module, name)
        for module, names in _MODULES.items()
        for name in names.split()
    },
}
_IN_F64 = ("arith.remf", "math.erfc", "math.asinh", "math.acosh", "math.atanh")
_CALLS_IN_F64 = ("arith.remf", "math.powf", "math.sin", "math.cos", "math.tan")


@dataclass(frozen=True)
class TedExpandMath:
    """Replace every operation of the table that is on floats, scalar or vector."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in operations(module.operation, *FUNCTIONS):
            if not isinstance(op.results[0].type, ir.RankedTensorType | ir.UnrankedTensorType):
                _expand(op)


def _expand(op: ir.Operation) -> None:
    kind = op.results[0].type
    scalar = str(element(kind))
    if op.name in _CALLS_IN_F64 and scalar == "f64":
        return
    use_f64 = scalar == "f64" or op.name in _IN_F64
    expand(op, FUNCTIONS[op.name], ir.F64Type.get() if use_f64 else ir.F32Type.get())


def expand(op: ir.Operation, function: Callable[..., Num], scalar: ir.Type) -> None:
    """Replace an operation by a function of its operands, computed in a scalar type."""
    kind = op.results[0].type
    work = like(kind, scalar)
    with ir.InsertionPoint(op), op.location:
        arguments = [Num(v).to(work) for v in op.operands]
        result = function(*arguments).to(kind).value
    op.results[0].replace_all_uses_with(result)
    op.erase()
