"""Overrides follow their tensors through rewriting, and say the same of what they became."""

from __future__ import annotations

from dataclasses import replace

from ted.autodiff.override import Override
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor, topological
from ted.ir.expressions import Expr
from ted.ir.scalar import apply, dim, load, mul
from ted.transforms.overrides import carry, mark, moved, override_of, substituted
from unit.autodiff.systems import defined
from unit.transforms.recurrences import equation, given

i = dim(0)


X, Z = given("x", 3), given("z", 3)


HEAD = Tensor("head", (3,), FLOAT64)


def pointwise(name: str, body: Expr) -> Tensor:
    return defined(name, (3,), equation((3,), body))


def marked(name: str = "y") -> Tensor:
    y = pointwise(name, apply("exp", load(X, [i])))
    mark(y, Override((X,), lambda tensor, head: [
        pointwise("dx", mul(load(head, [i]), load(X, [i])))
    ]))  # fmt: skip
    return y


def test_a_mark_belongs_to_its_tensor() -> None:
    y = marked()
    assert override_of(y) is not None
    assert override_of(X) is None
    assert override_of(replace(y)) is None


def test_substituted_tensors_have_substituted_derivatives() -> None:
    y = marked()
    above = pointwise("above", load(y, [i]))
    (new,) = substituted([above], {X: Z})
    assert topological([new])[0] is Z
    inner = topological([new])[1]
    override = override_of(inner)
    assert override is not None
    assert override.dependencies == (Z,)
    (dz,) = override.adjoints(inner, HEAD)
    assert topological([dz]) == [HEAD, Z, dz]
    assert substituted([above], {Z: X}) == (above,)


def test_what_has_a_derivative_already_keeps_it() -> None:
    old, new, other = marked("old"), marked("new"), pointwise("other", load(X, [i]))
    own = override_of(new)
    carry({old: new})
    assert override_of(new) is own
    carry({old: other}, {X: Z})
    found = override_of(other)
    assert found is not None
    assert found.dependencies == (Z,)
    carry({other: other})
    assert override_of(other) is found


def test_guarded_derivatives_move_too() -> None:
    mask = Tensor("mask", (3,), FLOAT64)
    override = Override(
        (X,), lambda tensor, head: [head],
        lambda mask, tensor, head: [pointwise("dx", mul(load(mask, [i]), load(X, [i])))],
    )  # fmt: skip
    new = moved(override, {X: Z})
    assert new.guarded is not None
    (dz,) = new.guarded(mask, X, HEAD)
    assert Z in topological([dz])
    assert moved(Override((X,), override.adjoints), {}).guarded is None
