"""Numbers of points, and who takes which: the code is executed for every number."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ted.gpu.points import apply, below, delinearized, linearized, plus, times
from ted.gpu.segment_summaries import joining, linear
from ted.gpu.strided_loops import UNROLLED, strided_loop
from ted.mlir import arith, ir
from ted.mlir.building import constant
from ted.mlir.combining import Combiner
from unit.gpu.executed import bits_of, number_of, table

BOXES = [(2, 3, 4), (1, 5), (5, 1), (3, 1, 2, 1), (7,), (1,), (1, 1), (1, 2, 1, 3)]


@pytest.mark.parametrize("extents", BOXES)
def test_a_number_is_the_dims_of_its_point(extents: tuple[int, ...]) -> None:
    count = math.prod(extents)

    def code(number: ir.Value) -> list[ir.Value]:
        dims = delinearized(number, extents)
        return [*dims, linearized(dims, extents)]

    expected = [(*point, k) for k, point in enumerate(product(*map(range, extents)))]
    np.testing.assert_array_equal(table(count, len(extents) + 1, code), expected)


def test_expressions_of_dims_have_their_values() -> None:
    def code(number: ir.Value) -> list[ir.Value]:
        dims = delinearized(number, (4, 5))
        i, j = (ir.AffineExpr.get_dim(k) for k in range(2))
        exprs = [i * 3 + j - 1, ir.AffineExpr.get_floor_div(i * 5 + j, 4), j, i * 0 + 7]
        is_below = arith.IndexCastUIOp(ir.IndexType.get(), below(dims[1], 3)).result
        return [*(apply(e, dims) for e in exprs), is_below, plus(times(dims[0], 1), 0)]

    expected = [
        (3 * i + j - 1, (5 * i + j) // 4, j, 7, int(j < 3), i)
        for i, j in product(range(4), range(5))
    ]
    np.testing.assert_array_equal(table(20, 6, code), expected)


CASES = [(end, step) for end in (0, 1, 4, 7, 24, 25, 60) for step in (1, 3, 5, 12)]


@pytest.mark.parametrize(("end", "step"), CASES)
def test_threads_take_each_point_once(end: int, step: int) -> None:
    def code(first: ir.Value) -> list[ir.Value]:
        def take(point: ir.Value, totals: list[ir.Value]) -> list[ir.Value]:
            bit = arith.ShLIOp(constant(1), point).result
            return [arith.AddIOp(totals[0], bit).result]

        return strided_loop(first, end, step, [constant(0)], take)

    found = table(step, 1, code)[:, 0].tolist()
    assert found == [sum(1 << p for p in range(first, end, step)) for first in range(step)]


def test_few_trips_and_many_are_both_met() -> None:
    trips = {end // step for end, step in CASES}
    assert min(trips) == 0
    assert any(0 < n <= UNROLLED for n in trips)
    assert any(n > UNROLLED for n in trips)


NUMBERS = (0.0, -0.0, 1.0, -2.5, 1e200, 1e-200, math.inf, -math.inf, math.nan)


def chosen(number: ir.Value, digits: int) -> list[ir.Value]:
    """Digits of a number in base 9, each the number of `NUMBERS` with that place."""
    kind = ir.F64Type.get()
    found = []
    for digit in delinearized(number, [len(NUMBERS)] * digits):
        value = arith.ConstantOp(kind, NUMBERS[0]).result
        for k, n in enumerate(NUMBERS[1:], start=1):
            is_it = arith.CmpIOp(arith.CmpIPredicate.eq, digit, constant(k)).result
            value = arith.SelectOp(is_it, arith.ConstantOp(kind, n).result, value).result
        found.append(value)
    return found


def numbers(count: int, width: int, code) -> list[list[float]]:
    """What code makes of each number, as f64."""
    found = table(count, width, lambda number: [bits_of(v) for v in code(number)])
    return [[number_of(bits) for bits in row] for row in found.tolist()]


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def test_linear_steps_joined_are_the_steps_one_by_one() -> None:
    def code(number: ir.Value) -> list[ir.Value]:
        total, a, b = chosen(number, 3)
        steps = linear()
        stepped = arith.AddFOp(arith.MulFOp(a, total).result, b).result
        whole = steps.joined(steps.identity(), steps.joined([a, b], steps.identity()))
        return [a, steps.applied(total, whole), stepped]

    # As docs/cuda.md says: an infinite factor may be a product that left the range.
    rows = [row for row in numbers(len(NUMBERS) ** 3, 3, code) if not math.isinf(row[0])]
    assert len(rows) == 7 * len(NUMBERS) ** 2
    assert all(same(found, expected) for _, found, expected in rows)


def test_two_linear_steps_are_one() -> None:
    def code(number: ir.Value) -> list[ir.Value]:
        total, a, b, c = chosen(number, 4)
        steps = linear()
        once = steps.applied(total, steps.joined([a, b], [c, a]))
        return [once, steps.applied(steps.applied(total, [a, b]), [c, a])]

    rows = numbers(len(NUMBERS) ** 4, 2, code)
    finite = [(x, y) for x, y in rows if math.isfinite(y)]
    assert len(finite) > 500
    # A product that leaves the range and comes back keeps fewer digits, but never a sign.
    assert all(abs(x - y) <= 1e-9 * max(abs(x), abs(y), 1.0) for x, y in finite)


@pytest.mark.parametrize("name", ["arith.addf", "arith.mulf", "arith.maximumf", "arith.minnumf"])
def test_totals_of_nothing_change_no_total(name: str) -> None:
    def code(number: ir.Value) -> list[ir.Value]:
        (value,) = chosen(number, 1)
        combiner = Combiner(name, ir.F64Type.get())
        steps = joining(combiner)
        nothing = combiner.identity()
        return [
            value, combiner.join(nothing, value), combiner.join(value, nothing),
            steps.applied(value, steps.joined(steps.identity(), steps.identity())),
        ]  # fmt: skip

    for value, *others in numbers(len(NUMBERS), 4, code):
        is_number = name != "arith.minnumf" or not math.isnan(value)
        assert not is_number or all(same(value, other) for other in others)
        assert math.copysign(1, value) == math.copysign(1, others[0]) or not is_number
