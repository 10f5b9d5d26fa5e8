"""`ted-choose-kernels`: the row of the table of strategies that each operation gets, as attributes.

Before: `linalg.generic {...}`
After: `linalg.generic {ted.strategy = {name = "points", lanes = 4}}`

Nothing is built: `ted-map-to-gpu` does what the attributes say. One that is there before stays.
"""

from __future__ import annotations

from ted.gpu.conditions import settle_conditions
from ted.gpu.contractions import Contractions
from ted.gpu.strategies import OF_THE_HOST, decide_function, every
from ted.machine import DEFAULT_GPU
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.mlir.strategies import annotate
from ted.records import dataclass


@dataclass(frozen=True)
class TedChooseKernels:
    """Write `ted.strategy`; the options are those of `ted-map-to-gpu`."""

    chip: str = DEFAULT_GPU
    deterministic: bool = True
    tf32: bool = False

    def run(self, module: ir.Module) -> None:
        """Annotate every function."""
        contractions = Contractions(module, self.chip, self.tf32)
        for function in functions(module):
            settle_conditions(function)
            decisions = decide_function(function, contractions, deterministic=self.deterministic)
            for decision in every(decisions):
                if decision.choice.row.name not in OF_THE_HOST:
                    annotate(decision.site.op, decision.choice)
