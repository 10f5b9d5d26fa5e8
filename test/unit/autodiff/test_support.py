"""Where an adjoint can be non-zero, against the values of its operations at zero."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ted.autodiff.support import Supports
from ted.domain import sets
from ted.domain.budget import total_budget
from ted.domain.size_factors import Symbol
from ted.domain.sizes import symbolic
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import Equation, Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.operations import OPERATIONS
from ted.ir.scalar import add, apply, cast, compare, const, dim, div, index, load, mul, select, sub
from unit.autodiff.systems import defined, gradients
from unit.autodiff.test_rules import FUNCTIONS
from unit.domain.random_maps import enumerate_set
from unit.transforms.recurrences import before, equation, given, history

ZERO = const(0.0, FLOAT64)
A, B = (load(Tensor(name, (4,), FLOAT64), [dim(0)]) for name in "ab")
DOMAIN = sets.box((4,))
UNARY = [n for n, row in OPERATIONS.items()
         if row.arity == 1 and row.rule == "same" and "float" in row.kinds]  # fmt: skip


def above(bound: int, value: Expr) -> Expr:
    """The value where the index is above the bound."""
    return select(compare("lt", index(bound), dim(0)), value, ZERO)


def points(root: Expr) -> list[int]:
    return [k for (k,) in enumerate_set(Supports().of_value(root, DOMAIN))]


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


def elements(tensor: Tensor) -> list[tuple[int, ...]] | None:
    part = Supports().of_tensor(tensor)
    return None if part is None else list(enumerate_set(part))


def test_what_is_written_is_a_part_of_the_elements_or_all_of_them() -> None:
    first = equation((2,), const(1.0, FLOAT64))
    assert elements(defined("y", (4,), first, fill=0)) == [(0,), (1,)]
    assert elements(defined("y", (4,), first, equation((4,), A), fill=0)) is None
    assert elements(defined("y", (4,), first, fill=1)) is None
    assert elements(given("y", 4)) is None
    assert elements(Tensor("y", (4,), FLOAT64, 0)) == []


def test_a_product_or_a_maximum_is_not_zero_where_nothing_is_written() -> None:
    first = equation((2,), A)
    for combiner in ("mul", "max"):
        assert elements(defined("y", (4,), replace(first, combiner=combiner), fill=0)) is None


def test_a_total_over_a_symbolic_size_writes_all_that_there_is() -> None:
    x = Tensor("x", (symbolic(Symbol("n", 3)),), FLOAT64)
    summed = replace(whole(x.shape, load(x, [dim(0)]), None, "add"), parallel=0, write=())
    assert elements(Tensor("total", (), FLOAT64, 0, (summed,))) is None


def test_zeros_pass_from_tensor_to_tensor() -> None:
    padded = defined("p", (4,), equation((4,), above(1, A)))
    squared = defined("s", (4,), equation((4,), mul(load(padded, [dim(0)]), A)))
    assert elements(squared) == [(2,), (3,)]
    mirrored = load(squared, [sub(index(3), dim(0))])
    assert points(mirrored) == [0, 1]
    assert points(add(mirrored, load(padded, [dim(0)]))) == [0, 1, 2, 3]


def test_a_read_at_data_can_meet_anything() -> None:
    padded = defined("p", (4,), equation((4,), above(1, A)))
    place = cast(load(Tensor("at", (4,), INT64), [dim(0)]), INDEX)
    assert points(load(padded, [place])) == [0, 1, 2, 3]


def squares(count: int) -> list[Tensor]:
    """Squares of squares of what is 3 at the places `2i + 3j`, which only some `i` tells."""
    known = defined("t", (15,), Equation(
        (4, 3), 2, sets.box((4, 3)), (add(mul(index(2), dim(0)), mul(index(3), dim(1))),),
        "add", const(3.0, FLOAT64)), fill=0)  # fmt: skip
    found = [known]
    for _ in range(count):
        read = load(found[-1], [dim(0)])
        found.append(defined("s", (15,), equation((15,), mul(read, read))))
    return found


def test_a_support_does_not_grow_with_the_tensors_that_it_passes() -> None:
    supports = Supports()
    texts = {str(supports.of_tensor(t)) for t in squares(3)}
    assert texts == {"{ [i0] : 0 <= i0 <= 12 }"}


def test_a_support_that_costs_too_much_is_everything() -> None:
    with total_budget(20):
        assert Supports().of_value(add(above(2, A), above(1, B)), DOMAIN) is DOMAIN
        assert elements(squares(1)[1]) is None
        assert elements(steps(4)) is None


def steps(start: int, reverse: bool = False) -> Tensor:
    """A recurrence that reads x from a step on."""
    h = history("h", 12, reverse=reverse)
    x = load(given("x", 12), [dim(0)])
    given_here = select(compare("le", index(start), dim(0)), x, ZERO)
    inside = compare("lt", dim(0), index(11)) if reverse else compare("lt", index(0), dim(0))
    other = add(dim(0), index(1)) if reverse else before(dim(0))
    h.equations = (equation((12,), add(select(inside, load(h, [other]), ZERO), given_here)),)
    return h


def test_a_recurrence_is_zero_until_it_reads_what_is_not() -> None:
    assert elements(steps(4)) == [(k,) for k in range(4, 12)]
    assert elements(steps(0)) is None
    assert elements(steps(4, reverse=True)) is None
    assert elements(steps(12)) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_a_recurrence_of_no_steps_has_no_elements(reverse: bool) -> None:
    h = history("h", 0, reverse=reverse)
    other = add(dim(0), index(1)) if reverse else before(dim(0))
    h.equations = (equation((0,), add(load(h, [other]), load(given("x", 0), [dim(0)]))),)
    assert Supports().of_value(load(h, [dim(0)]), sets.box((0,))).is_empty()


def test_of_factors_bounds_and_equalities_count_and_of_a_cotangent_triangles_too() -> None:
    box = sets.box((3, 3))
    x = load(Tensor("x", (3, 3), FLOAT64), [dim(0), dim(1)])

    def found(op: str, is_exact: bool) -> int:
        guarded = select(compare(op, dim(0), dim(1)), x, ZERO)
        part = defined("p", (3, 3), equation((3, 3), guarded))
        read = load(part, [dim(0), dim(1)])
        return len(list(enumerate_set(Supports().of_value(read, box, part if is_exact else None))))

    assert [found("le", False), found("le", True)] == [9, 6]
    assert [found("lt", False), found("lt", True)] == [4, 3]
    assert [found("eq", False), found("eq", True)] == [3, 3]
