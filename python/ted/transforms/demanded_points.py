"""What has to be computed for the results of a function: demanded sets, propagated backward.

    C[i, j] += A[i, r] * B[r, j]      S[i, j] = C[i, j] for i < 2
    S: all    C: i < 2, so points i < 2    A: i < 2, all r    B: all

From the results back, each op is asked for the elements of its tensors that someone reads; the
points that write those read elements of other tensors.  Where a set is not known (an index that is
data, a recurrence, a call, or too much integer arithmetic) everything is demanded, which is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.domain import bounds, sets
from ted.domain.budget import BudgetExhausted
from ted.domain.sizes import numbers
from ted.mlir import ir
from ted.transforms.compute_sets import Access, ComputeSets, symbols_around, to_isl

Demand = dict[ir.Value, Any]  # a tensor -> the isl set of its elements that someone wants


def demanded_points(operations: Sequence[ir.Operation]) -> dict[ir.Operation, Any]:
    """Every `ted.compute` of a block, the last op of which returns -> the points that are needed.

    An op that is missing is needed altogether.
    """
    *inner, last = operations
    wanted: Demand = {}
    points: dict[ir.Operation, Any] = {}
    _want_all(wanted, last.operands)
    for op in reversed(inner):
        if not any(result in wanted for result in op.results):
            continue
        if op.name == "ted.compute":
            points[op] = _points(ComputeSets(op.opview), wanted)
        else:
            _want_all(wanted, op.operands)
    for op in inner:
        if op.name == "ted.compute" and op not in points:
            points[op] = sets.empty(len(ComputeSets(op.opview).box))
    return points


def _points(op_sets: ComputeSets, wanted: Demand) -> Any:
    """The points of an op that write what is wanted of it; what they read is wanted, too."""
    op = op_sets.op
    asked = [wanted[result] for result in op.results if result in wanted]
    elements = asked[0] if len(asked) == 1 else asked[0].union(asked[1])
    points = _writing(op_sets, elements)
    for access, value in zip(op_sets.reads, op.inputs, strict=True):
        read = _read(access, points)
        _want_all(wanted, [value]) if read is None else _want(wanted, value, read)
    captured = [
        view.operation.operands[0]
        for view in op.body_block.operations
        if view.operation.name == "ted.load"
    ]
    _want_all(wanted, captured)
    for init in op.inits:
        _want(wanted, init, elements)
    return points


def _writing(op_sets: ComputeSets, elements: Any) -> Any:
    """The points that write some of the elements."""
    write = op_sets.write
    if None in write.subscripts:
        return op_sets.domain
    try:
        return bounds.writing(op_sets.domain, _indices(write, len(op_sets.box)), elements)
    except BudgetExhausted:
        return op_sets.domain


def _read(access: Access, points: Any) -> Any | None:
    """The elements that are read at some points; None where that is not known."""
    if None in access.subscripts:
        return None
    made = points.intersect(access.points)
    try:
        return bounds.image(made, _indices(access, sets.rank_of(made)))
    except BudgetExhausted:
        return None


def _indices(access: Access, rank: int) -> list[Any]:
    return to_isl([s for s in access.subscripts if s is not None], rank)


def _want(wanted: Demand, value: ir.Value, elements: Any) -> None:
    before = wanted.get(value)
    if before is None:
        wanted[value] = elements
    elif not (before.plain_is_equal(elements) or elements.plain_is_equal(before)):
        wanted[value] = before.union(elements).coalesce()


def _want_all(wanted: Demand, values: Sequence[ir.Value]) -> None:
    for value in values:
        if isinstance(value.type, ir.RankedTensorType):
            owner = value.owner
            inside = owner.owner if isinstance(owner, ir.Block) else owner
            shape = symbols_around(inside.operation).shape(ir.RankedTensorType(value.type))
            wanted[value] = sets.box(numbers(shape))
