"""Regions that the gradient computes again: what they depend on, and what is said of them."""

from __future__ import annotations

from ted.ir.dtypes import BOOL, FLOAT64
from ted.ir.equations import Tensor, topological
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import apply, dim, load, mul
from ted.transforms.overrides import override_of
from ted.transforms.recomputation import mark_recomputed
from unit.autodiff.systems import defined
from unit.transforms.recurrences import equation, given

i = dim(0)


X, Z = given("x", 3), given("z", 3)


HEAD = Tensor("head", (3,), FLOAT64)


def pointwise(name: str, body: Expr) -> Tensor:
    return defined(name, (3,), equation((3,), body))


def test_recomputed_regions_depend_on_what_is_given() -> None:
    inner = pointwise("inner", apply("tanh", mul(load(X, [i]), load(Z, [i]))))
    result = pointwise("result", load(inner, [i]))
    mark_recomputed([result], [inner], [X])
    override = override_of(result)
    assert override is not None
    assert override.dependencies == (X, Z)
    assert override.guarded is None
    dx, _ = override.adjoints(result, HEAD)
    again = [t for t in topological([dx]) if any(e.recomputed for e in t.equations)]
    assert again
    assert inner not in topological([dx])
    outside = pointwise("outside", load(Z, [i]))
    copy = pointwise("copy", load(outside, [i]))
    mark_recomputed([copy], [outside], [X])
    assert override_of(copy) is None
    root = pointwise("root", apply("sqrt", load(X, [i])))
    steep = pointwise("steep", load(root, [i]))
    mark_recomputed([steep], [root], [X])
    found, mask = override_of(steep), Tensor("mask", (3,), BOOL)
    assert found is not None
    assert found.guarded is not None
    assert any(n.op == "select" for t in topological(found.guarded(mask, steep, HEAD))
               for e in t.equations for n in postorder(e.body))  # fmt: skip
