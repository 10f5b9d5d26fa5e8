"""`ted-choose-loops`: the row of the table of strategies that each operation gets, as attributes.

Before: `linalg.generic {ted.contraction}` on memrefs
After: `linalg.generic {ted.contraction, ted.strategy = {name = "register_tiles", ...}}`

Nothing is built: `ted-tile-loops` does what the attributes say. One that is there before stays.
"""

from __future__ import annotations

from ted.cpu.strategies import decide
from ted.machine import DEFAULT, named_cpu
from ted.mlir import ir
from ted.mlir.strategies import annotate
from ted.records import dataclass


@dataclass(frozen=True)
class TedChooseLoops:
    """The pass. `cpu` is a row of `ted.machine.CPUS`."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Annotate every operation of linalg on memrefs."""
        for decision in list(decide(module, named_cpu(self.cpu))):
            annotate(decision.site.op, decision.choice)
