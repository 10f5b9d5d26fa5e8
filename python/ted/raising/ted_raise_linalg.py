"""Turn functions of linalg, tensor and scf into functions of equations.

Before: %0 = linalg.matmul ins(%A, %B : ...) outs(%C : ...) -> tensor<16x8xf32>
After:  %0 = "ted.compute"(%A, %B, %C) ({ mulf; ted.yield }) {combiner = "add", ...}

So `ted-differentiate` and all that follows work on programs of torch-mlir, StableHLO tools and
others.  Named operations become generic ones first, by the pass of MLIR for it; a call becomes the
equations of its callee.
"""

from __future__ import annotations

from ted.frontend.systems import unique_names
from ted.ir.from_ops import functions
from ted.ir.rewriting import has_equations, replace_function
from ted.mlir import ir
from ted.mlir.queries import symbol_name
from ted.raising.modules import systems
from ted.records import dataclass


@dataclass(frozen=True)
class TedRaiseLinalg:
    """Every function of linalg, tensor and scf, as equations."""

    def run(self, module: ir.Module) -> None:
        """Raise the functions of a module.

        Raises: VerifyError for an op, a type or a size that has no equations.
        """
        with module.context:
            raised = systems(module)
            for function in list(functions(module)):
                if not has_equations(function):
                    system = raised[symbol_name(function)]
                    unique_names(system)
                    replace_function(function, system)
