"""Why the kernels of a program are what they are, for its user.

Before: the work on memrefs of a program
After:  y, linalg.generic (model.py:41): reduction_by_teams, team = 32
          not reduction_by_columns: 64 results of 100 points go to teams
"""

from __future__ import annotations

from ted.gpu.contractions import Contractions
from ted.gpu.strategies import OF_THE_HOST, decide_function, every
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.mlir.strategies import described
from ted.options import CompileOptions


def explained(module: ir.Module, options: CompileOptions) -> str:
    """The strategy of everything that computes, and why no other; nothing is built."""
    contractions = Contractions(module, options.machine.name, options.tf32)
    lines: list[str] = []
    for function in functions(module):
        decisions = decide_function(function, contractions, deterministic=options.deterministic)
        for site, choice in ((d.site, d.choice) for d in every(decisions)):
            if choice.row.name not in OF_THE_HOST:
                lines += described(site.op, choice)
    return "\n".join(lines)
