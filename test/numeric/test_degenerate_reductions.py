"""Reductions of scalars, over no dims, over extents 0 and 1 and under conditions that are false.

Each result is computed from the points that take part in it: by numpy for values, by torch in
float64 for gradients of order 1 and 2; what no point takes part in is the identity, without a
slope.  One program has all cases of a reduction, and the derivatives of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept

torch = pytest.importorskip("torch")


@dataclass(frozen=True)
class Case:
    """A reduction of a tensor; `where` is absent, a bool, or a bound of what takes part."""

    shape: tuple[int, ...]
    axis: Any = None
    where: bool | float | None = None
    keepdims: bool = False

    def mask(self, x: Any) -> Any:
        """The condition, of a tensor or an array."""
        return x > self.where if isinstance(self.where, float) else self.where

    @property
    def array(self) -> np.ndarray:
        """Different values of both signs, so that all reductions tell points apart."""
        size = math.prod(self.shape)
        flat = [0.7 - 0.4 * k + 0.45 * (k % 2) * k for k in range(size)]
        return np.array(flat).reshape(self.shape)


NONE, SOME = 9.0, 0.4  # bounds that no value is above, and some are

CASES = (
    Case(()), Case((), ()), Case((), 0), Case((), -1), Case((), 0, keepdims=True),
    Case((), None, NONE), Case((), (), SOME), Case((), None, where=False),
    Case((2, 3), ()), Case((2, 3), (), SOME), Case((2, 3), (), keepdims=True),
    Case((2, 3), (), where=False), Case((2, 3), 1, NONE), Case((2, 3), 1, SOME),
    Case((2, 3), None, where=True), Case((2, 3), (1, 0), SOME),
    Case((0,), ()), Case((1,), 0), Case((1,), 0, NONE), Case((1,), (), keepdims=True),
    Case((3, 0), 1), Case((3, 0), 0), Case((3, 0), 1, SOME, keepdims=True), Case((0, 3), 0),
    Case((0, 3), 1), Case((1, 3), 0), Case((3, 1), 1, SOME), Case((1, 1), None, SOME),
    Case((2, 1, 2), 1, keepdims=True), Case((2, 1, 2), (2, 0)), Case((2, 0, 2), (0, 2)),
    Case((2, 0, 2), 1),
)  # fmt: skip


@dataclass(frozen=True)
class Reduction:
    """One of ted, and what it is of a vector in numpy and torch; `nothing` of no points."""

    ted: Callable[..., Any]
    numpy: Callable[[np.ndarray], Any]
    torch: Callable[[Any], Any]
    nothing: float


SMOOTH = {
    "sum": Reduction(ted.sum, np.sum, torch.sum, 0),
    "prod": Reduction(ted.prod, np.prod, torch.prod, 1),
    "max": Reduction(ted.max, np.max, torch.max, -math.inf),
    "min": Reduction(ted.min, np.min, torch.min, math.inf),
    "max_even": Reduction(
        lambda x, **options: ted.max(x, ties="even", **options), np.max, torch.max, -math.inf
    ),
    "prod_init": Reduction(
        lambda x, **options: ted.prod(x, init=2.0, **options),
        lambda x: 2 * np.prod(x), lambda x: 2 * torch.prod(x), 2,
    ),
    "mean": Reduction(ted.mean, np.mean, torch.mean, math.nan),
    "logsumexp": Reduction(
        ted.logsumexp, lambda x: np.log(np.sum(np.exp(x))), lambda x: torch.logsumexp(x, 0),
        -math.inf,
    ),
    "reducer": Reduction(
        ted.reducer(lambda a, b: a + b + a * b, 0.0), lambda x: np.prod(1 + x) - 1,
        lambda x: torch.prod(1 + x) - 1, 0,
    ),
}  # fmt: skip

FLAT = {
    "any": Reduction(ted.any, np.any, torch.any, False),
    "all": Reduction(ted.all, np.all, torch.all, True),
    "argmax": Reduction(ted.argmax, np.argmax, torch.argmax, -1),
    "argmin": Reduction(ted.argmin, np.argmin, torch.argmin, -1),
}


def groups(case: Case) -> tuple[tuple[int, ...], list[tuple[np.ndarray, np.ndarray]]]:
    """The shape of the result; for each element its points: their flat places, who takes part."""
    x, rank = case.array, len(case.shape)
    named = range(rank) if case.axis is None else np.atleast_1d(np.array(case.axis, dtype=int))
    gone = [int(a) % rank for a in named] if rank else []
    kept = [k for k in range(rank) if k not in gone]
    shape = tuple(
        1 if k in gone else n for k, n in enumerate(case.shape) if case.keepdims or k in kept
    )
    results = math.prod(case.shape[k] for k in kept)
    points = math.prod(case.shape[k] for k in gone)
    mask = case.mask(x)
    mask = np.ones(case.shape, bool) if mask is None else np.broadcast_to(mask, case.shape)
    order = (*kept, *gone)  # places are counted in the order of the axes that was given
    places = np.arange(x.size).reshape(case.shape).transpose(order).reshape(results, points)
    taking = mask.transpose(order).reshape(results, points)
    return shape, list(zip(places, taking, strict=True))


def loss(y: Any, library: Any) -> Any:
    return library.sum(library.where(library.isfinite(y), y * y, 0.0))


def of_torch(case: Case, reduction: Reduction) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of order 1 and 2; a constant has none."""
    x = torch.tensor(case.array, dtype=torch.float64, requires_grad=True)
    _, points = groups(case)
    found = [reduction.torch(x.flatten()[p[t]]) for p, t in points if t.any()]
    if not found:
        return np.zeros(case.shape), np.zeros(case.shape)
    (first,) = torch.autograd.grad(loss(torch.stack(found), torch), x, create_graph=True)
    (second,) = torch.autograd.grad(torch.sum(first**3), x)
    return first.detach().numpy(), second.numpy()


