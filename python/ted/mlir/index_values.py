"""What an index is as a value of IR: a linear form of other values, and its range.

Before: `%k = affine.apply (4 * %i + 1)`, in `scf.for %i = 0 to 8`      After: 4 * %i + 1; [1, 29]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from ted.domain import intervals
from ted.domain.intervals import Interval
from ted.domain.linear import Form, T
from ted.mlir import ir
from ted.mlir.affine_forms import linear
from ted.mlir.affine_ranges import range_within
from ted.mlir.queries import constant_of, defining

Range = tuple[int, int]
_FORMS: dict[str, Callable[[Form[Any], Form[Any]], Form[Any] | None]] = {
    "arith.addi": Form.__add__,
    "arith.subi": Form.__sub__,
    "arith.muli": Form.times,
}
_RANGES: dict[str, Callable[[Interval, Interval], Interval]] = {
    "arith.addi": intervals.add,
    "arith.subi": intervals.sub,
    "arith.muli": intervals.mul,
    "affine.apply": intervals.hull,
    "affine.max": intervals.maximum,
    "affine.min": intervals.minimum,
}


def form_of(value: ir.Value, leaf: Callable[[ir.Value], Form[T] | None]) -> Form[T] | None:
    """The form in what `leaf` makes of a value; None where it makes nothing, or none is linear."""
    known, op = constant_of(value), defining(value)
    found = Form[T](known) if known is not None else leaf(value)
    if found is not None or op is None or op.name not in (*_FORMS, "affine.apply"):
        return found
    parts = [form_of(operand, leaf) for operand in op.operands]
    if op.name in _FORMS:
        left, right = parts
        return None if left is None or right is None else _FORMS[op.name](left, right)
    amap = ir.AffineMapAttr(op.attributes["map"]).value
    form = linear(amap.results[0], amap.n_dims)
    found = {k: part for k, part in enumerate(parts) if part is not None}
    return None if form is None or form.dims - set(found) else form.compose(found)


def range_of(value: ir.Value, known: dict[ir.Value, Range | None] | None = None) -> Range | None:
    """Both ends included, from the loops around it; None if it is not known.

    What is found on the way is noted in `known`, and what is there already is believed.
    """
    known = {} if known is None else known
    if value not in known:
        known[value] = _found(value, known)
    return known[value]


def _found(value: ir.Value, known: dict[ir.Value, Range | None]) -> Range | None:
    number, op = constant_of(value), defining(value)
    if number is not None:
        return number, number
    if op is None:
        return _of_counter(value, known)
    if op.name not in _RANGES:
        return None
    operands = [range_of(o, known) for o in op.operands]
    ranges = [r for r in operands if r is not None]
    if len(ranges) < len(operands):
        return None
    low, high = reduce(_RANGES[op.name], _of_map(op, ranges) if "map" in op.attributes else ranges)
    return int(low), int(high)


def _of_map(op: ir.Operation, ranges: list[Range]) -> list[Interval]:
    amap = ir.AffineMapAttr(op.attributes["map"]).value
    return [range_within(e, ranges, amap.n_dims) for e in amap.results]


def _of_counter(value: ir.Value, known: dict[ir.Value, Range | None]) -> Range | None:
    block = value.owner
    assert isinstance(block, ir.Block), "a block argument"
    loop = block.owner.operation
    if loop.name != "scf.for" or value != block.arguments[0]:
        return None
    low, high = (range_of(bound, known) for bound in list(loop.operands)[:2])
    if low is None or high is None:
        return None
    return low[0], max(low[0], high[1] - 1)
