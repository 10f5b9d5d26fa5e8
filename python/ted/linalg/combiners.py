"""The combiners as scalar code: one accumulated value, or (value, index) for argmax and argmin.

Sums and products carry `reassoc`, which LLVM needs to keep a reduction in a vector register; max
and min propagate NaN, and argmax takes the first NaN, else the first of the greatest.
"""

from __future__ import annotations

from ted.linalg.subdomain import Subdomain
from ted.math.narrow_floats import computed
from ted.mlir import arith, ir
from ted.mlir.scalars import constant, is_float, narrowed, widened, wider

ACCUMULATE = "#arith.fastmath<reassoc,contract,nsz>"
BODY = "#arith.fastmath<contract>"

# Combiner -> (operation on floats, on integers, on i1); on integers without a sign `_UNSIGNED`.
_OPERATIONS = {
    "add": ("AddFOp", "AddIOp", "OrIOp"),
    "mul": ("MulFOp", "MulIOp", "AndIOp"),
    "max": ("MaximumFOp", "MaxSIOp", "OrIOp"),
    "min": ("MinimumFOp", "MinSIOp", "AndIOp"),
}
_UNSIGNED = {"max": "MaxUIOp", "min": "MinUIOp"}


def combine(subdomain: Subdomain, totals: list[ir.Value], values: list[ir.Value]) -> list[ir.Value]:
    """The new totals after one more point; for argmax `values` is the value and its index.

    Values are computed ones, f32 for totals of 16 bits, which are rounded here.
    `unordered`: points do not come in the order of their indices, so ties compare indices.
    """
    combiner = subdomain.combiner
    kinds = [t.type for t in totals]
    new = values
    if combiner != "set":
        new = _combined(subdomain, [computed(t) for t in totals], values)
    return [narrowed(v, kind) for v, kind in zip(new, kinds, strict=True)]


def _combined(
    subdomain: Subdomain, totals: list[ir.Value], values: list[ir.Value]
) -> list[ir.Value]:
    combiner, unsigned = subdomain.combiner, subdomain.unsigned
    values = [widened(v, t.type) for v, t in zip(values, totals, strict=True)]
    if combiner in ("argmax", "argmin"):
        return _better(subdomain, totals, values)
    kind = totals[0].type
    on_float, on_integer, on_bool = _OPERATIONS[combiner]
    if unsigned:
        on_integer = _UNSIGNED.get(combiner, on_integer)
    if not is_float(kind):
        operation = getattr(arith, on_bool if _is_bool(kind) else on_integer)
        return [operation(a, b).result for a, b in zip(totals, values, strict=True)]
    flags = ir.Attribute.parse(ACCUMULATE if combiner in ("add", "mul") else BODY)
    operation = getattr(arith, on_float)
    return [operation(a, b, fastmath=flags).result for a, b in zip(totals, values, strict=True)]


def _better(subdomain: Subdomain, totals: list[ir.Value], values: list[ir.Value]) -> list[ir.Value]:
    (best, place), (value, here) = totals, values
    beats, equal = _compare(subdomain, value, best)
    # A negative index says that no point has been seen, so the first one replaces even an equal.
    none_yet = arith.CmpIOp(arith.CmpIPredicate.slt, place, constant(place.type, 0)).result
    wins_tie = none_yet
    if subdomain.unordered:
        before = arith.CmpIOp(arith.CmpIPredicate.slt, here, place).result
        wins_tie = arith.OrIOp(none_yet, before).result
    wins = arith.OrIOp(beats, arith.AndIOp(equal, wins_tie).result).result
    return [
        arith.SelectOp(wins, value, best).result,
        arith.SelectOp(wins, here, place).result,
    ]


def _compare(subdomain: Subdomain, value: ir.Value, best: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Whether the value beats the best so far, and whether they tie; NaN beats all but NaN."""
    combiner = subdomain.combiner
    if not is_float(value.type):
        unsigned = subdomain.unsigned or _is_bool(value.type)  # the one bit of true is no sign
        wanted = ("u" if unsigned else "s") + ("gt" if combiner == "argmax" else "lt")
        beats = arith.CmpIOp(getattr(arith.CmpIPredicate, wanted), value, best).result
        return beats, arith.CmpIOp(arith.CmpIPredicate.eq, value, best).result
    wanted = "UGT" if combiner == "argmax" else "ULT"
    beats = arith.CmpFOp(getattr(arith.CmpFPredicate, wanted), value, best).result
    final = arith.CmpFOp(arith.CmpFPredicate.ORD, best, best).result
    # Unordered-or-equal holds for two NaNs; for one NaN `beats` has already decided.
    equal = arith.CmpFOp(arith.CmpFPredicate.UEQ, value, best).result
    both = arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result
    numbers = arith.OrIOp(final, both).result
    return arith.AndIOp(beats, final).result, arith.AndIOp(equal, numbers).result


def _is_bool(kind: ir.Type) -> bool:
    return kind == ir.IntegerType.get_signless(1)


def accumulator_type(combiner: str, kind: ir.Type, *, repeats: bool) -> ir.Type:
    """The type of the running total: wider where it would be rounded more than once."""
    return wider(kind) if repeats and combiner != "set" else kind
