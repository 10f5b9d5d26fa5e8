"""`ted.compute` on tensors -> `linalg` and loops on tensors: the pass `convert-ted-to-linalg`.

Each equation becomes one subdomain (`subdomain.py`), which takes the first road that fits:
contractions -> named operations on padded operands (`contraction_forms.py`); constraints -> smaller
boxes without them (`cells.py`, `parts.py`); whole boxes -> `linalg.generic`; the rest -> loop nests
with exact bounds (`loops.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.linalg import strategies
from ted.linalg.initial_values import drop_unused_starts, number_starts, unshare_starts
from ted.linalg.padding import Paddings
from ted.linalg.scans import lower_scan
from ted.linalg.subdomain import from_compute
from ted.linalg.ted_check_sizes import check_is_static
from ted.mlir import ir


@dataclass(frozen=True)
class ConvertTedToLinalg:
    """Replace every `ted.compute` by `linalg` operations or loops.

    Before: `"ted.compute"(%A, %B, %init) ({...}) {...}`
    After: `linalg.matmul ins(%A, %B) outs(%init)`
    """

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        unshare_starts(module)
        paddings: dict[ir.Block, Paddings] = {}
        for op in _found(module, "ted.scan"):
            _convert(op, Paddings())
        for op in _found(module, "ted.compute", "ted.stop_gradient"):
            _convert(op, paddings.setdefault(op.block, Paddings()))
        drop_unused_starts(module)
        number_starts(module)


def _found(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The ops of these names, none inside another."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _convert(op: ir.Operation, paddings: Paddings) -> None:
    for result in op.results:
        if isinstance(result.type, ir.RankedTensorType):
            check_is_static(result)
    if op.name == "ted.stop_gradient":
        results = list(op.operands)
    elif op.name == "ted.scan":
        with ir.InsertionPoint(op), op.location:
            results = lower_scan(op)
    else:
        with ir.InsertionPoint(op), op.location:
            results = strategies.lower_subdomain(from_compute(op), paddings)
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
