"""`ted-choose-forms`: what each equation and each recurrence becomes in linalg, as attributes.

Before: `"ted.compute"(%A, %B, %init)`, a sum of products
After: the same with `ted.form = {name = "contraction", boxes = 1}`

Nothing is lowered: `ted-emit-kernels` and `convert-ted-to-linalg` do what the attributes say. One
that is there before stays. What is part of a step is decided at each of its times, and has none
unless somebody wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.linalg.convert_ted_to_linalg import decided, lower
from ted.linalg.initial_values import unshare_starts
from ted.linalg.subdomain import from_compute
from ted.mlir import ir
from ted.mlir.strategies import FORM, Choice, annotate, described
from ted.records import dataclass


@dataclass(frozen=True)
class TedChooseForms:
    """Write `ted.form`; `rows` are those of `convert-ted-to-linalg`."""

    rows: int = 0

    def run(self, module: ir.Module) -> None:
        """Annotate every recurrence, and every equation outside of one.

        Raises: ScheduleError for a `ted.form` that does not fit.
        """
        for op, choice in decide(module, self.rows):
            annotate(op, choice, FORM)


def decide(module: ir.Module, rows: int = 0) -> list[tuple[ir.Operation, Choice]]:
    """The row of each recurrence and equation with points; a copy of the module is lowered.

    What several tensors start from is one equation for each from here on, as it is lowered.
    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    unshare_starts(module)
    text = module.operation.get_asm(enable_debug_info=True)
    # Rows are those of CPUs, which branch.
    chosen = lower(ir.Module.parse(str(text), module.context), rows, branches=rows > 0)
    pairs = zip(decided(module), chosen, strict=True)
    return [(op, choice) for op, choice in pairs if choice is not None]


def explained_forms(module: ir.Module, rows: int = 0) -> str:
    """The form of what recurs, sums or has conditions, and why no other."""
    return "\n".join(line for op, choice in decide(module, rows) for line in _lines(op, choice))


def _lines(op: ir.Operation, choice: Choice) -> Iterator[str]:
    if op.name == "ted.scan":
        yield from described(op, choice)
        return
    subdomain = from_compute(op)
    conditions = [*subdomain.domain, *(c for r in subdomain.reads if r for c in r.guard)]
    if subdomain.reduction_dims or conditions:
        yield from described(op, choice)
