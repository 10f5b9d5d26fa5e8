"""Which order the comparison of a sort is, read before a pass of StableHLO takes it apart.

Before: { ^bb0(%a, %b): %0 = stablehlo.compare LT, %a, %b, TOTALORDER; return %0 }
After:  ted.order = "less"

A comparison made of choices and comparisons alone is run on pairs of numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ted.mlir import ir, scalar_value

ORDER, KEYS = "ted.order", "ted.keys"
_NUMBERS, _FEW, _MOST = (-2, -1, 0, 1, 3), (-1, 0, 1), 3  # of one key, of several, and how many
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
    "EQ": operator.eq, "NE": operator.ne,
}  # fmt: skip
_ORDERS = {
    "less": (operator.lt, operator.le),
    "greater": (operator.gt, operator.ge),
}
_SORTS = ("stablehlo.sort", "tm_tensor.sort")
# The predicates of `arith.cmpf` and `arith.cmpi` that are orders or equality.
_FLOAT = {
    1: "EQ", 2: "GT", 3: "GE", 4: "LT", 5: "LE", 8: "EQ", 9: "GT", 10: "GE", 11: "LT", 12: "LE",
    13: "NE",
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
    operands = len(block.arguments) // 2
    for keys in range(1, min(operands, _MOST) + 1):
        numbers, rest = (_NUMBERS if keys == 1 else _FEW), len(block.arguments) - 2 * keys
        rows = list(
            product(product(numbers, repeat=2 * keys), product((0, 1), repeat=min(rest, 4)))
        )
        try:
            found = [bool(_run(block, (*pairs, *others))) for pairs, others in rows]
        except _UnknownError:
            return None
        for name, better in _ORDERS.items():
            for test in better:
                if found == [test(pairs[::2], pairs[1::2]) for pairs, _ in rows]:
                    return name, keys
    return None


def _run(block: ir.Block, arguments: Sequence[Any]) -> Any:
    if len(arguments) != len(block.arguments):
        raise _UnknownError
    known: dict[ir.Value, Any] = dict(zip(block.arguments, arguments, strict=True))
    *operations, last = [op.operation for op in block.operations]
    for op in operations:
        if op.name not in _RULES:
            raise _UnknownError
        known[op.results[0]] = _RULES[op.name](op, [known[v] for v in op.operands])
    return known[last.operands[0]]


def _constant(op: ir.Operation, _: Sequence[Any]) -> Any:
    if op.name == "arith.constant":
        return scalar_value(op.attributes["value"])
    return scalar_value(ir.DenseElementsAttr(op.attributes["value"]).get_splat_value())


def _compare(op: ir.Operation, args: Sequence[Any]) -> bool:
    text = str(op.attributes["comparison_direction"])
    return _COMPARE[text.rpartition(" ")[2].rstrip(">")](*args)


def _predicate(names: dict[int, str]) -> Callable[[ir.Operation, Sequence[Any]], Any]:
    def rule(op: ir.Operation, args: Sequence[Any]) -> Any:
        code = ir.IntegerAttr(op.attributes["predicate"]).value
        if code not in names:
            raise _UnknownError
        return _COMPARE[names[code]](*args)

    return rule


_RULES: dict[str, Callable[[ir.Operation, Sequence[Any]], Any]] = {
    "stablehlo.constant": _constant,
    "stablehlo.compare": _compare,
    "arith.constant": _constant,
    "arith.cmpf": _predicate(_FLOAT),
    "arith.cmpi": _predicate(_INTEGER),
    "arith.select": lambda _, args: args[1] if args[0] else args[2],
    "stablehlo.select": lambda _, args: args[1] if args[0] else args[2],
    "stablehlo.and": lambda _, args: args[0] and args[1],
    "stablehlo.or": lambda _, args: args[0] or args[1],
    "stablehlo.not": lambda _, args: not args[0],
}
