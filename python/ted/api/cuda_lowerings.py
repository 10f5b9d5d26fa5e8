"""How a program is lowered for GPUs, to compile it and to look at it.

Before: a program      After: a module of ted ops, `f.ir("work")`, `f.explain()`
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ted.api.cuda_compiling import note_donations
from ted.api.lowerings import Lowering
from ted.api.programs import Program
from ted.codegen.manifest_rules import MOST_ELEMENTS
from ted.errors import CompileError
from ted.gpu.pipeline import ROWS_OF, gpu_stages
from ted.gpu.strategies import explained
from ted.ir.equations import System, topological
from ted.ir.pipelines import run_stages
from ted.ir.recurrences import UNBOUNDED
from ted.ir.to_ops import to_module
from ted.linalg.kernel_strategies import decide, explained_kernels
from ted.linalg.pipeline import EQUATIONS
from ted.linalg.ted_choose_forms import explained_forms
from ted.machine import named_cpu
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.options import CompileOptions


class CudaLowering(Lowering):
    """A program, and the machine and precision of its options.

    Raises: CompileError for a tensor of more than 2**31 - 1 elements, and a loop without a bound.
    """

    def __init__(self, program: Program, options: CompileOptions) -> None:
        super().__init__(program, gpu_stages(options))
        self._options = options

    def _written(self, system: System, donated: Mapping[int, int]) -> ir.Module:
        _check_sizes(system)
        module = to_module(system)
        note_donations(module, donated)
        return module

    def _explained(self, module: ir.Module) -> str:
        forms = explained_forms(run_stages(module, self.stages, EQUATIONS.name))
        decided = (decide(f.entry_block, named_cpu(ROWS_OF), gpu=True) for f in functions(module))
        groups = "\n".join(map(explained_kernels, decided))
        kernels = run_stages(module, self.stages, "work", after=EQUATIONS.name)
        return "\n\n".join(filter(None, [forms, groups, explained(kernels, self._options)]))


def _check_sizes(system: System) -> None:
    for node in topological(system.outputs):
        if node.time is not None and node.shape[node.time] == UNBOUNDED:
            raise CompileError(
                "while_loop: without max_steps a loop runs on CPUs, got a GPU; give max_steps=",
                node.location,
            )
        if prod(node.shape) > MOST_ELEMENTS:
            raise CompileError(
                f"compile: a cuda tensor has at most 2^31 - 1 elements, got {node} with "
                f"{prod(node.shape)}; split it",
                node.location,
            )
