"""`ted.compute` on tensors -> `linalg` and loops on tensors: the pass `convert-ted-to-linalg`.

Each equation becomes one subdomain (`subdomain.py`), and what the table in `strategies.py` says.
"""

from __future__ import annotations

from ted.linalg.branches import lower_with_branches
from ted.linalg.initial_values import drop_unused_starts, number_starts, unshare_starts
from ted.linalg.leaving import declare_condition
from ted.linalg.padding import Paddings
from ted.linalg.scan_bodies import is_inside_scan
from ted.linalg.scan_strategies import lower_scan
from ted.linalg.signs import drop_signs
from ted.linalg.strategies import lower_equation
from ted.linalg.subdomain import TESTED_AHEAD, from_compute
from ted.linalg.ted_check_sizes import check_is_static
from ted.mlir import ir
from ted.mlir.queries import operations, replace_op
from ted.mlir.strategies import FORM, Choice, check_is_seen
from ted.records import dataclass


@dataclass(frozen=True)
class ConvertTedToLinalg:
    """Replace every `ted.compute` by `linalg` operations or loops.

    Before: `"ted.compute"(%A, %B, %init) ({...}) {...}`
    After: `linalg.matmul ins(%A, %B) outs(%init)`

    `rows` of a recurrence along which nothing is read are looped over at once, 0 for all. `ahead`:
    indices that are data are tested before the points of an equation, not at each. `branches`: what
    is the same choice at every point is a test around the loop.
    """

    rows: int = 0
    ahead: bool = False
    branches: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: ScheduleError for a `ted.form` that does not fit.
        """
        for op in operations(module.operation, "ted.compute") if self.ahead else ():
            op.attributes[TESTED_AHEAD] = ir.UnitAttr.get()
        lower(module, self.rows, self.branches)


def lower(module: ir.Module, rows: int = 0, branches: bool = False) -> list[Choice | None]:
    """Rewrite the module; the rows of its table for each of `decided(module)`, None for no points.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    drop_signs(module)
    seen = {*operations(module.operation, "ted.compute"), *operations(module.operation, "ted.scan")}
    check_is_seen(module.operation, seen, FORM)
    unshare_starts(module)
    choices: list[Choice | None] = []
    for op in outermost_scans(module):
        _check_sizes(op)
        choices.append(lower_scan(op, rows, branches))
    for op in operations(module.operation, "ted.stop_gradient"):
        replace_op(op, list(op.operands))
    paddings: dict[ir.Block, Paddings] = {}
    for op in _equations(module):
        _check_sizes(op)
        shared = paddings.setdefault(op.block, Paddings(scattered=branches))
        with ir.InsertionPoint(op), op.location:
            if branches:
                results, choice = lower_with_branches(op, shared)
            else:
                results, choice = lower_equation(from_compute(op), shared)
        choices.append(choice)
        replace_op(op, results)
    declare_condition(module.operation)
    drop_unused_starts(module)
    number_starts(module)
    return choices


def decided(module: ir.Module) -> list[ir.Operation]:
    """Every recurrence, then every equation that is no part of a step, in order."""
    return [*outermost_scans(module), *_equations(module)]


def outermost_scans(module: ir.Module) -> list[ir.Operation]:
    """The scans that are in no step of another one."""
    found = operations(module.operation, "ted.scan")
    return [op for op in found if not is_inside_scan(op)]


def _equations(module: ir.Module) -> list[ir.Operation]:
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
