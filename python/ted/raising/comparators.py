"""Which order the comparison of a sort is, read before a pass of StableHLO takes it apart.

Before: { ^bb0(%a, %b): %0 = stablehlo.compare LT, %a, %b, TOTALORDER; return %0 }
After:  ted.order = "less"

A comparison made of choices and comparisons alone is run on pairs of numbers, with zeros and NaN of
both signs and infinities among them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from ted.mlir import ir, scalar_value
from ted.raising.total_order import compares_totally
from ted.records import dataclass

ORDER, KEYS = "ted.order", "ted.keys"
_MOST = 3  # keys of an order
_MOST_TRIED = 2**16  # numbers of all keys together
_CONSTANTS = ("arith.constant", "stablehlo.constant")
# Numbers that are tried: of one key, of two and of three.
_WHOLE = ((-2, -1, 0, 1, 3), (-1, 0, 1), (-1, 0, 1))
_SPECIAL = (-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan, -math.nan)
_FLOATS = (_SPECIAL, (-1.0, -0.0, 0.0, math.nan, -math.nan), (-0.0, 0.0, 1.0, math.nan))
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
    "EQ": operator.eq, "NE": operator.ne,
}  # fmt: skip
_SORTS = ("stablehlo.sort", "tm_tensor.sort")
# The predicates of `arith.cmpf`: the comparison, and what it says where one is NaN.
_FLOAT = {
    1: ("EQ", False), 2: ("GT", False), 3: ("GE", False), 4: ("LT", False), 5: ("LE", False),
    6: ("NE", False), 8: ("EQ", True), 9: ("GT", True), 10: ("GE", True), 11: ("LT", True),
    12: ("LE", True), 13: ("NE", True),
}  # fmt: skip
_INTEGER = {0: "EQ", 1: "NE", 2: "LT", 3: "LE", 4: "GT", 5: "GE"}


class _UnknownError(Exception):
    """An op that is neither a choice nor a comparison."""


def mark_orders(module: ir.Module) -> None:
    """Write the order on each sort of which it is known."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in _SORTS and (found := _order(op)) is not None:
            op.attributes[ORDER] = ir.StringAttr.get(found[0], module.context)
            with module.context:
                op.attributes[KEYS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), found[1])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def _order(op: ir.Operation) -> tuple[str, int] | None:
    """The order, and of how many operands: the second decides between equals of the first."""
    block = op.regions[0].blocks[0]
    for keys in range(1, min(len(block.arguments) // 2, _MOST) + 1):
        rest = len(block.arguments) - 2 * keys
        try:
            numbers = [_tried(a.type, keys, block) for a in list(block.arguments)[: 2 * keys]]
            if math.prod(map(len, numbers)) > _MOST_TRIED:
                return None
            rows = list(product(product(*numbers), product((0, 1), repeat=min(rest, 4))))
            found = [bool(_run(block, (*pairs, *others))) for pairs, others in rows]
        except _UnknownError:
            return None
        tried = [(list(map(_Key, pairs[::2])), list(map(_Key, pairs[1::2]))) for pairs, _ in rows]
        for name in _ORDERS:
            if _is_order(name, tried, found):
                return name, keys
    return None


def _tried(kind: ir.Type, keys: int, block: ir.Block) -> Sequence[Any]:
    """Numbers of a type, those around each constant of the comparison among them."""
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    is_float = isinstance(element, ir.FloatType)
    found = [*(_FLOATS if is_float else _WHOLE)[keys - 1]]
    for op in (op.operation for op in block.operations):
        number = _constant(op, ()) if op.name in _CONSTANTS else None
        if isinstance(number, float if is_float else int) and abs(number) not in (0, 1, math.inf):
            step = abs(number) / 1024 if is_float else 1
            found += [number + k * step for k in (-2, -1, 0, 1, 2) if number == number]
    return found


@dataclass(frozen=True)
class _Key:
    """A number that is compared, and whether it is NaN or a zero with a sign."""

    number: Any

    @property
    def is_nan(self) -> bool:
        return self.number != self.number

    @property
    def by_value(self) -> tuple[Any, ...]:
        """Where it is in the order of values, which has NaN last."""
        return (1, 0) if self.is_nan else (0, self.number)

    @property
    def in_total(self) -> tuple[Any, ...]:
        """Where it is in the total order of floats."""
        sign = math.copysign(1.0, self.number)
        return (sign, 0, 0) if self.is_nan else (0, self.number, sign)


Pair = tuple[Sequence[_Key], Sequence[_Key]]


def _values(keys: Sequence[_Key]) -> list[Any]:
    return [key.by_value for key in keys]


def _totals(keys: Sequence[_Key]) -> list[Any]:
    return [key.in_total for key in keys]


# Order -> where keys are in it, and whether it falls.
_ORDERS: dict[str, tuple[Callable[[Sequence[_Key]], list[Any]], bool]] = {
    "less": (_values, False), "greater": (_values, True),
    "totally less": (_totals, False), "totally greater": (_totals, True),
}  # fmt: skip


def _is_order(name: str, pairs: Iterable[Pair], found: Sequence[bool]) -> bool:
    """Whether a comparison is an order, with equals or without.

    One by values may know nothing of NaN: then no place of a NaN is wrong.
    """
    place, falls = _ORDERS[name]
    rows = [(tuple(map(place, pair[::-1] if falls else pair)), pair) for pair in pairs]
    for test in (operator.lt, operator.le):
        wrong = [
            (pair, got) for (ends, pair), got in zip(rows, found, strict=True) if test(*ends) != got
        ]
        if not wrong:
            return True
        nan = [got for (_, pair), got in zip(rows, found, strict=True) if _has_nan(pair)]
        if place is _values and all(_has_nan(pair) for pair, _ in wrong) and len(set(nan)) == 1:
            return True
    return False


def _has_nan(pair: Pair) -> bool:
    return any(key.is_nan for keys in pair for key in keys)


def _run(block: ir.Block, arguments: Sequence[Any]) -> Any:
    if len(arguments) != len(block.arguments):
        raise _UnknownError
    known: dict[ir.Value, Any] = dict(zip(block.arguments, arguments, strict=True))
    *operations, last = [op.operation for op in block.operations]
    for op in operations:
        if op.name not in _RULES or any(v not in known for v in op.operands):
            raise _UnknownError
        known[op.results[0]] = _RULES[op.name](op, [known[v] for v in op.operands])
    if last.operands[0] not in known:
        raise _UnknownError
    return known[last.operands[0]]


def _constant(op: ir.Operation, _: Sequence[Any]) -> Any:
    if op.name == "arith.constant" and not isinstance(op.attributes["value"], ir.DenseElementsAttr):
        return scalar_value(op.attributes["value"])
    return scalar_value(ir.DenseElementsAttr(op.attributes["value"]).get_splat_value())


def _compare(op: ir.Operation, args: Sequence[Any]) -> bool:
    text = str(op.attributes["comparison_direction"])
    keys = [_Key(a).in_total for a in args] if compares_totally(op) else args
    return _COMPARE[text.rpartition(" ")[2].rstrip(">")](*keys)


def _of_floats(op: ir.Operation, args: Sequence[Any]) -> bool:
    code = ir.IntegerAttr(op.attributes["predicate"]).value
    if code not in _FLOAT:
        raise _UnknownError
    name, of_nan = _FLOAT[code]
    return of_nan if any(a != a for a in args) else _COMPARE[name](*args)


def _of_integers(op: ir.Operation, args: Sequence[Any]) -> bool:
    code = ir.IntegerAttr(op.attributes["predicate"]).value
    if code not in _INTEGER:
        raise _UnknownError
    return _COMPARE[_INTEGER[code]](*args)


_RULES: dict[str, Callable[[ir.Operation, Sequence[Any]], Any]] = {
    "stablehlo.constant": _constant,
    "stablehlo.compare": _compare,
    "arith.constant": _constant,
    "arith.cmpf": _of_floats,
    "arith.cmpi": _of_integers,
    "arith.select": lambda _, args: args[1] if args[0] else args[2],
    "stablehlo.select": lambda _, args: args[1] if args[0] else args[2],
    "stablehlo.and": lambda _, args: args[0] and args[1],
    "stablehlo.or": lambda _, args: args[0] or args[1],
    "stablehlo.not": lambda _, args: not args[0],
}
