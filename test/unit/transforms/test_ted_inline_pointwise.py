"""Producers under a condition: inlined where their slope may be infinite, else left alone."""

from __future__ import annotations

import pytest

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, operands
from ted.ir.expressions import Expr
from ted.ir.scalar import apply, compare, const, dim, index, load, mul, select
from ted.transforms.guarded_producers import inline_guarded_producers
from ted.transforms.ted_inline_pointwise import has_unbounded_slope, inline_pointwise
from unit.autodiff.systems import defined
from unit.transforms.recurrences import cumsum, equation, given

i, j = dim(0), dim(1)


X, W = given("x", 4), given("w", 4)


ZERO = const(0.0, FLOAT64)


POSITIVE = compare("lt", ZERO, load(X, [i]))


def at(tensor: Tensor) -> Expr:
    return load(tensor, [i])


def pointwise(name: str, body: Expr) -> Tensor:
    return defined(name, (4,), equation((4,), body))


ROOT = pointwise("root", apply("sqrt", at(X)))


def guarded(producer: Tensor, name: str = "y") -> Tensor:
    return pointwise(name, select(POSITIVE, mul(at(producer), at(W)), ZERO))


def test_a_root_goes_under_its_condition() -> None:
    (y,) = inline_pointwise(System((X, W), (guarded(ROOT),)))[0].outputs
    assert operands(y) == (X, W)
    assert y.equations[0].body is select(POSITIVE, mul(apply("sqrt", at(X)), at(W)), ZERO)


@pytest.mark.parametrize(
    "reader",
    [
        pointwise("y", mul(at(ROOT), at(W))),  # no condition
        pointwise("y", select(compare("lt", i, index(2)), at(ROOT), ZERO)),  # none on data
        guarded(pointwise("s", mul(at(X), at(W)))),  # bounded
        guarded(defined("part", (4,), equation((4,), apply("sqrt", at(X)),
                                              where=compare("lt", i, index(3))))),
        guarded(defined("total", (4,), equation((4, 4), apply("sqrt", load(X, [j])), "add", 1))),
        guarded(pointwise("number", apply("sqrt", const(2.0, FLOAT64)))),
    ],
)  # fmt: skip
def test_what_needs_no_guard_or_is_no_map_stays(reader: Tensor) -> None:
    assert inline_pointwise(System((X, W), (reader,)))[0].outputs == (reader,)


def test_kept_producers_stay() -> None:
    y = guarded(ROOT)
    assert inline_pointwise(System((X, W), (y,)), keep=[ROOT])[0].outputs == (y,)


def test_slopes_are_looked_for_through_maps_and_sums() -> None:
    plain = pointwise("plain", mul(at(X), at(X)))
    above = pointwise("above", mul(at(ROOT), at(W)))
    total = defined("total", (4,), equation((4, 4), apply("log", load(X, [j])), "add", 1))
    most = defined("most", (4,), equation((4, 4), apply("log", load(X, [j])), "max", 1))
    found = [has_unbounded_slope(t) for t in (plain, ROOT, above, total, most, X)]
    assert found == [False, True, True, True, False, False]
    assert not has_unbounded_slope(ROOT, 0)
    assert not has_unbounded_slope(cumsum(4).output)


def test_a_producer_of_several_readers_is_masked_instead() -> None:
    y = guarded(ROOT)
    (alone,) = inline_guarded_producers(System((X, W), (y,)))[0].outputs
    assert ROOT not in operands(alone)
    both = System((X, W), (y, guarded(ROOT, "z")))
    assert all(ROOT in operands(t) for t in inline_guarded_producers(both)[0].outputs)


def test_a_producer_that_always_has_a_slope_is_not_copied() -> None:
    """Its derivative is what it is through the other reader, whatever the condition says."""
    y, z = guarded(ROOT), pointwise("z", apply("sin", at(ROOT)))
    system = inline_guarded_producers(System((X, W), (y, z)))[0]
    assert all(ROOT in operands(t) for t in system.outputs)
    # What reads a part of it leaves the other elements to the condition, but is a reader, too.
    half = defined("z", (2,), equation((2,), load(ROOT, [i])))
    system = inline_guarded_producers(System((X, W), (y, half)))[0]
    assert all(ROOT in operands(t) for t in system.outputs)
