"""Adjoints of one body: conditions stay outside, and expressions do not grow faster than it."""

from __future__ import annotations

import itertools

import pytest

from ted.autodiff.body import read_adjoints
from ted.ir.dtypes import FLOAT64, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    iter_weighted,
    land,
    lnot,
    load,
    mul,
    select,
    sub,
)
from unit.autodiff.test_rules import value

X, Y, Z = (Tensor(name, (), FLOAT64) for name in "xyz")
x, y, z = (load(t, ()) for t in (X, Y, Z))
ZERO, ONE = const(0.0, FLOAT64), const(1.0, FLOAT64)
P, Q = compare("lt", ZERO, y), compare("lt", ZERO, z)


def adjoints(root: Expr, *by: Tensor, **options: Expr) -> dict[Expr, Expr]:
    return dict(read_adjoints(root, ONE, lambda t: t in by, **options))


def every_sign() -> list[dict[Tensor, float]]:
    return [{X: 2.0, Y: a, Z: b} for a, b in itertools.product((-1.0, 3.0), repeat=2)]


@pytest.mark.parametrize(
    ("root", "slope"),
    [
        (select(P, x, mul(x, x)), lambda y, z: 1 if y > 0 else 4),
        (select(land(P, Q), mul(x, x), x), lambda y, z: 4 if y > 0 and z > 0 else 1),
        (select(land(P, lnot(Q)), mul(x, x), x), lambda y, z: 4 if y > 0 >= z else 1),
        (mul(x, select(P, select(Q, x, y), z)), lambda y, z: (4 if z > 0 else y) if y > 0 else z),
        (select(P, select(Q, x, ZERO), select(Q, ZERO, x)), lambda y, z: float((y > 0) == (z > 0))),
        (add(select(P, x, ZERO), select(Q, x, ZERO)), lambda y, z: (y > 0) + (z > 0)),
        (mul(select(P, x, ONE), select(P, ONE, x)), lambda y, z: 1),
    ],
)
def test_the_slope_in_every_branch(root: Expr, slope: object) -> None:
    (adjoint,) = adjoints(root, X).values()
    for point in every_sign():
        assert value(adjoint, point) == slope(point[Y], point[Z])  # type: ignore[operator]


def test_reads_are_found_in_the_order_of_the_body() -> None:
    pairs = read_adjoints(mul(add(x, y), z), ONE, lambda _: True)
    assert [read for read, _ in pairs] == [x, y, z]
    assert [read for read, _ in read_adjoints(mul(x, y), ONE, lambda t: t is Y)] == [y]


def test_a_condition_of_the_whole_body_guards_every_adjoint() -> None:
    found = adjoints(mul(x, y), X, Y, condition=Q)
    assert found == {x: select(Q, y, ZERO), y: select(Q, x, ZERO)}


def test_what_is_no_float_or_does_not_vary_has_no_adjoint() -> None:
    n = Tensor("n", (), INT64)
    root = add(cast(load(n, ()), FLOAT64), apply("exp", y))
    assert read_adjoints(root, ONE, lambda t: t is not Y) == []
    assert read_adjoints(mul(apply("floor", x), y), ONE, lambda t: t is X) == []


def test_terms_that_are_zero_are_dropped() -> None:
    assert adjoints(mul(x, ZERO), X) in ({}, {x: ZERO})
    assert adjoints(sub(mul(x, y), mul(x, y)), X)[x] is not None


def test_both_sides_of_a_choice_are_one_term() -> None:
    """Choices inside choices come together again: no condition is left in the slope of a sum."""
    root = x
    for k in range(8):
        condition = compare("lt", const(float(k), FLOAT64), y)
        root = select(condition, add(root, ONE), sub(root, ONE))
    (adjoint,) = adjoints(root, X).values()
    for at in (-1.0, 3.5, 9.0):
        assert value(adjoint, {X: 0.0, Y: at, Z: 0.0}) == 1
    assert sum(n for _, n in iter_weighted(adjoint)) < 60
    assert sum(node.op == "select" for node in postorder(adjoint)) <= 8


def test_products_that_were_made_are_made_again_alike() -> None:
    """The slope of x*x*x in g: g*(x*x) is used wherever (g*x)*x would come up."""
    g = load(Tensor("g", (), FLOAT64), ())
    square = mul(x, x)
    ((_, adjoint),) = read_adjoints(mul(square, square), g, lambda t: t is X)
    assert value(adjoint, {X: 3.0, g.attr: 2.0}) == 2 * 4 * 27
