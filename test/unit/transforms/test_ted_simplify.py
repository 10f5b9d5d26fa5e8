"""What simplification merges, drops and stores, and what it must leave apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ted
from ted.ir.dtypes import FLOAT32, FLOAT64, INDEX, INT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    index,
    load,
    loads,
    mod,
    mul,
    replace_tensors,
    select,
)
from ted.transforms.ted_simplify import copied_tensor, simplify, tensor_key, tidy_equations
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import cumsum, equation, given

i, j, k = dim(0), dim(1), dim(2)
ZERO, ONE = const(0.0, FLOAT64), const(1.0, FLOAT64)
X = given("x", 4)
x = load(X, [i])
AS_IT_IS = equation((4,), apply("exp", x))


def pointwise(name: str, body: Expr, combiner: str = "set") -> Tensor:
    return defined(name, (4,), equation((4,), body, combiner))


def clean(*outputs: Tensor, **options: Any) -> tuple[Tensor, ...]:
    return simplify(System((X,), outputs), **options)[0].outputs


def loads_of(tensor: Tensor) -> list[Expr]:
    return [read for e in tensor.equations for read in loads(e.body)]


@pytest.mark.parametrize(
    "other",
    [
        replace(AS_IT_IS, ties="even"), replace(AS_IT_IS, recomputed=True),
        replace(AS_IT_IS, combiner="add"), replace(AS_IT_IS, combiner="max"),
        replace(AS_IT_IS, body=apply("sin", x)), replace(AS_IT_IS, parallel=0),
        replace(AS_IT_IS, write=(mod(add(i, index(1)), index(4)),)),
        equation((3,), apply("exp", x)),
        equation((4,), apply("exp", x), where=compare("lt", i, index(3))),
    ],
)  # fmt: skip
def test_tensors_of_different_equations_are_not_equal(other: Equation) -> None:
    one = defined("one", (4,), AS_IT_IS)
    assert tensor_key(one) != tensor_key(defined("two", (4,), other))
    assert tensor_key(one) == tensor_key(defined("three", (4,), replace(AS_IT_IS)))


def test_tensors_of_different_types_fills_or_shapes_are_not_equal() -> None:
    one = defined("one", (4,), AS_IT_IS)
    for other in ({"dtype": FLOAT32}, {"fill": 1}, {"fill": -0.0}, {"shape": (5,)}):
        assert tensor_key(one) != tensor_key(replace(one, **other))  # type: ignore[arg-type]


def test_maxima_with_other_ties_keep_their_own_gradients() -> None:
    def both(x: Any) -> Any:
        return ted.max(x) + 10 * ted.max(x, ties="even")

    assert ted.grad(both)(np.array([1.0, 3.0, 3.0])).tolist() == pytest.approx([0, 6, 5])
    over = [replace(equation((1, 4), load(X, [j]), "max", 1), ties=t) for t in ("first", "even")]
    first, even = (defined(e.ties, (1,), e, fill=float("-inf")) for e in over)
    total = defined("y", (1,), equation((1,), add(load(first, [i]), load(even, [i]))))
    (root,) = clean(total)
    assert len({read.attr for read in loads_of(root)}) == 2


def test_equal_tensors_become_one() -> None:
    a, b = pointwise("a", apply("exp", x)), pointwise("b", apply("exp", x))
    (root,) = clean(pointwise("y", mul(load(a, [i]), load(b, [i]))))
    assert len({read.attr for read in loads_of(root)}) == 1
    y, z = clean(a, b)
    assert y is not z
    y, z = clean(a, b, alias_outputs=True)
    assert y is z


def test_kept_tensors_stay_as_they_are() -> None:
    a, b = pointwise("a", apply("exp", x)), pointwise("b", apply("exp", x))
    y = pointwise("y", mul(load(a, [i]), load(b, [i])))
    (root,) = clean(y, keep=[a, b])
    assert {read.attr for read in loads_of(root)} == {a, b}
    zero = defined("zero", (4,), replace(AS_IT_IS, combiner="add", body=ZERO), AS_IT_IS)
    assert clean(zero, keep=[zero]) == (zero,)


def test_copies_are_read_through() -> None:
    assert copied_tensor(pointwise("c", x)) is X
    assert copied_tensor(pointwise("c", x, "add")) is X
    one, square = given("one", 1, 4), given("square", 4, 4)
    row = defined("c", (1, 4), equation((1, 4), load(one, [index(0), j])))
    assert copied_tensor(row) is one
    turned = load(X, [mod(add(i, index(1)), index(4))])
    for other in (
        replace(pointwise("c", x, "add"), fill=1), pointwise("c", x, "max"),
        pointwise("c", turned), defined("c", (3,), equation((3,), x)),
        defined("c", (4,), equation((3,), x)), defined("c", (4,), equation((4, 1), x, "set", 1)),
        defined("c", (4,), equation((4,), x), equation((4,), x, "add")),
        defined("c", (4, 4), equation((4, 4), load(square, [index(0), j]))),
        pointwise("c", apply("exp", x)),
    ):  # fmt: skip
        assert copied_tensor(other) is None
    y, z = clean(pointwise("y", x), pointwise("z", apply("exp", x)))
    assert X not in (y, z)
    assert clean(pointwise("y", x), alias_outputs=True) == (X,)


def test_a_tensor_of_one_number_is_that_number_where_it_is_read() -> None:
    ones = pointwise("ones", ONE)
    (root,) = clean(pointwise("y", mul(x, load(ones, [i]))), alias_outputs=True)
    assert root is X
    most = defined("most", (4,), equation((3,), ONE))
    (root,) = clean(pointwise("y", mul(x, load(most, [i]))))
    assert len(loads_of(root)) == 2
    (same,) = clean(ones)
    assert same.equations


def test_what_adds_nothing_is_dropped() -> None:
    never = equation((4,), x, "add", where=compare("lt", i, index(0)))
    nothing = equation((4,), ZERO, "add")
    start = replace(AS_IT_IS, combiner="add")
    (root,) = clean(defined("y", (4,), never, start, nothing))
    assert [(e.combiner, e.body) for e in root.equations] == [("set", apply("exp", x))]
    for kept in (equation((4,), ZERO, "max"), equation((4,), ZERO)):
        assert len(tidy_equations(defined("y", (4,)), [start, kept])) == 2


def test_sums_over_the_same_points_become_one() -> None:
    parts = [equation((4,), b, "add") for b in (x, apply("exp", x))]
    (one,) = tidy_equations(defined("y", (4,)), parts)
    assert (one.combiner, one.body) == ("set", add(x, apply("exp", x)))
    shifted = equation((3,), apply("exp", x), "add", write=(add(i, index(1)),))
    assert len(tidy_equations(defined("y", (4,)), [parts[0], shifted])) == 2
    less = equation((4,), x, "add", where=compare("lt", i, index(2)))
    assert len(tidy_equations(defined("y", (4,)), [parts[1], less])) == 2
    assert len(tidy_equations(defined("y", (4,), fill=1), parts)) == 2


def test_contractions_stay_apart() -> None:
    a, b = given("a", 4, 3), given("b", 3, 4)
    factors = load(a, [i, k]), load(b, [k, j])
    parts = [equation((4, 4, 3), body, "add", 2) for body in (mul(*factors), mul(*factors[::-1]))]
    assert len(tidy_equations(defined("y", (4, 4)), parts)) == 2


def test_what_covers_the_tensor_comes_first_and_stores() -> None:
    part = equation((3,), x, "add", write=(add(i, index(1)),))
    whole = equation((4,), apply("exp", x), "add")
    first, second = tidy_equations(defined("y", (4,)), [part, whole])
    assert (first.combiner, first.body) == ("set", apply("exp", x))
    assert (second.combiner, second.body) == ("add", x)


@pytest.mark.parametrize(
    ("write", "stores"), [(add(i, index(2)), True), (add(i, index(1)), False), (index(3), False)]
)
def test_a_map_stores_where_nothing_was_written_before(write: Expr, stores: bool) -> None:
    first = equation((2,), x, "add")
    second = equation((2,), apply("exp", x), "add", write=(write,))
    found = tidy_equations(defined("y", (4,)), [first, second])
    assert [e.combiner for e in found] == ["set", "set" if stores else "add"]
    one, other = (defined("y", (4,), *e) for e in ((first, second), found))
    before, after = values([X], [one, other], [[1.0, 2, 3, 4]])
    assert before.tolist() == after.tolist()


def test_a_write_at_data_stores_nothing() -> None:
    n = Tensor("n", (4,), INT64)
    at = equation((4,), x, "add", write=(cast(load(n, [i]), INDEX),))
    assert [e.combiner for e in tidy_equations(defined("y", (4,)), [at])] == ["add"]
    found = tidy_equations(defined("y", (4,)), [at, equation((2,), x, "add")])
    assert [e.combiner for e in found] == ["add", "add"]


def test_choices_that_are_decided_go() -> None:
    body = select(compare("lt", i, index(9)), x, apply("exp", x))
    assert clean(pointwise("y", body), alias_outputs=True) == (X,)


def test_recurrences_are_equal_only_if_they_run_alike() -> None:
    one, two = cumsum(4), cumsum(4)
    (source,) = one.inputs
    other = two.output
    mapping = {two.inputs[0]: source}
    other.equations = tuple(
        replace(e, body=replace_tensors([e.body], mapping)[0]) for e in other.equations
    )
    y, z = clean(one.output, other)
    assert y is not z
    assert values([source], [y, z], [[1, 2, 3, 4]])[1].tolist() == [1, 3, 6, 10]


@pytest.mark.parametrize(("number", "is_data"), [(3, False), (4, True), (-1, True)])
def test_an_index_that_becomes_a_number_outside_stays_data(number: int, is_data: bool) -> None:
    places = Tensor("places", (4,), INT64, fill=number)
    (read,) = clean(pointwise("read", load(X, [cast(load(places, [i]), INDEX)])))
    assert (places in [one.attr for one in loads_of(read)]) == is_data
