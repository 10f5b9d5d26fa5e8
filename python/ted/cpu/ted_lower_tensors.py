"""Linalg on tensors, as other tools write it -> the same on memory: the pass `ted-lower-tensors`.

Before: `linalg.matmul ins(%A, %B : tensor<8x8xf32>, tensor<8x8xf32>) outs(%C)`
After: `linalg.generic {ted.contraction} ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c)`

Equations are on memory already (`ted-emit-kernels`), so that nothing is left to do where all of a
module was equations.
"""

from __future__ import annotations

from ted.ir.pass_driver import run_pipeline
from ted.machine import DEFAULT, named_cpu
from ted.mlir import func, ir
from ted.mlir.queries import functions, terminator
from ted.records import dataclass

_STEPS = (
    "convert-ted-to-linalg{rows=CHAINS ahead=true branches=true}",
    "ted-pass-destinations",
    "func.func(canonicalize,cse)",
    "ted-schedule-contractions{cpu=CPU}",
    "ted-fuse-rows{cpu=CPU}",
    "ted-bufferize",
    "ted-convert-foralls",
    "canonicalize,cse",
)


@dataclass(frozen=True)
class TedLowerTensors:
    """The pass. `cpu` is a row of `ted.machine.CPUS`."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: PassFailed for what has no memory, ScheduleError for an attribute that does not fit.
        """
        if not (_has_tensors(module.operation) or any(map(_has_results, functions(module)))):
            return
        cpu = named_cpu(self.cpu)
        steps = (s.replace("CPU", cpu.name).replace("CHAINS", str(cpu.chains)) for s in _STEPS)
        run_pipeline(module, f"builtin.module({','.join(steps)})")


def _has_results(function: func.FuncOp) -> bool:
    """Whether a function returns something, which kernels on memory do not."""
    return bool(len(terminator(function.entry_block).operands))


def _has_tensors(root: ir.Operation) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        values = [*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)]
        found = found or any(isinstance(v.type, ir.RankedTensorType) for v in values)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    root.walk(visit)
    return found
