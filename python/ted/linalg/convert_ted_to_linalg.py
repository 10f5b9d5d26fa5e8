"""`ted.compute` on tensors -> `linalg` and loops on tensors: the pass `convert-ted-to-linalg`.

Each equation becomes one subdomain (`subdomain.py`), and what the table in `strategies.py` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ted.linalg.initial_values import drop_unused_starts, number_starts, unshare_starts
from ted.linalg.padding import Paddings
from ted.linalg.scans import lower_scan
from ted.linalg.strategies import lower_equation
from ted.linalg.subdomain import from_compute
from ted.linalg.ted_check_sizes import check_is_static
from ted.mlir import ir
from ted.mlir.queries import operations
from ted.mlir.strategies import FORM, Choice, check_is_seen


@dataclass(frozen=True)
class ConvertTedToLinalg:
    """Replace every `ted.compute` by `linalg` operations or loops.

    Before: `"ted.compute"(%A, %B, %init) ({...}) {...}`
    After: `linalg.matmul ins(%A, %B) outs(%init)`
    """

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: ScheduleError for a `ted.form` that does not fit.
        """
        lower(module)


def lower(module: ir.Module) -> list[Choice | None]:
    """Rewrite the module; the rows of `equations(module)`, None for one without points.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    check_is_seen(module.operation, set(operations(module.operation, "ted.compute")), FORM)
    unshare_starts(module)
    for op in operations(module.operation, "ted.scan"):
        _check_sizes(op)
        with ir.InsertionPoint(op), op.location:
            _replace(op, lower_scan(op))
    for op in operations(module.operation, "ted.stop_gradient"):
        _replace(op, list(op.operands))
    paddings: dict[ir.Block, Paddings] = {}
    choices = []
    for op in equations(module):
        _check_sizes(op)
        shared = paddings.setdefault(op.block, Paddings())
        with ir.InsertionPoint(op), op.location:
            results, choice = lower_equation(from_compute(op), shared)
        choices.append(choice)
        _replace(op, results)
    drop_unused_starts(module)
    number_starts(module)
    return choices


def equations(module: ir.Module) -> list[ir.Operation]:
    """Every `ted.compute` that is no part of a step, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "ted.compute":
            found.append(op)
        return ir.WalkResult.SKIP if op.name == "ted.scan" else ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _check_sizes(op: ir.Operation) -> None:
    for result in op.results:
        if isinstance(result.type, ir.RankedTensorType):
            check_is_static(result)


def _replace(op: ir.Operation, results: Sequence[ir.Value]) -> None:
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
