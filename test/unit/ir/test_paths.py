"""Conditions of uses, against every way through a body."""

from __future__ import annotations

import itertools

import pytest

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.paths import (
    MAX_TERMS,
    choices,
    common,
    conjuncts,
    implied_of_indices,
    path_conditions,
    slope_conditions,
)  # fmt: skip
from ted.ir.scalar import (
    FALSE,
    TRUE,
    add,
    apply,
    compare,
    const,
    dim,
    index,
    land,
    lnot,
    load,
    lor,
    mul,
    select,
)
from unit.ir.scalar_values import value

i = dim(0)
X, Y, Z = (load(Tensor(name, (4,), FLOAT64), [i]) for name in "xyz")
ZERO = const(0.0, FLOAT64)
P, Q, R = (compare("lt", ZERO, e) for e in (X, Y, Z))
EARLY, LATE = compare("lt", i, index(2)), compare("le", index(1), i)


def truths(count: int) -> list[dict[str, float]]:
    return [dict(zip("xyz", signs, strict=False)) for signs in
            itertools.product((-1.0, 1.0), repeat=count)]  # fmt: skip


def holds(condition: Expr, signs: dict[str, float], at: int = 1) -> bool:
    return bool(value(condition, (at,), lambda tensor, _: signs[tensor.name]))


def used(root: Expr, node: Expr, signs: dict[str, float]) -> bool:
    """Whether evaluation that skips what it can needs the node."""
    if root is node:
        return True
    if root.op in ("select", "and", "or"):
        if used(root.args[0], node, signs):
            return True
        first = holds(root.args[0], signs)
        if root.op == "select":
            return used(root.args[1 if first else 2], node, signs)
        return first == (root.op == "and") and used(root.args[1], node, signs)
    return any(used(a, node, signs) for a in root.args)


V = apply("exp", X)
BODIES = [
    select(P, V, ZERO), select(P, ZERO, V), select(P, select(Q, V, X), X),
    add(select(P, V, ZERO), select(lnot(P), V, ZERO)), select(P, select(Q, V, ZERO), V),
    select(land(P, compare("lt", ZERO, V)), X, Y), select(lor(P, compare("lt", ZERO, V)), X, Y),
    add(select(land(P, Q), V, ZERO), select(land(P, lnot(Q)), V, ZERO)), mul(V, V),
    add(select(land(P, Q), V, ZERO), select(P, V, ZERO)),
    add(select(P, V, ZERO), select(Q, V, ZERO)), select(P, X, Y),
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_a_condition_holds_exactly_where_the_value_is_used(body: Expr) -> None:
    found = path_conditions(body)
    for signs in truths(3):
        if V in found:
            assert holds(found[V], signs) == used(body, V, signs)
        assert holds(found[body], signs)


def test_several_roots_need_a_value_where_one_does() -> None:
    found = path_conditions(select(P, V, ZERO), select(lnot(P), V, ZERO))
    assert found[V] is TRUE
    assert path_conditions(select(P, V, ZERO), select(P, V, X))[V] is P


def test_slopes_do_not_pass_conditions_and_stops() -> None:
    found = slope_conditions(select(P, mul(X, Y), apply("stop_gradient", V)))
    assert found[Y] is P
    assert found[X] is P
    assert found[V] is FALSE
    assert found[P] is FALSE


def test_wide_disjunctions_keep_what_all_terms_say() -> None:
    count = MAX_TERMS + 1
    each = [compare("lt", const(float(k), FLOAT64), Y) for k in range(count)]
    body = ZERO
    for condition in each:
        body = add(body, select(land(EARLY, condition), V, ZERO))
    assert path_conditions(body)[V] is EARLY
    body = ZERO
    for condition in each[:MAX_TERMS]:
        body = add(body, select(land(EARLY, condition), V, ZERO))
    assert set(conjuncts(path_conditions(body)[V])) != {EARLY}


def test_what_conditions_have_in_common() -> None:
    assert common([land(EARLY, P), land(EARLY, Q)]) is EARLY
    assert common([land(land(EARLY, P), Q), land(EARLY, P)]) is land(EARLY, P)
    assert common([land(P, Q), land(R, Q)]) is TRUE  # Q may be asked behind P or R only
    assert common([land(P, LATE), land(R, LATE)]) is LATE
    assert common([P]) is P


def test_terms_and_choices() -> None:
    both = land(land(P, Q), R)
    assert conjuncts(both) == [P, Q, R]
    assert conjuncts(TRUE) == []
    assert conjuncts(land(land(P, Q), land(Q, R))) == [P, Q, R]
    assert choices(both) == [(TRUE, both), (land(P, Q), R)]
    assert choices(P) == [(TRUE, P)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (EARLY, EARLY), (P, TRUE), (lnot(P), TRUE), (land(EARLY, P), EARLY),
        (lor(EARLY, P), TRUE), (lnot(lor(EARLY, P)), lnot(EARLY)), (lnot(land(EARLY, P)), TRUE),
        (land(lor(EARLY, P), LATE), LATE), (lnot(EARLY), lnot(EARLY)), (lor(EARLY, land(P, LATE)),
                                                                       lor(EARLY, LATE)),
    ],
)  # fmt: skip
def test_what_a_condition_says_of_indices(condition: Expr, expected: Expr) -> None:
    assert implied_of_indices(condition) is expected
