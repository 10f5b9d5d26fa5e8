"""Between which values integers of data are."""

from __future__ import annotations

import pytest

from ted.domain import sets
from ted.ir.data_ranges import DEPTH, range_of, wraps
from ted.ir.dtypes import BOOL, FLOAT32, INDEX, INT8, INT32, INT64, DType
from ted.ir.equations import Equation, Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, cast, compare, const, dim, index, load, mod, mul, select

LONG = (-(2**63), 2**63 - 1)


def of(dtype: DType, name: str = "n") -> Expr:
    return load(Tensor(name, (4,), dtype), [dim(0)])


def made(body: Expr) -> Expr:
    """An element of a tensor of which every element is the body."""
    return load(Tensor("T", (4,), body.dtype, equations=(whole((4,), body, None),)), [dim(0)])


def reduced(combiner: str, body: Expr, fill: int | None, points: int, where: object = None) -> Expr:
    domain = sets.box((4, points)) if where is None else where
    equation = Equation((4, points), 1, domain, (dim(0),), combiner, body)
    dtype = INT64 if combiner.startswith("arg") else body.dtype
    return load(Tensor("T", (4,), dtype, fill, (equation,)), [dim(0)])


N8, N64 = of(INT8), of(INT64)
RANGES = {
    "a small integer": (N8, (-128, 127)),
    "a bool as an index": (cast(of(BOOL), INDEX), (0, 1)),
    "a large integer": (N64, LONG),
    "a cast to a wider type": (cast(N8, INT64), (-128, 127)),
    "a cast that may cut": (cast(N64, INT8), (-128, 127)),
    "what was a float": (cast(of(FLOAT32), INT32), (-(2**31), 2**31 - 1)),
    "a remainder": (mod(N64, const(10, INT64)), (0, 9)),
    "a remainder by data": (mod(N64, N64), LONG),
    "a remainder by what may be 0": (mod(N8, cast(of(BOOL), INT8)), (-128, 127)),
    "a clamp": (apply("minimum", apply("maximum", N64, const(0, INT64)), const(5, INT64)), (0, 5)),
    "a sum that fits": (add(cast(N8, INT64), const(128, INT64)), (0, 255)),
    "a sum that wraps": (add(N8, const(1, INT8)), (-128, 127)),
    "a choice": (select(compare("lt", N64, const(0, INT64)), N8, const(3, INT8)), (-128, 127)),
    "a computed tensor": (made(mod(N64, const(10, INT64))), (0, 9)),
    "and 0, which a refused read gives": (made(const(7, INT64)), (0, 7)),
    "the place of an extremum": (reduced("argmax", of(FLOAT32), -1, 10), (0, 9)),
    "of no points": (reduced("argmax", of(FLOAT32), -1, 0), LONG),
    "of points under a condition": (
        reduced("argmax", of(FLOAT32), -1, 10, sets.box((4, 3))), (-1, 9)),
    "an extremum": (reduced("max", mod(N64, const(10, INT64)), -(2**63), 3), (0, 9)),
    "one that goes on from a value": (reduced("max", mod(N64, const(10, INT64)), 20, 3), (0, 20)),
    "one of no points": (reduced("min", mod(N64, const(10, INT64)), 2**63 - 1, 0), (0, 2**63 - 1)),
    "a sum over points": (reduced("add", mod(N64, const(10, INT64)), 0, 3), LONG),
}  # fmt: skip


@pytest.mark.parametrize("case", RANGES)
def test_the_range_of(case: str) -> None:
    value, expected = RANGES[case]
    assert range_of(value) == expected


def test_what_is_written_in_part_keeps_its_fill_and_without_one_is_unknown() -> None:
    part = Equation((2,), 1, sets.box((2,)), (dim(0),), "set", mod(N64, const(10, INT64)))
    filled = Tensor("T", (4,), INT64, -3, (part,))
    assert range_of(load(filled, [dim(0)])) == (-3, 9)
    assert range_of(load(Tensor("T", (4,), INT64, None, (part,)), [dim(0)])) == LONG


def test_tensors_far_away_have_the_values_of_their_type() -> None:
    near = mod(N64, const(10, INT64))
    for _ in range(DEPTH):
        near = made(near)
    assert range_of(near) == (0, 9)
    assert range_of(made(near)) == LONG


def test_indices_have_64_bits() -> None:
    assert range_of(add(dim(0), index(1))) == LONG
    assert range_of(mod(dim(0), index(3))) == (0, 2)


def test_arithmetic_wraps_where_the_type_does_not_hold_it() -> None:
    assert not wraps(mul(cast(N8, INT32), const(2, INT32)))
    assert wraps(mul(N8, const(2, INT8)))
    assert wraps(add(N64, const(1, INT64)))
