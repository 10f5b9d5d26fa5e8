"""Work on memrefs -> kernels: the pass `ted-map-to-gpu`.

Before: `linalg.generic ins(%a : memref<1024xf32>) outs(%b : memref<1024xf32>) {...}`
After: `gpu.launch blocks(%i) in (4) threads(%t) in (256)` around the code of one point.

Every operation of the host function that computes becomes one kernel or a few, as its row of
`ted.gpu.strategies` says; loops over time stay on the host. What is left there is allocations,
loops with known bounds, launches and copies.
"""

from __future__ import annotations

from ted.gpu.conditions import settle_conditions
from ted.gpu.contractions import Contractions
from ted.gpu.strategies import build, decide_function
from ted.machine import DEFAULT_GPU
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.records import dataclass


@dataclass(frozen=True)
class TedMapToGpu:
    """Turn everything that computes into kernels; `chip` chooses those of contractions.

    Writes at data are made in the order of the program, unless they need not be `deterministic`.
    With `tf32` contractions of f32 round their factors to tf32, for tensor cores.
    """

    chip: str = DEFAULT_GPU
    deterministic: bool = True
    tf32: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        contractions = Contractions(module, self.chip, self.tf32)
        for function in functions(module):
            settle_conditions(function)
            build(decide_function(function, contractions, deterministic=self.deterministic))
