"""Why the kernels of a program are what they are, for its user.

Before: the work on memrefs of a program
After:  y (model.py:41): reduction_by_teams, team = 32
          not reduction_by_columns: 64 results of 100 points go to teams
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.gpu.contractions import Contractions
from ted.gpu.strategies import OF_THE_HOST, Decision, decide, every
from ted.mlir import ir
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import functions
from ted.mlir.strategies import parameters
from ted.options import CompileOptions


def explained(module: ir.Module, options: CompileOptions) -> str:
    """The strategy of everything that computes, and why no other; nothing is built."""
    contractions = Contractions(module, options.machine.name, options.tf32)
    lines: list[str] = []
    for function in functions(module):
        block = function.entry_block
        decisions = decide(block, contractions, deterministic=options.deterministic)
        for decision in every(decisions):
            if decision.choice.row.name not in OF_THE_HOST:
                lines += _lines(decision)
    return "\n".join(lines)


def _lines(decision: Decision) -> Iterator[str]:
    op, choice = decision.site.op, decision.choice
    place = source_location(op.location)
    name = user_name(op.location) or op.name
    values = [f"{k} = {v}" for k, v in parameters(choice.plan).items()]
    where = "" if place is None else f" ({place})"
    yield f"{name}{where}: {', '.join([choice.row.name, *values])}"
    for row, reason in choice.declined:
        yield f"  not {row}: {reason}"
