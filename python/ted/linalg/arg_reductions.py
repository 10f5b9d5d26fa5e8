"""Long argmax and argmin -> a maximum, then the least index that attains it.

Before: one reduction over pairs (value, index), whose selects LLVM does not vectorise.
After: `linalg.generic` for the maximum; one for `min(j where x[j] == max else NONE)`; one that puts
the init back where no point beats it. Ties and NaN come out as in `combiners.py`: the first wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ted.linalg.generics import (
    body_values,
    build_generic,
    emit_generic,
    filled,
    plain_reads,
    shape_operands,
)
from ted.linalg.loop_order import loop_order
from ted.linalg.slices import Operand, WrittenSlice
from ted.linalg.subdomain import Subdomain
from ted.math.narrow_floats import computed
from ted.mlir import arith, ir
from ted.mlir.queries import constant_of
from ted.mlir.scalars import constant, element_type, is_float, shape_of
from ted.mlir.storage import empty, saved

SHORT = 16  # fewer points are not worth a second pass
# Any number above every index but the greatest, which LLVM would turn into a conditional.
NONE = {32: 2**31 - 3, 64: 2**62}

Values = list[ir.Value]


def is_long_arg_reduction(subdomain: Subdomain) -> bool:
    """Whether two passes are better, which is so when a reduction is the innermost loop."""
    if subdomain.combiner not in ("argmax", "argmin") or subdomain.unordered:
        return False
    order = loop_order(subdomain)
    if not order:
        return False
    points = prod(subdomain.extents[d] for d in subdomain.reduction_dims)
    return order[-1] in subdomain.reduction_dims and points >= SHORT


def emit_arg_reduction(subdomain: Subdomain, target: WrittenSlice, results: Values) -> Values:
    """Apply the subdomain to the running results (value, index)."""
    extreme = replace(
        subdomain, combiner=subdomain.combiner.removeprefix("arg"), inits=subdomain.inits[:1],
        begins=subdomain.begins[:1],
    )  # fmt: skip
    start = None if _begins_without(subdomain) else saved(target.of(results[0]))
    (best,) = emit_generic(extreme, target, results[:1])
    place = _first_place(subdomain, target, target.of(best))
    index = _with_init(start, target.of(results[1]), target.of(best), place)
    return [best, target.back_into(index, results[1])]


def _begins_without(subdomain: Subdomain) -> bool:
    """Whether there is known to be no index to keep."""
    begin = subdomain.begins[1] if subdomain.begins else None
    number = None if begin is None else constant_of(begin)
    return number is not None and number < 0


def _first_place(subdomain: Subdomain, target: WrittenSlice, best: ir.Value) -> ir.Value:
    """The least index at which the body equals `best`, NONE where there is none."""
    width = 32 if prod(subdomain.reduction_extents) < NONE[32] else 64
    kind = ir.IntegerType.get_signless(width)
    order = loop_order(subdomain)
    plain = plain_reads(subdomain)
    subscripts = tuple(target.subscripts)
    shapes = shape_operands(subdomain, target, list(plain.values()))
    ins = [*plain.values(), Operand(best, subscripts), *shapes]
    start = filled(empty(shape_of(best), kind, best), constant(kind, NONE[width]))

    def body(arguments: Sequence[ir.Value]) -> Values:
        value, here = body_values(subdomain, plain, arguments, order)
        here = arith.TruncIOp(kind, here).result if width == 32 else here
        found = _attains(value, computed(arguments[len(plain)]))
        candidate = arith.SelectOp(found, here, constant(kind, NONE[width])).result
        return [arith.MinSIOp(arguments[-1], candidate).result]

    kinds = [subdomain.iterators[d] for d in order]
    outs = [Operand(start, subscripts)]
    return build_generic(ins, outs, order, kinds, body, subdomain.wishes)[0]


def _attains(value: ir.Value, best: ir.Value) -> ir.Value:
    """Whether a value is the extreme one: equal to it, or NaN (then the extreme is NaN)."""
    if not is_float(value.type):
        return arith.CmpIOp(arith.CmpIPredicate.eq, value, best).result
    equal = arith.CmpFOp(arith.CmpFPredicate.OEQ, value, best).result
    return arith.OrIOp(equal, arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result).result


def _with_init(
    start: ir.Value | None, index: ir.Value, final: ir.Value, place: ir.Value
) -> ir.Value:  # fmt: skip
    """The index found, or that of init where init, if it has one, holds the extreme or no point
    was better."""
    dims = tuple(ir.AffineExpr.get_dim(k) for k in range(len(shape_of(place))))
    ins = [Operand(v, dims) for v in ((place,) if start is None else (start, final, place))]
    width = ir.IntegerType(element_type(place)).width

    def body(arguments: Sequence[ir.Value]) -> Values:
        *pair, found, old = arguments
        none = arith.CmpIOp(arith.CmpIPredicate.eq, found, constant(found.type, NONE[width])).result
        wide = found if found.type == old.type else arith.ExtSIOp(old.type, found).result
        if not pair:
            return [arith.SelectOp(none, old, wide).result]
        real = arith.CmpIOp(arith.CmpIPredicate.sge, old, constant(old.type, 0)).result
        keeps = arith.AndIOp(real, _attains(*map(computed, pair))).result
        return [arith.SelectOp(arith.OrIOp(none, keeps).result, old, wide).result]

    rank = range(len(dims))
    return build_generic(ins, [Operand(index, dims)], rank, ["parallel"] * len(dims), body)[0]
