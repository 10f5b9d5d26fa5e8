"""Guarded producers that one equation reads go into it, others get masks."""

from __future__ import annotations

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, operands
from ted.ir.expressions import Expr
from ted.ir.scalar import apply, compare, const, dim, load, mul, select
from ted.transforms.guarded_producers import inline_guarded_producers
from unit.autodiff.systems import defined
from unit.transforms.recurrences import equation, given

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
