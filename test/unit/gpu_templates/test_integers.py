"""Numbers that are known and numbers that a kernel computes: the same arithmetic for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from ted.gpu.templates import integers
from ted.gpu.templates.problem import Layout
from ted.mlir import arith, ir
from unit.gpu.executed import table

LEFT, RIGHT = range(9), (1, 2, 3, 8)
NUMBERS: dict[str, tuple[Callable[..., Any], Callable[[int, int], Any]]] = {
    "add": (integers.add, lambda a, b: a + b),
    "total": (lambda a, b: integers.total(a, b, 5, b), lambda a, b: a + 2 * b + 5),
    "subtract": (lambda a, b: integers.subtract(integers.add(a, 9), b), lambda a, b: a + 9 - b),
    "exclusive_or": (integers.exclusive_or, lambda a, b: a ^ b),
    "smaller": (integers.smaller, min),
    "less": (integers.less, lambda a, b: a < b),
    "equal": (integers.equal, lambda a, b: a == b),
}
BY_KNOWN: dict[str, tuple[Callable[..., Any], Callable[[int, int], Any]]] = {
    "scale": (integers.scale, lambda a, b: a * b),
    "divide": (integers.divide, lambda a, b: a // b),
    "remainder": (integers.remainder, lambda a, b: a % b),
    "minimum": (integers.minimum, min),
}


def as_index(value: Any) -> ir.Value:
    """A number or a condition as an index."""
    if isinstance(value, ir.Value) and ir.IntegerType(value.type).width == 1:
        return arith.IndexCastUIOp(ir.IndexType.get(), value).result
    return integers.index(int(value) if isinstance(value, bool) else value)


def small(value: ir.Value) -> ir.Value:
    """An index as a number of a kernel."""
    return arith.IndexCastOp(ir.IntegerType.get_signless(32), value).result


def executed(code: Callable[[ir.Value], Sequence[Any]], width: int) -> np.ndarray[Any, Any]:
    return table(len(LEFT), width, lambda k: [as_index(v) for v in code(small(k))])


@pytest.mark.parametrize("name", [*NUMBERS, *BY_KNOWN])
def test_known_and_computed_numbers_give_the_same(name: str) -> None:
    made, expected = {**NUMBERS, **BY_KNOWN}[name]
    for a, b in product(LEFT, RIGHT):
        assert made(a, b) == expected(a, b)
    found = executed(lambda a: [made(a, b) for b in RIGHT], len(RIGHT))
    np.testing.assert_array_equal(found, [[int(expected(a, b)) for b in RIGHT] for a in LEFT])
    if name in NUMBERS:
        found = executed(lambda a: [made(b, a) for b in RIGHT], len(RIGHT))
        np.testing.assert_array_equal(found, [[int(expected(b, a)) for b in RIGHT] for a in LEFT])
        found = executed(lambda a: [made(a, a)], 1)
        np.testing.assert_array_equal(found[:, 0], [int(expected(a, a)) for a in LEFT])


def test_what_is_known_costs_no_instruction() -> None:
    def code(a: ir.Value) -> list[Any]:
        same = [integers.add(a, 0), integers.add(0, a), integers.scale(a, 1), integers.divide(a, 1)]
        assert all(value is a for value in same)
        assert integers.scale(a, 0) == integers.remainder(a, 1) == 0
        assert integers.both(True, integers.less(a, 3)) is not True
        assert integers.both(False, integers.less(a, 3)) is False
        assert integers.choose(True, a, a) is a
        return [0]

    executed(code, 1)


def test_conditions_choose() -> None:
    def code(a: ir.Value) -> list[Any]:
        inside = integers.both(integers.less(a, 6), integers.less(2, a))
        return [inside, integers.choose_number(inside, integers.scale(a, 2), 7)]

    expected = [[int(2 < a < 6), 2 * a if 2 < a < 6 else 7] for a in LEFT]
    np.testing.assert_array_equal(executed(code, 2), expected)


LAYOUTS = [
    Layout(((4, 6),)), Layout(((3, 12), (4, 1))), Layout(((2, -8), (2, 5), (3, 1))), Layout(()),
]  # fmt: skip


def reached(number: int, layout: Layout) -> int:
    """Where the index has a number, the last dim fastest; the first one has no end."""
    place = 0
    for extent, stride in reversed(layout.groups[1:]):
        number, digit = divmod(number, extent)
        place += digit * stride
    return place + sum(number * stride for _, stride in layout.groups[:1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_offsets_are_those_of_the_layout(layout: Layout) -> None:
    expected = [reached(k, layout) for k in LEFT]
    assert [integers.offset(k, layout) for k in LEFT] == expected
    assert executed(lambda k: [integers.offset(k, layout)], 1)[:, 0].tolist() == expected
