"""Exact counts of a `ted.compute`: iteration points, weighted operations per point, bytes.

The weights are those of the scalar operations; index arithmetic, casts, constants and reads are
free, and so are conditions that read no data.  A combiner costs one operation a point, `set` none.
Bytes are those of the elements that an op touches: what it has to move, however it is run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ted.dialects.ted import ComputeOp
from ted.domain import bounds, sets
from ted.domain.budget import BudgetExhausted
from ted.domain.counting import Count, count, count_points
from ted.domain.sizes import numbers
from ted.ir.dtypes import BY_MLIR
from ted.ir.operations import OPERATIONS
from ted.mlir import ir
from ted.transforms.compute_sets import Access, ComputeSets, to_isl

# The ops of arith and math whose name is not that of the scalar operation of their weight.
_SPELLINGS = {
    "add": "addf addi", "sub": "subf subi", "mul": "mulf muli", "neg": "negf", "div": "divf remf",
    "floordiv": "floordivsi divsi divui ceildivsi ceildivui", "mod": "remsi remui",
    "maximum": "maximumf maxnumf maxsi maxui", "minimum": "minimumf minnumf minsi minui",
    "abs": "absf absi", "lt": "cmpf cmpi isnan isinf isfinite", "select": "select copysign",
    "and": "andi shli shrsi shrui", "or": "ori", "not": "xori", "pow": "powf fpowi",
    "round": "roundeven",
}  # fmt: skip
WEIGHTS = {
    **{name: row.weight for name, row in OPERATIONS.items() if row.rule == "same"},
    **{
        spelling: OPERATIONS[name].weight
        for name, spellings in _SPELLINGS.items()
        for spelling in spellings.split()
    },
    "fma": OPERATIONS["mul"].weight + OPERATIONS["add"].weight,
}


def point_weight(op: ComputeOp) -> int:
    """The weighted operations of one point: its body and its combiner."""
    return body_weight(op.body_block) + (op.combiner_name != "set")


def body_weight(block: ir.Block) -> int:
    """The weighted operations of one evaluation of a body."""
    data: set[ir.Value] = set(block.arguments)
    total = 0
    for view in block.operations:
        op = view.operation
        depends = op.name == "ted.load" or any(value in data for value in op.operands)
        if depends:
            data.update(op.results)
        dialect, _, name = op.name.partition(".")
        if dialect not in ("arith", "math") or name not in WEIGHTS:
            continue
        result = str(op.results[0].type)
        if result != "index" and (depends or result != "i1"):
            total += WEIGHTS[name]
    return total


def point_count(op_sets: ComputeSets) -> Count:
    """The number of points of box and domain."""
    return Count(math.prod(numbers(op_sets.box)), True) if op_sets.is_box else count(op_sets.domain)


def moved_bytes(op_sets: ComputeSets) -> Count:
    """The sizes of the elements that an op reads or writes, each once; of data ones, a bound."""
    accesses: dict[ir.Value, list[Access]] = {}
    op = op_sets.op
    for value, access in zip(op.inputs, op_sets.reads, strict=True):
        accesses.setdefault(value, []).append(access)
    touched = [(value, _touched(known)) for value, known in accesses.items()]
    touched += [(value, _touched([op_sets.write])) for value in op.results]
    at_data = {
        view.operation.operands[0]
        for view in op.body_block.operations
        if view.operation.name == "ted.load"
    }
    points = point_count(op_sets).points
    touched += [
        (value, Count(min(points, _elements(value)), False)) for value in at_data - {*accesses}
    ]
    total = sum(found.points * _element_bytes(value) for value, found in touched)
    return Count(total, all(found.exact for _, found in touched))


def _touched(accesses: Sequence[Access]) -> Count:
    """The number of different elements of one tensor that accesses touch."""
    size = math.prod(numbers(accesses[0].shape))
    if any(None in access.subscripts for access in accesses):
        return Count(size, False)
    try:
        found = [bounds.image(a.points, _index(a)) for a in accesses]
        union = found[0]
        for other in found[1:]:
            union = union.union(other)
        return Count(count_points(union.coalesce()), True)
    except BudgetExhausted:
        return Count(size, False)


def _index(access: Access) -> list[Any]:
    known = [s for s in access.subscripts if s is not None]
    return to_isl(known, sets.rank_of(access.points))


def _elements(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)


def _element_bytes(value: ir.Value) -> int:
    return max(BY_MLIR[str(ir.RankedTensorType(value.type).element_type)].bits // 8, 1)
