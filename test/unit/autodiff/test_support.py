"""Where an adjoint can be non-zero, against the values of its operations at zero."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ted.autodiff.support import support, written_part
from ted.domain import sets
from ted.domain.size_factors import Symbol
from ted.domain.sizes import symbolic
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.operations import OPERATIONS
from ted.ir.scalar import add, apply, compare, const, dim, div, index, load, mul, select, sub
from unit.autodiff.systems import defined, gradients
from unit.autodiff.test_rules import FUNCTIONS
from unit.domain.random_maps import enumerate_set
from unit.transforms.recurrences import before, equation, given

ZERO = const(0.0, FLOAT64)
A, B = (load(Tensor(name, (4,), FLOAT64), [dim(0)]) for name in "ab")
DOMAIN = sets.box((4,))
UNARY = [n for n, row in OPERATIONS.items()
         if row.arity == 1 and row.rule == "same" and "float" in row.kinds]  # fmt: skip


def above(bound: int, value: Expr) -> Expr:
    """The value where the index is above the bound."""
    return select(compare("lt", index(bound), dim(0)), value, ZERO)


def points(root: Expr) -> list[int]:
    return [k for (k,) in enumerate_set(support(root, DOMAIN))]


def at_zero(name: str) -> float:
    try:
        return FUNCTIONS[name](0.0)
    except (ValueError, ZeroDivisionError):
        return math.nan


@pytest.mark.parametrize("name", UNARY)
def test_an_operation_keeps_the_support_of_its_argument_if_it_maps_zero_to_zero(name: str) -> None:
    assert points(apply(name, above(1, A))) == ([2, 3] if at_zero(name) == 0 else [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (ZERO, []),
        (const(1.0, FLOAT64), [0, 1, 2, 3]),
        (A, [0, 1, 2, 3]),
        (mul(above(0, A), B), [1, 2, 3]),
        (mul(A, above(2, B)), [3]),
        (add(above(2, A), above(1, B)), [2, 3]),
        (sub(above(2, A), above(1, B)), [2, 3]),
        (div(above(1, A), B), [2, 3]),
        (div(A, apply("exp", above(1, B))), [0, 1, 2, 3]),
        (apply("pow", above(1, A), B), [0, 1, 2, 3]),
        (apply("maximum", above(1, A), B), [0, 1, 2, 3]),
        (select(compare("lt", dim(0), index(1)), A, above(2, B)), [0, 3]),
        (select(compare("lt", ZERO, A), above(1, A), above(2, B)), [2, 3]),
        (select(compare("lt", ZERO, A), ZERO, above(2, B)), [3]),
        (select(compare("lt", ZERO, A), above(2, B), ZERO), [3]),
    ],
)  # fmt: skip
def test_zeros_pass_through_products_and_choices(root: Expr, expected: list[int]) -> None:
    assert points(root) == expected


def test_a_cosine_of_zero_has_a_gradient() -> None:
    a, b = given("a", 3), given("b", 3)
    guarded = select(compare("lt", index(0), dim(0)), load(b, [before(dim(0))]), ZERO)
    y = defined("y", (3,), equation((3,), mul(load(a, [dim(0)]), apply("cos", guarded))))
    da, db = gradients([a, b], y, [[1, 2, 3], [0, math.pi, 0]], [1, 1, 1])
    assert da == pytest.approx([1, 1, -1])
    assert db == pytest.approx([0, 0, 0])


def test_what_is_written_is_a_part_of_the_elements_or_all_of_them() -> None:
    y, first = Tensor("y", (4,), FLOAT64), equation((2,), const(1.0, FLOAT64))
    part = written_part(y, [first])
    assert part is not None
    assert [k for (k,) in enumerate_set(part)] == [0, 1]
    assert written_part(y, [first, equation((4,), A)]) is None
    assert written_part(y, []) is None


def test_a_total_over_a_symbolic_size_writes_all_that_there_is() -> None:
    x = Tensor("x", (symbolic(Symbol("n", 3)),), FLOAT64)
    summed = replace(whole(x.shape, load(x, [dim(0)]), None, "add"), parallel=0, write=())
    assert written_part(Tensor("total", (), FLOAT64), [summed]) is None
