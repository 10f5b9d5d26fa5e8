"""Interval arithmetic holds every value that enumeration finds; single operations are exact."""

import math
from itertools import product

import pytest

from ted.domain import intervals
from ted.domain.affine import Aff, constant, dim
from ted.domain.intervals import UNKNOWN, Interval

ENDS = range(-4, 5)
PAIRS = [(low, high) for low in ENDS for high in ENDS if low <= high]
MEANING = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "minimum": min,
    "maximum": max,
}
EXACT = {"add", "sub", "mul", "minimum", "maximum"}


def values(interval: Interval) -> range:
    return range(int(interval[0]), int(interval[1]) + 1)


@pytest.mark.parametrize("name", MEANING)
def test_operations_hold_every_value_that_they_have(name: str) -> None:
    for a, b in product(PAIRS, PAIRS):
        found = [MEANING[name](x, y) for x in values(a) for y in values(b)]
        low, high = intervals.OPERATIONS[name](a, b)
        assert low <= min(found) <= max(found) <= high, (a, b)
        if name in EXACT:
            assert (low, high) == (min(found), max(found)), (a, b)


@pytest.mark.parametrize("a", PAIRS)
def test_operations_by_a_constant_and_of_one_operand_are_exact(a: Interval) -> None:
    for by in (*range(-5, 0), *range(1, 6)):
        quotients, rests = [x // by for x in values(a)], [x % by for x in values(a)]
        assert intervals.floordiv(a, (by, by)) == (min(quotients), max(quotients))
        low, high = intervals.mod(a, (by, by))
        assert low <= min(rests) <= max(rests) <= high
        assert max(-low, high) < abs(by)
    sizes = [abs(x) for x in values(a)]
    assert intervals.absolute(a) == (min(sizes), max(sizes))
    assert intervals.neg(a) == (-a[1], -a[0])


def test_what_has_no_bound_stays_so_until_it_is_clipped_or_divided() -> None:
    assert intervals.mul(UNKNOWN, (0, 3)) == UNKNOWN
    assert intervals.mul((0, math.inf), (0, 2)) == (0, math.inf)
    assert intervals.mod(UNKNOWN, (5, 5)) == (0, 4)
    assert intervals.floordiv((3, math.inf), (2, 2)) == (1, math.inf)
    assert intervals.minimum(intervals.maximum(UNKNOWN, (0, 0)), (7, 7)) == (0, 7)


def test_an_unknown_end_does_not_leave_64_bits_and_a_known_one_does() -> None:
    kept = [UNKNOWN, (-(2**63), 2**63 - 1), (0, math.inf)]
    left = [(0, 2**63), (-(2**63) - 1, 0), (2**63, math.inf)]
    assert [intervals.fits(i) for i in (*kept, *left)] == [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    "value",
    [
        2 * dim(0) - 3 * dim(1) + 1,
        (dim(0) + 5 * dim(1)) // 3 - dim(1),
        (4 - dim(0)) % 3 + dim(1) // 2,
        constant(7),
    ],
)
def test_functions_of_dims_hold_every_value(value: Aff) -> None:
    box = [(0, 5), (2, 4)]
    found = [value.evaluate(point) for point in product(range(6), range(2, 5))]
    low, high = intervals.of_aff(value, box)
    assert low <= min(found) <= max(found) <= high
