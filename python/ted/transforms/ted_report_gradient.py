"""Say what a function costs and which of its equations scatter: the pass `ted-report-gradient`.

Everything is recomputed from the IR as it stands.  For each `ted.compute`: gather or scatter with
the reason, whether parallel points are proved to write disjoint elements, exact numbers of points
and of weighted operations, the bytes of the elements that it reads or writes, and how many points
are needed for what the function returns (`demanded_points.py`).  For a function that returns
results and then gradients, what gradients cost and move for each operation and byte of the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ted.dialects.ted import ScanOp
from ted.domain.budget import BudgetExhausted
from ted.domain.collisions import are_writes_disjoint
from ted.domain.counting import count
from ted.errors import PassFailed
from ted.ir import from_ops
from ted.mlir import ir
from ted.mlir.attributes import string
from ted.mlir.locations import user_name
from ted.mlir.queries import symbol_name
from ted.records import dataclass
from ted.transforms.compute_sets import ComputeSets, to_isl
from ted.transforms.demanded_points import demanded_points
from ted.transforms.gradient_report import EquationReport, GradientReport
from ted.transforms.operation_count import moved_bytes, point_count, point_weight
from ted.transforms.ted_check_bounds import TedCheckBounds


@dataclass(frozen=True)
class TedReportGradient:
    """Print the report of every function as comments before the IR; change nothing.

    `results`: how many of a function's results are not gradients.  `json`: print JSON instead.
    `max_ratio`: fail where the gradients cost more than so many times the results.
    Before: a function with a `ted.compute` named C
    After: `// C: add, gather, disjoint, 120 operations at 60 points, 480 bytes (model.py:41)`
    """

    results: int = 0
    json: bool = False
    max_ratio: float = math.inf

    def run(self, module: ir.Module) -> None:
        """Print one report a function.

        Raises: PassFailed above `max_ratio`, when it is asked for without `results`, and for more
        of these than there are; VerifyError for an access outside its tensor.
        """
        if not self.max_ratio > 0:
            raise PassFailed(
                f"ted-report-gradient: max-ratio must be positive, got {self.max_ratio}"
            )
        if self.max_ratio < math.inf and not self.results:
            raise PassFailed(
                "ted-report-gradient: max-ratio needs results=N, the number of results that are "
                "not gradients, got 0"
            )
        known = functions(module)
        most = max((len(_returned(op)) for op in known.values()), default=-1)
        if self.results > most:
            raise PassFailed(
                f"ted-report-gradient: results={self.results} of a function with a body are no "
                f"gradients, got {list(known)} with {max(most, 0)} at most"
            )
        TedCheckBounds().run(module)
        for name in known:
            report = report_function(module, name, self.results)
            text = report.json() if self.json else str(report)
            print("\n".join(f"// {line}" for line in text.splitlines()), flush=True)
            if report.ratio is not None and report.ratio > self.max_ratio:
                raise PassFailed(
                    f"ted-report-gradient: gradients of @{name} must cost at most "
                    f"{self.max_ratio:g} times its results, got {report.ratio:.4g} times "
                    f"({report.gradient} and {report.primal} operations)"
                )


def functions(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions of a module that have a body, by name."""
    found = from_ops.functions(module)
    return {symbol_name(op): op for op in found}


def _returned(function: ir.Operation) -> list[ir.Value]:
    """The results of a function with a body."""
    block = function.regions[0].blocks[0]
    return list(block.operations[len(block.operations) - 1].operation.operands)


def report_function(module: ir.Module, function: str = "main", results: int = 0) -> GradientReport:
    """The report of one function whose first `results` results are not gradients.

    Raises: PassFailed when there is no such function.
    """
    found = functions(module)
    if function not in found:
        known = ", ".join(found) or "none"
        raise PassFailed(f"ted-report-gradient: a function of {known}, got {function}")
    with module.context:
        return GradientReport(function, tuple(_equations(found, function, results)))


def _equations(
    known: dict[str, ir.Operation], function: str, results: int, callers: tuple[str, ...] = ()
) -> Iterator[EquationReport]:
    if function in callers:
        raise PassFailed(
            f"ted-report-gradient: functions must not call themselves, got @{function}"
        )
    blocks = known[function].regions[0].blocks
    operations = [view.operation for block in blocks for view in block.operations]
    primal = _needed(_returned(known[function])[:results])
    demanded = demanded_points(operations)
    for op in operations:
        if op.name == "ted.compute":
            yield _report(op, op in primal, demanded[op])
        elif op.name == "ted.scan":
            scan: ScanOp = op.opview
            yield from (_report(one.operation, op in primal) for one, _ in scan.writers())
        elif op.name == "func.call":
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            if callee in known:
                inner = results if op in primal else 0
                yield from _equations(known, callee, inner, (*callers, function))


def _needed(values: Sequence[ir.Value]) -> set[ir.Operation]:
    """The ops that values depend on; the tensors that a body captures included."""
    needed: set[ir.Operation] = set()
    stack = list(values)
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, ir.Block) or owner.operation in needed:
            continue
        op = owner.operation
        needed.add(op)
        op.walk(partial(_add_operands, stack))  # what bodies capture
    return needed


def _add_operands(values: list[ir.Value], op: ir.Operation) -> ir.WalkResult:
    values.extend(op.operands)
    return ir.WalkResult.ADVANCE


def _report(op: ir.Operation, primal: bool, demanded: Any | None = None) -> EquationReport:
    """One equation, of a recurrence where it is not known which of its points are demanded."""
    op_sets = ComputeSets(op.opview)
    reason = _scatter_reason(op_sets)
    points, exact = point_count(op_sets)
    needed = points
    if demanded is not None and not op_sets.domain.plain_is_equal(demanded):
        needed = min(points, count(demanded).points)
    place = op_sets.place
    return EquationReport(
        name=user_name(op.location) or "equation",
        place="" if place is None else str(place),
        form="scatter" if reason else "gather",
        reason=reason,
        parallel=len(op_sets.parallel),
        disjoint=_is_disjoint(op_sets),
        combiner=op_sets.op.combiner_name,
        points=points,
        operations=points * point_weight(op_sets.op),
        exact=exact,
        bytes=moved_bytes(op_sets).points,
        needed=needed,
        primal=primal,
        recurrent=demanded is None,
    )


def _scatter_reason(op_sets: ComputeSets) -> str:
    """Why an op is in scatter form; empty for a gather."""
    write = op_sets.write
    reduced = set(range(len(op_sets.box))) - set(op_sets.parallel)
    used = sorted({d for s in write.subscripts if s is not None for d in s.dims} & reduced)
    is_data = None in write.subscripts
    if not used and not is_data:
        return ""
    dims = ", ".join(f"d{d}" for d in used)
    default = "an index is data" if is_data else f"the write depends on reduction dims {dims}"
    return string(op_sets.op.operation, "ted.scatter_reason", default)


def _is_disjoint(op_sets: ComputeSets) -> bool:
    """Whether different parallel points are proved to write different elements."""
    known = [s for s in op_sets.write.subscripts if s is not None]
    if {s.as_dim for s in known} >= set(op_sets.parallel):
        return True
    index = to_isl(known, len(op_sets.box))
    try:
        return are_writes_disjoint(op_sets.domain, index, len(op_sets.parallel))
    except BudgetExhausted:
        return False
