"""Shared factors of adjoints: the values of the separate adjoints, also where data is masked."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

import ted
from ted.autodiff import materialise
from ted.autodiff.masking import shareable
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT32, FLOAT64, INDEX, INT64
from ted.ir.equations import Tensor as Node
from ted.ir.expressions import Expr
from ted.ir.paths import path_conditions
from ted.ir.scalar import (
    TRUE,
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    div,
    index,
    land,
    lnot,
    load,
    lor,
    mul,
    neg,
    select,
    sub,
)
from ted.testing import check_grads, interpret

Join = Callable[[Scalar, Scalar], Scalar]
ZERO = const(0, FLOAT64)


def read(name: str) -> Expr:
    return load(Node(name, (8,), FLOAT64), [dim(0)])


def positive(e: Expr) -> Expr:
    return compare("lt", ZERO, e)


X, Y, Z, H = (read(name) for name in "xyzh")
P, Q = positive(X), positive(Y)


def test_a_value_under_several_conditions_is_selected_one_condition_at_a_time() -> None:
    roots = [select(land(P, Q), H, ZERO), select(land(P, lnot(Q)), H, ZERO)]
    masked = select(P, H, ZERO)
    assert shareable(roots, [path_conditions(*roots)], X, ()) == [
        select(Q, masked, ZERO),
        select(Q, ZERO, masked),
    ]


def test_a_shared_product_is_zero_where_no_condition_asks_for_it() -> None:
    product = mul(H, Z)
    roots = [
        select(land(P, Q), mul(product, X), ZERO),
        select(land(P, lnot(Q)), mul(product, Y), ZERO),
    ]
    masked = select(P, product, ZERO)
    assert shareable(roots, [path_conditions(*roots)], X, {product}) == [
        select(land(P, Q), mul(masked, X), ZERO),
        select(Q, ZERO, select(P, mul(masked, Y), ZERO)),
    ]


def test_choices_keep_the_bounds_that_their_reads_rely_on() -> None:
    inside = compare("lt", dim(0), index(7))
    following = positive(load(X.attr, [add(dim(0), index(1))]))
    roots = [select(land(inside, following), H, ZERO), select(land(inside, P), H, ZERO)]
    masked = select(inside, H, ZERO)
    assert shareable(roots, [path_conditions(*roots)], X, ()) == [
        select(land(inside, following), masked, ZERO),
        select(land(inside, P), masked, ZERO),
    ]


def test_a_choice_that_reads_at_data_stays_behind_what_guards_it() -> None:
    place = Node("place", (8,), INT64)
    at = cast(load(place, [dim(0)]), INDEX)
    guarded = land(compare("le", index(0), at), positive(load(X.attr, [at])))
    roots = [select(guarded, H, ZERO), select(land(guarded, P), H, ZERO)]
    assert shareable(roots, [path_conditions(*roots)], X, ()) == [
        select(guarded, H, ZERO),
        select(P, select(guarded, H, ZERO), ZERO),
    ]


def test_no_mask_is_made_of_conditions_that_hold_in_different_places() -> None:
    product = mul(H, Z)
    roots = [select(P, mul(product, X), ZERO), select(Q, mul(product, Y), ZERO)]
    apart = [path_conditions(root) for root in roots]
    assert shareable(roots, apart, X, {product}) is None


@pytest.mark.parametrize(
    "body", [mul(H, Z), select(TRUE, mul(H, Z), ZERO)], ids=["itself", "in a choice"]
)
def test_what_the_forward_body_always_computes_is_not_masked(body: Expr) -> None:
    product = mul(H, Z)
    roots = [select(P, mul(product, X), ZERO), select(P, mul(product, Y), ZERO)]
    assert shareable(roots, [path_conditions(*roots)], body, {product}) == roots


def window(join: Join, a: Tensor) -> Tensor:
    return ted.compute((6,), lambda i: reduce(join, [a[i + k] for k in range(4)]), name="y")


def guarded_root(u: Scalar, v: Scalar) -> Scalar:
    return ted.where(u > 0, ted.sqrt(u) * v, v)


def guarded_logarithm(u: Scalar, v: Scalar) -> Scalar:
    return ted.where(u > 0.25, ted.log(u) * v, ted.where(v > 0, ted.sqrt(v) * u, u - v))


def guarded_product(u: Scalar, v: Scalar) -> Scalar:
    return ted.where(ted.abs(v) < 1e300, u * v, u)


JOINS: dict[str, Join] = {
    "maximum": ted.maximum,
    "choice": lambda u, v: ted.where(u > v, u * v, u + v),
    "clip": lambda u, v: ted.clip(u * v, -1.0, 1.0),
    "root": guarded_root,
    "logarithm": guarded_logarithm,
    "hypotenuse": ted.hypot,
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", JOINS)
def test_gradients_of_chains_of_choices_equal_differences(name: str) -> None:
    values = np.random.default_rng(5).normal(size=9) + 0.05
    check_grads(lambda a: window(JOINS[name], a), [values], order=2)


def two_orders(join: Join, values: np.ndarray) -> list[np.ndarray]:
    """Gradients by the input, and by input and head of these."""
    a, h = (ted.placeholder((n,), "float64", name=x) for x, n in (("a", 9), ("h", 6)))
    (first,) = ted.differentiate(window(join, a), [a], head=h)
    second = ted.differentiate(first, [a, h], head=ted.placeholder((9,), "float64", name="g"))
    heads = [np.linspace(1, 2, 6), np.linspace(-1, 1, 9)]
    program = ted.module([first, *second])
    by_name = {"a": values, "h": heads[0], "g": heads[1]}
    block = program.body.operations[0].regions[0].blocks[0]
    names = [str(v.location).split('"')[1] for v in block.arguments]
    return interpret(program, [by_name[name] for name in names])


SPECIAL = {
    "zeros": [0.5, 0.0, 1.0, 0.0, 0.0, 2.0, -1.0, 0.0, 0.5],
    "ties": [1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 0.5, 0.5, 0.5],
    "infinities": [1.0, 2.0, np.inf, 0.5, 1.0, -np.inf, 3.0, 0.5, 2.0],
}


@pytest.mark.fast(2)
@pytest.mark.parametrize("values", SPECIAL)
@pytest.mark.parametrize("join", [ted.maximum, guarded_root, guarded_logarithm, guarded_product])
def test_stored_factors_change_no_value_and_make_no_nan(
    join: Join, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.array(SPECIAL[values])
    shared = two_orders(join, array)
    monkeypatch.setattr(materialise, "_is_worth_sharing", lambda roots, body: False)
    for stored, separate in zip(shared, two_orders(join, array), strict=True):
        np.testing.assert_allclose(stored, separate, rtol=1e-13, atol=1e-13)
    if values != "infinities":
        assert all(np.isfinite(result).all() for result in shared)


@pytest.mark.parametrize(
    "harmless",
    [
        add(H, Z), sub(H, Z), neg(H), cast(H, FLOAT32), select(Q, H, Z), select(P, H, ZERO),
        apply("maximum", H, Z), apply("minimum", H, Z), apply("stop_gradient", H),
        cast(compare("lt", H, Z), FLOAT64), cast(compare("le", H, Z), FLOAT64),
        cast(compare("eq", H, Z), FLOAT64), cast(compare("ne", H, Z), FLOAT64),
        cast(land(P, Q), FLOAT64), cast(lor(P, Q), FLOAT64), cast(lnot(P), FLOAT64),
        select(compare("lt", dim(0), index(3)), H, Z), H,
    ],
    ids=lambda e: e.op,
)  # fmt: skip
def test_what_makes_no_infinite_slopes_is_not_masked(harmless: Expr) -> None:
    roots = [select(land(Q, P), harmless, harmless)]
    conditions = {**path_conditions(*roots), harmless: P}
    unmasked = shareable(roots, [conditions], X, ())
    assert shareable(roots, [conditions], X, {harmless}) == unmasked


@pytest.mark.parametrize(
    "delicate",
    [
        mul(H, Z), div(H, Z), apply("sqrt", H), apply("exp", H), apply("pow", H, Z),
        add(H, mul(H, Z)), apply("maximum", apply("log", H), Z),
        load(X.attr, [cast(load(Node("place", (8,), INT64), [dim(0)]), INDEX)]),
    ],
    ids=lambda e: e.op,
)  # fmt: skip
def test_what_may_have_infinite_slopes_or_reads_at_data_is_masked(delicate: Expr) -> None:
    roots = [select(P, add(delicate, X), ZERO)]
    found = shareable(roots, [{delicate: P}], X, {delicate})
    assert found == [select(P, add(select(P, delicate, ZERO), X), ZERO)]


def test_a_stored_part_of_a_harmless_value_is_masked_by_itself() -> None:
    product = mul(H, Z)
    total = add(product, H)
    roots = [select(P, add(total, X), ZERO)]
    conditions = {total: P, product: P}
    assert shareable(roots, [conditions], X, {total, product}) == [
        select(P, add(add(select(P, product, ZERO), H), X), ZERO)
    ]


def test_a_mask_that_is_computed_from_its_value_is_left_out() -> None:
    product = mul(H, Z)
    itself = positive(product)
    roots = [select(itself, add(product, X), ZERO)]
    assert shareable(roots, [{product: itself}], X, {product}) == roots
    outer, inner = apply("exp", product), positive(apply("exp", product))
    masks = {outer: P, product: inner}
    roots = [select(P, add(outer, X), ZERO)]
    (found,) = shareable(roots, [masks], Y, {outer, product}) or [ZERO]
    assert found == select(P, add(select(P, outer, ZERO), X), ZERO)


def test_of_two_masks_that_are_computed_from_each_others_values_one_is_left_out() -> None:
    one, two = apply("exp", H), apply("exp", Z)
    roots = [select(P, add(one, two), ZERO)]
    (found,) = shareable(roots, [{one: positive(two), two: positive(one)}], X, {one, two}) or [ZERO]
    kept = select(positive(one), two, ZERO)
    assert found in (
        select(P, add(one, kept), ZERO),
        select(P, add(select(positive(two), one, ZERO), two), ZERO),
    )
