"""Index expressions and integer sets: the same values, both ways."""

from __future__ import annotations

import itertools

import pytest

from ted.domain import sets
from ted.ir.affine import (
    NotAffine,
    aff_to_expr,
    canonical_index,
    canonical_indices,
    condition_bounds,
    condition_set,
    decide_selects,
    is_affine,
    piecewise,
    single_piece,
    where_possible,
)  # fmt: skip
from ted.ir.affine_attributes import expr_to_aff
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    FALSE,
    TRUE,
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    floordiv,
    index,
    land,
    lnot,
    load,
    lor,
    mod,
    mul,
    neg,
    select,
    sub,
)
from unit.domain.random_maps import enumerate_set
from unit.ir.scalar_values import value

i, j = dim(0), dim(1)
BOX = sets.box((4, 5))
POINTS = list(itertools.product(range(4), range(5)))
X = load(Tensor("x", (9,), FLOAT64), [i])
N = load(Tensor("n", (9,), INT64), [i])
DATA = cast(N, INDEX)
POSITIVE = compare("lt", const(0.0, FLOAT64), X)
VALUES = [
    index(3), i, neg(j), add(mul(i, index(2)), sub(j, index(1))), mul(index(-3), i),
    floordiv(add(i, j), index(3)), mod(sub(i, j), index(3)), floordiv(neg(i), index(2)),
    apply("minimum", i, j), apply("maximum", sub(i, j), index(0)), apply("abs", sub(i, j)),
    select(compare("lt", i, j), i, mul(j, index(2))),
    mod(add(floordiv(j, index(2)), i), index(2)),
    floordiv(add(i, j), index(-2)), mod(sub(i, j), index(-3)),
]  # fmt: skip
CONDITIONS = [
    TRUE, FALSE, compare("lt", i, j), compare("le", add(i, j), index(4)), compare("eq", i, j),
    compare("ne", i, index(2)), land(compare("lt", i, j), compare("ne", j, index(3))),
    lor(compare("eq", mod(i, index(2)), index(0)), compare("lt", j, i)), lnot(compare("lt", i, j)),
    compare("lt", apply("maximum", i, j), index(3)),
]  # fmt: skip


@pytest.mark.parametrize("e", VALUES, ids=repr)
def test_values_are_those_of_the_expression(e: Expr) -> None:
    function = piecewise(e, BOX)
    for at in POINTS:
        there = function.intersect_domain(sets.bounding_box([(a, a) for a in at]))
        assert sets.to_int(there.max_val()) == value(e, at)
    plain = expr_to_aff(e)
    if plain is not None:
        assert [plain.evaluate(at) for at in POINTS] == [value(e, at) for at in POINTS]
        assert [value(aff_to_expr(plain), at) for at in POINTS] == [value(e, at) for at in POINTS]
    short = canonical_index(e, BOX)
    assert [value(short, at) for at in POINTS] == [value(e, at) for at in POINTS]


@pytest.mark.parametrize("e", CONDITIONS, ids=repr)
def test_points_are_those_where_the_condition_holds(e: Expr) -> None:
    found = enumerate_set(condition_set(e, BOX).intersect(BOX))
    assert found == [at for at in POINTS if value(e, at)]
    over, under = condition_bounds(e, BOX)
    assert over.intersect(BOX).is_equal(under.intersect(BOX))


def test_what_is_no_function_of_the_dims_is_refused() -> None:
    for e in (DATA, mul(i, j), floordiv(i, j), add(i, DATA)):
        assert not is_affine(e, BOX)
        with pytest.raises(NotAffine):
            piecewise(e, BOX)
    assert not is_affine(POSITIVE, BOX)
    assert is_affine(compare("lt", i, j), BOX)
    assert is_affine(i, BOX)


@pytest.mark.parametrize(
    ("e", "least", "most"),
    [
        (POSITIVE, [], [0, 1, 2, 3]),
        (land(POSITIVE, compare("lt", i, index(2))), [], [0, 1]),
        (lor(POSITIVE, compare("lt", i, index(2))), [0, 1], [0, 1, 2, 3]),
        (lnot(land(POSITIVE, compare("lt", i, index(2)))), [2, 3], [0, 1, 2, 3]),
        (lnot(lor(POSITIVE, compare("lt", i, index(2)))), [], [2, 3]),
        (compare("lt", i, index(2)), [0, 1], [0, 1]),
        (compare("eq", DATA, i), [], [0, 1, 2, 3]),
    ],
)
def test_conditions_on_data_have_an_inner_and_an_outer_bound(
    e: Expr, least: list[int], most: list[int]
) -> None:
    line = sets.box((4,))
    over, under = condition_bounds(e, line)
    assert [k for (k,) in enumerate_set(over.intersect(line))] == most
    assert [k for (k,) in enumerate_set(under.intersect(line))] == least
    assert [k for (k,) in enumerate_set(where_possible(e, line))] == most


def test_one_piece_on_the_domain_is_found() -> None:
    clamp = apply("minimum", i, index(9))
    found = single_piece(clamp, BOX)
    assert found is not None
    assert [found.evaluate(at) for at in POINTS] == [at[0] for at in POINTS]
    assert single_piece(apply("minimum", i, j), BOX) is None
    assert canonical_index(clamp, BOX) is i
    assert canonical_index(mod(i, index(4)), BOX) is i
    assert canonical_index(floordiv(i, index(4)), BOX) is index(0)
    assert canonical_index(DATA, BOX) is DATA
    read = load(X.attr, [clamp])
    assert canonical_indices([read], BOX) == [X]


def test_choices_are_decided_by_the_points() -> None:
    y = apply("exp", X)
    early = sets.box((2, 5))
    for condition, domain, expected in (
        (compare("lt", i, index(2)), early, X), (compare("lt", i, index(2)), BOX, None),
        (compare("le", index(2), i), early, y), (POSITIVE, early, None),
    ):  # fmt: skip
        e = select(condition, X, y)
        assert decide_selects([e], domain) == [e if expected is None else expected]
