"""Exact counts of a `ted.compute`: iteration points, weighted operations per point, bytes.

The weights are those of the scalar operations; index arithmetic, casts, constants and reads are
free, and so are conditions that read no data.  A combiner costs one operation a point, `set` none.
"""

from __future__ import annotations

import math

from ted.dialects.ted import ComputeOp
from ted.domain.counting import Count, count
from ted.domain.sizes import numbers
from ted.errors import DomainError
from ted.ir.dtypes import BY_MLIR
from ted.ir.operations import OPERATIONS
from ted.mlir import ir
from ted.transforms.compute_sets import ComputeSets

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


def tensor_bytes(op: ComputeOp) -> int:
    """The sizes of the distinct tensors that an op reads, and of those that it writes."""
    loads = [
        view.operation.operands[0]
        for view in op.body_block.operations
        if view.operation.name == "ted.load"
    ]
    return sum(_size(value) for value in {*op.inputs, *loads}) + sum(map(_size, op.results))


def _size(value: ir.Value) -> int:
    ranked = ir.RankedTensorType(value.type)
    if not ranked.has_static_shape:
        raise DomainError(
            f"bytes: extents must be numbers here, got {ranked}; ted-specialise-sizes gives sizes "
            "their values"
        )
    bits = BY_MLIR[str(ranked.element_type)].bits
    return math.prod(ranked.shape) * max(bits // 8, 1)
