"""Sorting, quantiles and searching against numpy and torch, and their gradients."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import FrontendError
from ted.frontend import sorting
from ted.frontend.sorting_groups import group_size
from unit.frontend.tracing import compiled, run

RANDOM = np.random.default_rng(5)
TIES = RANDOM.integers(-3, 4, (5, 6)).astype(float)
SPECIAL = np.array([np.nan, 1.0, np.inf, -0.0, -np.inf, np.nan, 0.0, 1.0])


@pytest.fixture(params=[64, 1], ids=["counted", "network"])
def few(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_COUNTED", request.param)


@pytest.mark.fast(1)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", ["float64", "int8", "bool"])
def test_orders_are_those_of_numpy(kind: str) -> None:
    x = TIES.astype(kind)

    def function(t: Any) -> list[Any]:
        orders = [ted.argsort(t, axis=k, descending=d) for k in (0, 1) for d in (False, True)]
        return [*orders, ted.sort(t), t.sort(axis=0, descending=True)]

    expected = [
        np.argsort(x if not d else -x.astype(int), axis=k, kind="stable")
        for k in (0, 1)
        for d in (False, True)
    ]
    expected += [np.sort(x), np.flip(np.sort(x, axis=0), 0)]
    for mine, other in zip(run(function, x), expected, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.usefixtures("few")
def test_nan_is_the_greatest_and_zeros_keep_their_signs() -> None:
    rising, falling, order = run(
        lambda t: [ted.sort(t), ted.sort(t, descending=True), ted.argsort(t)], SPECIAL
    )
    np.testing.assert_array_equal(rising, np.sort(SPECIAL))
    np.testing.assert_array_equal(order, np.argsort(SPECIAL, kind="stable"))
    expected, _ = torch.sort(torch.tensor(SPECIAL), descending=True, stable=True)
    np.testing.assert_array_equal(falling, expected.numpy())
    zeros = rising == 0
    np.testing.assert_array_equal(np.signbit(rising[zeros]), [True, False])


def test_machine_code_sorts_by_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_COUNTED", 1)
    x = RANDOM.integers(-4, 4, (7, 2)).astype(np.float32)
    order, values = compiled(lambda t: [ted.argsort(t, axis=0), ted.sort(t, axis=0)], x)
    np.testing.assert_array_equal(order, np.argsort(x, axis=0, kind="stable"))
    np.testing.assert_array_equal(values, np.sort(x, axis=0))


def _numbers(kind: str) -> np.ndarray:
    """Many equal ones, and those at the ends of a type."""
    drawn = np.random.default_rng(8).integers(-20, 20, 35)
    if np.dtype(kind).kind in "iu":
        ends = np.iinfo(kind)
        few = [ends.min, ends.max, ends.max - 1, ends.min + 1, 0, ends.max, ends.min]
        return np.concatenate([drawn.astype(kind), np.array(few, kind)])
    tiny = np.finfo(kind).smallest_subnormal
    few = [0.0, -0.0, tiny, -tiny, 3 * tiny, np.inf, -np.inf, np.nan, -0.0, 0.0, np.nan, np.inf]
    near = np.nextafter(np.array([1, -1, 2, -2, 1, -1], kind), np.array(0, kind))
    steps = np.array([*few, *np.finfo(kind).max * np.array([1, -1, 1])], kind)
    return np.concatenate([(drawn / 8).astype(kind), near, steps])


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", ["float32", "int32", "float64", "float16", "uint64", "uint32"])
def test_keys_hold_every_value_and_its_position(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_COUNTED", 1)  # less to compile
    x = _numbers(kind)
    rising, downwards, falling = compiled(
        lambda t: [ted.argsort(t), ted.sort(t, descending=True),
                   ted.argsort(t[20:], descending=True)], x,
    )  # fmt: skip
    np.testing.assert_array_equal(rising, np.argsort(x, kind="stable"))
    values = torch.sort(torch.tensor(x), stable=True, descending=True).values.numpy()
    np.testing.assert_array_equal(downwards, values)
    order = torch.argsort(torch.tensor(x[20:]), stable=True, descending=True).numpy()
    np.testing.assert_array_equal(falling, order)


@pytest.mark.fast(1)
@pytest.mark.parametrize("shape", [(130, 3), (70, 20), (257,), (65, 1)])
def test_columns_are_sorted_by_themselves(shape: tuple[int, ...]) -> None:
    x = RANDOM.integers(-9, 9, shape).astype(np.float32)
    order, values = compiled(
        lambda t: [ted.argsort(t, axis=0), ted.sort(ted.cast(t, "int32"), axis=0)], x
    )
    np.testing.assert_array_equal(order, np.argsort(x, axis=0, kind="stable"))
    np.testing.assert_array_equal(values, np.sort(x, axis=0))


def test_gradients_go_where_elements_came_from_without_a_scatter() -> None:
    x = RANDOM.standard_normal((4, 3))
    weights = np.arange(1.0, 5.0)[:, None]

    def loss(t: Any, sort: Any) -> Any:
        return (sort(t) ** 3 * weights).sum()

    gradient = ted.grad(lambda t: loss(t, lambda v: ted.sort(v, axis=0)))
    t = torch.tensor(x, requires_grad=True)
    value = (torch.sort(t, dim=0).values ** 3 * torch.tensor(weights)).sum()
    (first,) = torch.autograd.grad(value, t, create_graph=True)
    np.testing.assert_allclose(gradient(x), first.detach().numpy(), rtol=1e-14)
    (second,) = torch.autograd.grad((first**2).sum(), t)
    twice = ted.grad(lambda v: ted.sum(gradient(v) ** 2))
    np.testing.assert_allclose(twice(x), second.numpy(), rtol=1e-13)
    y = ted.placeholder((4, 3), "float64", name="x")
    found = ted.differentiate(loss(y, lambda v: ted.sort(v, axis=0)), [y])
    scatters = [line.split(":")[0].strip() for line in str(found.report()).splitlines()
                if "scatter (" in line]  # fmt: skip
    assert set(scatters) <= {"scatter"}, "the two of the sort itself"


def test_quantiles_are_those_of_numpy() -> None:
    x = TIES + RANDOM.standard_normal(TIES.shape)
    methods = ("linear", "lower", "higher", "midpoint", "nearest")

    def function(t: Any) -> list[Any]:
        found = [ted.quantile(t, 0.3, axis=0, method=m) for m in methods]
        found += [ted.median(t), ted.median(t, axis=1, keepdims=True), t.median(axis=(0, 1))]
        return [*found, ted.quantile(t, [0.0, 0.5, 1.0], axis=1)]

    expected = [np.quantile(x, 0.3, axis=0, method=m) for m in methods]
    expected += [np.median(x), np.median(x, axis=1, keepdims=True), np.median(x)]
    expected.append(np.quantile(x, [0.0, 0.5, 1.0], axis=1))
    for mine, other in zip(run(function, x), expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-14)
    assert np.isnan(run(ted.median, SPECIAL))


def test_quantiles_of_integers_that_float32_does_not_hold_are_those_of_numpy() -> None:
    x = 2**31 - 1 - np.arange(9)
    for kind in ("int32", "int64", "uint32"):
        given = x.astype(kind)
        for name in ("quantile", "nanquantile"):
            found = run(lambda t, name=name: getattr(ted, name)(t, [0.3, 0.5]), given)
            np.testing.assert_array_equal(found, np.quantile(given, [0.3, 0.5]), strict=True)
    assert run(ted.median, x.astype("int16")).dtype == np.float32


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_ranks_are_searched_for_among_many(kind: str) -> None:
    x = _numbers(kind)
    x = RANDOM.permuted(np.tile(x[~np.isnan(x)], (3, 2)), axis=1)
    shares = [0.0, 0.31, 0.999]
    lower, upper, all_of_it, bad = compiled(
        lambda t: [ted.quantile(t, shares, 1, "lower"), ted.quantile(t, 0.7, 1, "higher"),
                   ted.quantile(t[None], 0.5, (0, 2), "lower"),
                   ted.median(ted.where(t > 1.5, np.nan, t), 1)], x,
    )  # fmt: skip
    np.testing.assert_array_equal(lower, np.quantile(x, shares, 1, method="lower"))
    np.testing.assert_array_equal(upper, np.quantile(x, 0.7, 1, method="higher"))
    np.testing.assert_array_equal(all_of_it, np.quantile(x[None], 0.5, (0, 2), method="lower"))
    assert np.isnan(bad).all()


def test_the_middle_of_infinities_is_one() -> None:
    x = np.array([[np.inf, np.inf], [-np.inf, 0.0], [0.0, np.inf], [-np.inf, np.inf]])
    for median in (ted.median, ted.nanmedian):
        found = run(lambda t, median=median: median(t, 1), x)
        np.testing.assert_array_equal(found, [np.inf, -np.inf, np.inf, np.nan])


@pytest.mark.parametrize("n", [7, 81])
def test_slopes_of_quantiles_are_shared_by_equal_elements(n: int) -> None:
    x = np.arange(n, dtype=float) // 2 * 2.0
    x[n // 2 - 2 : n // 2 + 1] = n // 2
    gradient = ted.grad(lambda t: ted.median(t) ** 2)
    expected = np.where(x == n // 2, 2.0 * (n // 2) / np.sum(x == n // 2), 0)
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-14)
    second = ted.grad(lambda t: ted.sum(gradient(t) * np.arange(n)))(x)
    weight = np.mean(np.arange(n)[x == n // 2])
    np.testing.assert_allclose(second, expected / (n // 2) * weight, rtol=1e-14)


def test_the_greatest_elements_and_their_places() -> None:
    values, places = run(lambda t: list(ted.topk(t, 3, axis=1)), TIES)
    expected = torch.topk(torch.tensor(TIES), 3).values.numpy()
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.take_along_axis(TIES, places, axis=1), values)
    assert run(lambda t: ted.topk(t, 2, largest=False)[0], TIES).shape == (5, 2)
    assert run(lambda t: ted.topk(t, 0)[1], TIES).shape == (5, 0)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("kind", "largest"),
    [("float32", True), ("int32", False), ("float64", True)],
)
def test_few_of_many_are_those_of_a_stable_order(kind: str, largest: bool) -> None:
    x = RANDOM.permuted(np.tile(_numbers(kind), (2, 6)), axis=1)
    x = np.stack([x, np.roll(x, 7, 1), x[:, ::-1]], 2)
    found = compiled(
        lambda t: [*ted.topk(t, 5, 1, largest), *ted.topk(t[0, :, 0], 3, 0, largest)], x
    )
    order = torch.argsort(torch.tensor(x), dim=1, descending=largest, stable=True).numpy()
    for values, places, here, start in (
        (*found[:2], x, order[:, :5]), (*found[2:], x[0, :, 0], order[0, :3, 0])
    ):  # fmt: skip
        np.testing.assert_array_equal(places, start)
        np.testing.assert_array_equal(values, np.take_along_axis(here, start, here.ndim // 2))


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "float64"])
def test_equal_elements_and_nan_of_groups_keep_their_order(kind: str) -> None:
    x = np.zeros((4, 203))
    x[0, [10, 100, 101]] = 1, 2, 1  # what comes second is before the group of the first
    x[1:3] = 2 - x[0]
    if kind.startswith("float"):
        x[2, [10, 102]] = 0, np.nan
        x[3] = np.nan
        x[3, 100] = np.inf
    x = x.astype(kind)
    found = compiled(lambda t: [ted.topk(t, 2, 1, falls)[1] for falls in (True, False)], x)
    for falls, places in zip((True, False), found, strict=True):
        order = torch.argsort(torch.tensor(x), dim=1, descending=falls, stable=True)
        np.testing.assert_array_equal(places, order[:, :2])


def test_groups_leave_a_fourth_of_the_elements_or_are_none() -> None:
    for n, k in [(1 << 20, 50), (32000, 50), (1000, 5), (203, 2), (100, 20), (5, 5), (9, 0)]:
        size = group_size(n, k)
        assert size == 1 or 4 * (-(-n // size) + k * size) <= n + 4
    assert group_size(1 << 20, 50) == 128
    assert group_size(100, 20) == 1


def test_gradients_of_the_greatest_go_where_these_are() -> None:
    x = RANDOM.standard_normal((2, 90))
    gradient = ted.grad(lambda t: (ted.topk(t, 2)[0] ** 3).sum())
    best = np.sort(x, 1)[:, -2:-1] <= x
    np.testing.assert_allclose(gradient(x), np.where(best, 3 * x**2, 0), rtol=1e-14)
    twice = ted.grad(lambda t: ted.sum(gradient(t)))
    np.testing.assert_allclose(twice(x), np.where(best, 6 * x, 0), rtol=1e-14)


def test_a_scalar_is_one_element_along_its_only_axis_as_in_torch() -> None:
    def along(t: Any) -> list[Any]:
        softmax = [f(t * t, 0) for f in (ted.nn.softmax, ted.nn.log_softmax)]
        moved = [ted.sort(t, 0), ted.sort(t), ted.flip(t, 0), ted.squeeze(t, -1)]
        return [*moved, ted.argsort(t, -1), *ted.topk(t, 1), *softmax]

    found = run(along, np.array(3.0))
    assert found == [3.0, 3.0, 3.0, 3.0, 0, 3.0, 0, 1.0, 0.0]
    slope = ted.grad(lambda t: ted.sum(t * ted.stack(along(t)[:4])))
    assert run(lambda t: [slope(t), ted.grad(slope)(t)], np.array(3.0)) == [24.0, 8.0]


def test_places_in_a_sorted_vector() -> None:
    sorted_vector = np.array([-1.0, 0.0, 0.0, 2.0, 2.0, np.nan, np.nan])
    wanted = np.array([[-2.0, -1.0, 0.0], [1.0, 2.0, np.nan], [np.inf, 2.5, -0.5]])
    for count in (0, 1, 4, 7):
        found = run(
            lambda a, v: [ted.searchsorted(a, v), ted.searchsorted(a, v, side="right")],
            sorted_vector[:count], wanted,
        )  # fmt: skip
        for mine, side in zip(found, ("left", "right"), strict=True):
            expected = np.searchsorted(sorted_vector[:count], wanted, side=side)
            np.testing.assert_array_equal(mine, expected, f"{count} {side}")


def test_distinct_elements_and_membership() -> None:
    x = np.array([3, 1, 3, 0, 1, 5])
    some, most, filled, members = run(
        lambda t: [ted.unique(t, 3, truncate=True), ted.unique(t, 6), ted.unique(t, size=6, fill=9),
                   ted.isin(t, [1, 5])], x,
    )  # fmt: skip
    np.testing.assert_array_equal(some, [0, 1, 3])
    np.testing.assert_array_equal(most, [0, 1, 3, 5, 0, 0])
    np.testing.assert_array_equal(filled, [0, 1, 3, 5, 9, 9])
    np.testing.assert_array_equal(members, np.isin(x, [1, 5]))
    np.testing.assert_array_equal(
        run(lambda t: ted.unique(t, 6), SPECIAL), [-np.inf, 0.0, 1.0, np.inf, np.nan, -np.inf]
    )


X = ted.placeholder((3, 4), "float64", name="x")
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a scalar": (lambda: ted.sort(ted.sum(X), 1), "sort: axis must be in [-1, 1), got 1"),
    "an axis": (lambda: ted.argsort(X, axis=2), "argsort: axis must be in [-2, 2), got 2"),
    "too many": (lambda: ted.topk(X, 5), "topk: k must be in [0, 4], got 5"),
    "a size": (lambda: ted.sort(ted.placeholder((ted.size("n"),))), "sort: extent: must be a pl"),
    "a share": (lambda: ted.quantile(X, 1.5), "quantile: q must be a number in [0, 1], or several"),
    "a method": (lambda: ted.quantile(X, 0.5, method="hazen"), "method: must be 'linear'"),
    "nothing": (lambda: ted.median(X[:0]), "quantile: takes at least one element"),
    "a matrix": (lambda: ted.searchsorted(X, 1.0), "searchsorted: a must be a vector, got shape"),
    "a side": (lambda: ted.searchsorted(X[0], X, side="top"), "searchsorted: side: must be 'left'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)):
        made()
