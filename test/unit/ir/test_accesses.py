"""How reads become operands with guards, or loads under conditions."""

from __future__ import annotations

import pytest

from ted.ir.accesses import AffineRead, DataRead, affine_subscripts, conjunction, plan_accesses
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.paths import conjuncts
from ted.ir.scalar import (
    TRUE,
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    index,
    land,
    load,
    lor,
    mul,
    select,
    sub,
    unchecked,
)
from unit.domain.random_maps import enumerate_set
from unit.transforms.recurrences import equation

i = dim(0)
X, N = Tensor("x", (6,), FLOAT64), Tensor("n", (6,), INT64)
x, at = load(X, [i]), cast(load(N, [i]), INDEX)
ZERO = const(0.0, FLOAT64)
BEFORE = load(X, [sub(i, index(1))])
LATER = compare("lt", index(0), i)
POSITIVE = compare("lt", ZERO, x)


def plan(body: Expr, extent: int = 6):
    return plan_accesses(equation((extent,), body))


def test_a_read_everywhere_has_no_guard() -> None:
    found = plan(mul(x, x))
    assert found.affine[x] == AffineRead(x, found.affine[x].subscripts, (), None)
    assert [str(s) for s in found.affine[x].subscripts] == ["d0"]
    assert found.data == {}


@pytest.mark.parametrize(
    ("other", "replaced"), [(ZERO, True), (const(-0.0, FLOAT64), False), (x, False)]
)
def test_a_choice_of_indices_becomes_a_guard(other: Expr, replaced: bool) -> None:
    found = plan(select(LATER, BEFORE, other))
    guard = found.affine[BEFORE]
    assert [str(c) for c in guard.guard] != []
    assert enumerate_set(guard.points) == [(k,) for k in range(1, 6)]
    assert (found.body is BEFORE) == replaced


def test_a_condition_on_data_makes_a_guard_of_its_indices_only() -> None:
    found = plan(select(land(LATER, POSITIVE), BEFORE, ZERO))
    assert enumerate_set(found.affine[BEFORE].points) == [(k,) for k in range(1, 6)]
    assert found.body.op == "select"


def test_a_guard_of_several_parts_is_widened_only_inside_the_tensor() -> None:
    ends = lor(compare("lt", i, index(2)), compare("lt", index(3), i))
    assert plan(select(ends, x, ZERO)).affine[x].guard == ()
    far = load(X, [add(mul(i, i), i)])
    assert isinstance(plan(select(ends, far, ZERO)).data[far], DataRead)
    beyond = lor(compare("lt", i, index(2)), compare("eq", i, index(4)))
    shifted = load(X, [add(i, index(1))])
    found = plan(select(beyond, shifted, ZERO))
    assert enumerate_set(found.affine[shifted].points) == [(k,) for k in range(5)]


def test_an_index_of_data_is_checked_unless_it_is_proved_or_trusted() -> None:
    inside = land(compare("le", index(0), at), compare("lt", at, index(6)))
    clipped = apply("minimum", apply("maximum", at, index(0)), index(5))
    for index_, condition, checked in (
        (at, TRUE, (0,)), (unchecked(at), TRUE, ()), (at, inside, ()), (clipped, TRUE, ()),
    ):  # fmt: skip
        read = load(X, [index_])
        found = plan(select(condition, read, ZERO)).data[read]
        assert found.checked == checked
        assert found.predicate is condition


def test_a_read_that_is_never_made_has_an_impossible_guard() -> None:
    never = select(compare("lt", i, index(0)), BEFORE, x)
    found = plan(never)
    assert BEFORE not in found.affine or found.affine[BEFORE].points.is_empty()


def test_reads_inside_predicates_are_planned() -> None:
    inner = load(X, [at])
    body = select(compare("lt", ZERO, inner), load(X, [cast(load(N, [index(0)]), INDEX)]), x)
    found = plan(body)
    assert inner in found.data
    assert load(N, [i]) in found.affine
    assert load(N, [index(0)]) in found.affine


def test_terms_of_conditions_are_said_once() -> None:
    twice = conjunction(land(land(LATER, POSITIVE), LATER))
    assert sorted(map(repr, conjuncts(twice))) == sorted(map(repr, [LATER, POSITIVE]))
    assert not {"and"} & {term.op for term in twice.args}
    assert conjunction(TRUE) is TRUE


def test_subscripts_that_are_affine_on_the_points() -> None:
    box = equation((6,), x).domain
    assert affine_subscripts([i, index(2)], box) is not None
    assert affine_subscripts([i, at], box) is None
    clamp = apply("minimum", i, index(9))
    found = affine_subscripts([clamp], box)
    assert found is not None
    assert str(found[0]) == "d0"
    assert affine_subscripts([apply("minimum", i, index(3))], box) is None
