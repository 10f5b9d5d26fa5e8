"""What sweeps get, the way back, and overrides that leave something out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted.autodiff.override import Override
from ted.errors import DerivativeError
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, rewrite_system, topological
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, compare, const, dim, load, mul, select
from ted.transforms.preparation import no_overrides, prepare
from unit.autodiff.systems import defined
from unit.transforms.recurrences import equation, given

i = dim(0)
ONE = const(1.0, FLOAT64)
X, W = given("x", 3), given("w", 3)


def at(tensor: Tensor) -> Expr:
    return load(tensor, [i])


def pointwise(name: str, body: Expr) -> Tensor:
    return defined(name, (3,), equation((3,), body))


def named(*dependencies: Tensor) -> Override:
    return Override(dependencies, lambda tensor, head: [head] * len(dependencies))


def overriding(**overrides: Override) -> object:
    return lambda tensor: overrides.get(tensor.name)


def renamed(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """A stage that replaces every tensor by a copy."""
    return rewrite_system(
        system, lambda t, e: e if t.is_input else replace(t, name=f"{t.name}_2", equations=e)
    )


def test_results_of_stages_read_what_the_program_computes() -> None:
    s = pointwise("s", apply("exp", at(X)))
    y = pointwise("y", mul(at(s), at(W)))
    prepared = prepare(System((X, W), (y,)), lambda cut: [renamed, renamed], no_overrides)
    (new,) = prepared.system.outputs
    assert new.name == "y_2_2"
    assert prepared.became[y] is new
    assert prepared.origin[new] is y
    made = pointwise("dw", at(prepared.became[s]))
    (back,) = prepared.restored([made])
    assert topological([back]) == [X, s, back]
    assert prepared.system.inputs == (X, W)


def test_a_tensor_with_an_override_is_cut_off_from_what_computes_it() -> None:
    s = pointwise("s", apply("exp", at(X)))
    y = pointwise("y", mul(at(s), at(W)))
    seen: list[list[Tensor]] = []

    def stages(cut: list[Tensor]) -> list[object]:
        seen.append([*cut])
        return []

    prepared = prepare(System((X, W), (y,)), stages, overriding(s=named(X)))
    ((opaque, override),) = prepared.overrides.items()
    assert opaque.is_input
    assert seen == [[opaque]]
    assert override.dependencies == (X,)
    assert prepared.origin[opaque] is s
    (back,) = prepared.restored([pointwise("z", at(opaque))])
    assert topological([back]) == [X, s, back]


def test_overrides_behind_overrides_are_found() -> None:
    a = pointwise("a", apply("exp", at(X)))
    b = pointwise("b", apply("exp", at(a)))
    y = pointwise("y", at(b))
    prepared = prepare(System((X,), (y,)), lambda cut: [], overriding(b=named(a), a=named(X)))
    assert {t.name for t in prepared.overrides} == {"a", "b"}


HIDDEN = [
    lambda: mul(at(X), at(W)),
    lambda: add(mul(apply("exp", at(W)), ONE), at(X)),
    lambda: select(compare("lt", at(X), ONE), at(X), mul(at(X), at(W))),
    lambda: mul(at(X), at(pointwise("inner", mul(apply("sin", at(W)), ONE)))),
]


@pytest.mark.parametrize("body", HIDDEN)
def test_an_override_that_leaves_out_an_input_is_refused(body: object) -> None:
    s = pointwise("s", body())  # type: ignore[operator]
    with pytest.raises(DerivativeError, match=r"override of s\[3\]: .* got a way to w\[3\] past"):
        prepare(System((X, W), (s,)), lambda cut: [], overriding(s=named(X)))


@pytest.mark.parametrize(
    "body",
    [
        lambda: mul(at(X), apply("stop_gradient", at(W))),
        lambda: select(compare("lt", at(W), ONE), at(X), ONE),
        lambda: apply("exp", at(X)),
    ],
)
def test_what_has_no_slope_need_not_be_named(body: object) -> None:
    s = pointwise("s", body())  # type: ignore[operator]
    prepare(System((X, W), (s,)), lambda cut: [], overriding(s=named(X)))
    prepare(System((X, W), (s,)), lambda cut: [], overriding(s=named()))


def test_a_way_through_another_override_is_covered_by_what_that_one_names() -> None:
    inner = pointwise("inner", mul(at(X), at(W)))
    outer = pointwise("outer", apply("exp", at(inner)))
    both = {"inner": named(X, W), "outer": named(inner)}
    prepare(System((X, W), (outer,)), lambda cut: [], overriding(**both))
    with pytest.raises(DerivativeError, match="override of outer"):
        prepare(System((X, W), (outer,)), lambda cut: [], overriding(outer=named(X)))