def values(case: Case, reduction: Reduction) -> np.ndarray:
    """By numpy; the place of an extremum is one among all points, taking part or not."""
    shape, points = groups(case)
    flat, found = case.array.ravel(), []
    for places, taking in points:
        value = reduction.numpy(flat[places[taking]]) if taking.any() else reduction.nothing
        is_place = reduction.numpy in (np.argmax, np.argmin) and taking.any()
        found.append(int(np.flatnonzero(taking)[int(value)]) if is_place else value)
    return np.array(found).reshape(shape)


def reduced(case: Case, reduction: Reduction) -> Callable[[Any], Any]:
    return lambda x: reduction.ted(x, axis=case.axis, where=case.mask(x), keepdims=case.keepdims)


def derivatives(case: Case, reduction: Reduction) -> Callable[[Any], Any]:
    """The value, its tangent and the gradients of order 1 and 2, of a tensor."""
    function = reduced(case, reduction)
    first = ted.grad(lambda x: loss(function(x), ted))

    def program(x: Any) -> Any:
        value, tangent = ted.jvp(function, (x,), (ted.ones_like(x),))
        return value, tangent, first(x), ted.grad(lambda x: ted.sum(first(x) ** 3))(x)

    return program


# The others are relatives: the same combiner mirrored, with another start, or with another tie.
FAST = ("sum", "prod", "max")


@pytest.mark.fast(1)
@swept("name", SMOOTH, FAST)
def test_reductions_of_degenerate_shapes_have_values_and_derivatives(name: str) -> None:
    reduction = SMOOTH[name]
    programs = [derivatives(case, reduction) for case in CASES]
    together = ted.function(lambda *xs: [p(x) for p, x in zip(programs, xs, strict=True)])
    found = together(*(case.array for case in CASES))
    for case, (value, tangent, first, second) in zip(CASES, found, strict=True):
        wanted, slopes = values(case, reduction), of_torch(case, reduction)
        assert value.shape == tangent.shape == wanted.shape, case
        np.testing.assert_allclose(value, wanted, rtol=1e-14, atol=1e-14, err_msg=str(case))
        for got, slope in zip((first, second), slopes, strict=True):
            np.testing.assert_allclose(got, slope, rtol=1e-12, atol=1e-12, err_msg=str(case))
        finite = np.isfinite(value)
        along = np.sum(2 * value[finite] * tangent[finite])
        np.testing.assert_allclose(
            along, slopes[0].sum(), rtol=1e-12, atol=1e-12, err_msg=str(case)
        )


def test_conditions_and_places_of_degenerate_shapes() -> None:
    pairs = [(case, reduction) for reduction in FLAT.values() for case in CASES]
    programs = [reduced(*pair) for pair in pairs]
    together = ted.function(lambda *xs: [p(x) for p, x in zip(programs, xs, strict=True)])
    found = together(*(case.array for case, _ in pairs))
    for (case, reduction), value in zip(pairs, found, strict=True):
        wanted = values(case, reduction)
        assert value.shape == wanted.shape, case
        np.testing.assert_array_equal(value, wanted, err_msg=f"{reduction.numpy} {case}")


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_a_place_among_those_that_data_let_in(name: str) -> None:
    sign = 1.0 if name == "argmax" else -1.0
    x = sign * np.array([[1, 5, 5], [-np.inf, -np.inf, 3], [1, 2, 3], [9, 1, np.nan], [1, 4, 4]])
    w = np.array([[0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1], [1, 1, 1]], bool)
    r, chosen = ted.reduce_axis(3, name="r"), getattr(ted, name)

    def places(x: Any, w: Any) -> Any:
        inside = ted.compute(
            (5,), lambda i: chosen(x[i, r], axis=r, where=w[i, r] & (r > 0)), name="y"
        )
        return chosen(x, 1, where=w), inside

    whole, inside = ted.function(places)(x, w)
    np.testing.assert_array_equal(whole, [2, 1, -1, 2, 1])
    np.testing.assert_array_equal(inside, [2, 1, -1, 2, 1])


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_totals_of_degenerate_shapes(name: str) -> None:
    cases = [((), 0), ((), -1), ((0,), 0), ((1,), 0), ((3, 0), 1), ((3, 0), 0), ((0, 3), 0),
             ((1, 3), 0), ((3, 1), -1)]  # fmt: skip
    arrays = [Case(shape).array for shape, _ in cases]

    def orders(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        first = ted.grad(lambda x: loss(function(x), ted))
        second = ted.grad(lambda x: ted.sum(first(x) ** 3))
        return lambda x: (function(x), first(x), second(x))

    programs = [orders(lambda x, axis=axis: getattr(ted, name)(x, axis)) for _, axis in cases]
    found = ted.function(lambda *xs: [p(x) for p, x in zip(programs, xs, strict=True)])(*arrays)
    for (_, axis), array, got in zip(cases, arrays, found, strict=True):
        x = torch.tensor(array, requires_grad=True)
        y = getattr(torch, name)(x, axis)
        (first,) = torch.autograd.grad(loss(y, torch), x, create_graph=True)
        (second,) = torch.autograd.grad(torch.sum(first**3), x)
        for value, wanted in zip(got, (y, first, second), strict=True):
            np.testing.assert_allclose(value, wanted.detach().numpy(), rtol=1e-12, atol=1e-12)
