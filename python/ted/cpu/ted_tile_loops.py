"""`ted-tile-loops`: linalg on memrefs whose row of the table says so -> loops around tiles.

Before: `linalg.generic {ted.contraction}`, and generics that read across rows
After: loops around register tiles, and around square tiles turned round in registers

What is for plain loops stays as it is.
"""

from __future__ import annotations

from ted.cpu.strategies import build, decide
from ted.machine import DEFAULT, named_cpu
from ted.mlir import ir
from ted.records import dataclass


@dataclass(frozen=True)
class TedTileLoops:
    """The pass. `cpu` is a row of `ted.machine.CPUS`."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite every operation that has tiles."""
        build(list(decide(module, named_cpu(self.cpu))))
