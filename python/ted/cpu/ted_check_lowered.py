"""A lowered module -> the same, or an error that names what was left: `ted-check-lowered`.

Before: LLVM operations, and perhaps a call of `memrefCopy`.  After: the same, or CompileError.

Translating an operation outside the LLVM dialect ends the process, and calling an unresolved symbol
jumps to address 0; both must be found before.
"""

from __future__ import annotations

from ted.codegen.splitting import ELSEWHERE
from ted.errors import CompileError
from ted.math.narrow_floats import is_of_narrow
from ted.mlir import ir
from ted.mlir.queries import symbol_name
from ted.records import dataclass

# What libted_runtime, the C library and the mathematical library provide.
KNOWN_SYMBOLS = frozenset(
    {
        "ted_index_error", "ted_loop_turn", "ted_parallel_for", "ted_nanoseconds", "ted_small_met",
        "_mlir_memref_to_llvm_alloc", "_mlir_memref_to_llvm_aligned_alloc",
        "_mlir_memref_to_llvm_free", "malloc", "aligned_alloc", "free", "memcpy", "memset",
        "memmove",
    }
)  # fmt: skip
LIBM = frozenset(
    {
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
        "pow", "cbrt", "sqrt", "fmod", "floor", "ceil", "round", "roundeven", "trunc", "rint",
        "fma",
    }
)  # fmt: skip
# Instructions for f16, and how its bits get there: `ted-store-halves-as-bits`.
_OF_HALVES = ("llvm.bitcast", "llvm.fptrunc")


@dataclass(frozen=True)
class TedCheckLowered:
    """Raise CompileError unless only LLVM operations and known symbols are left."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: CompileError naming the operations or symbols that are left.
        """
        left, halves = _left(module)
        if left:
            raise CompileError(f"lowering: operations outside the LLVM dialect, got {left}")
        if halves:
            raise CompileError(
                f"lowering: 16-bit floats are moved and converted only, got {halves}"
            )
        unknown = sorted(set(_declared(module)) - KNOWN_SYMBOLS - LIBM - {f"{n}f" for n in LIBM})
        if unknown:
            raise CompileError(f"lowering: calls of symbols that nothing defines, got {unknown}")


def _left(module: ir.Module) -> tuple[list[str], list[str]]:
    """Operations of other dialects, and those that make 16-bit floats and are no conversion."""
    foreign: set[str] = set()
    halves: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        if not name.startswith("llvm.") and name != "builtin.module":
            foreign.add(name)
        elif name not in _OF_HALVES:
            for value in op.results:
                if is_of_narrow(value.type):
                    halves.add(name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return sorted(foreign), sorted(halves)


def _declared(module: ir.Module) -> list[str]:
    return [
        symbol_name(op)
        for op in module.body.operations
        if op.operation.name == "llvm.func"
        and not len(op.operation.regions[0].blocks)
        and ELSEWHERE not in op.operation.attributes
    ]
