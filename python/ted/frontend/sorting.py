"""Sorting by a network of comparisons, few elements by counting; quantiles.

Before: ted.sort(x)
After:  values and positions in log n rounds of up to log n stages (`sorting_network.py`)

Positions go along and decide between equals, so the order is stable, and NaN is the greatest.  The
order has no slope; values are placed at their ranks, and gradients are read there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import arange
from ted.frontend.dims import moveaxis
from ted.frontend.elementwise import (
    cast,
    floor,
    isinf,
    isnan,
    stop_gradient,
    to_tensor,
    where,
)
from ted.frontend.indexing import place, take, take_along_axis
from ted.frontend.joining import stack
from ted.frontend.layout import broadcast_to, reshape, transpose
from ted.frontend.locations import fail
from ted.frontend.reductions import any, sum
from ted.frontend.scattering import scatter
from ted.frontend.sorting_first import first_rows, is_few
from ted.frontend.sorting_groups import best_of, elements_of, group_size, in_groups
from ted.frontend.sorting_keys import comparable, halves_of, is_wide, keys_of, values_and_places
from ted.frontend.sorting_network import sorted_rows
from ted.frontend.sorting_ranks import is_sooner_searched, searched, with_slopes
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT32, INT64

_COUNTED = 64  # so few are ranked by one sum over all pairs, which is one equation


def _of_scalars_too(function: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar is one element along 0 or -1."""

    @functools.wraps(function)
    def call(x: Any, *args: Any, **options: Any) -> Any:
        x = to_tensor(x, function.__name__)
        if x.ndim:
            return function(x, *args, **options)
        found = function(reshape(x, (1,)), *args, **options)
        several = found if isinstance(found, tuple) else (found,)
        scalars = tuple(reshape(t, ()) for t in several)
        return scalars if isinstance(found, tuple) else scalars[0]

    return call


@_of_scalars_too
def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions along `axis` of the elements in rising order; NaN counts as greatest.

    Equal elements stay in their order, `stable` or not.
    Raises: FrontendError for an axis that x does not have, or one of a symbolic extent.
    """
    del stable  # it always is
    x, along = _checked(x, axis, "argsort")
    places = _Places(moveaxis(x, along, 0), checks.flag(descending, "argsort: descending"))
    return moveaxis(places.order, 0, along)


def order_by(keys: Sequence[Tensor], axis: int, descending: bool = False) -> Tensor:
    """The positions in order by keys of one shape, of which the last one counts most."""
    order = argsort(keys[0], axis, descending)
    for key in keys[1:]:  # each order keeps that of equals
        again = argsort(take_along_axis(key, order, axis), axis, descending)
        order = take_along_axis(order, again, axis)
    return order


@_of_scalars_too
def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along `axis` in rising order; NaN counts as greatest.

    Raises: FrontendError for an axis that x does not have, or one of a symbolic extent.
    """
    del stable  # equal elements cannot be told apart but by their slopes, which keep their order
    x, along = _checked(x, axis, "sort")
    rows, falls = moveaxis(x, along, 0), checks.flag(descending, "sort: descending")
    alone = not x.dtype.is_float and _is_many(rows)  # integers have no slopes, and need no places
    return moveaxis(_alone(rows, falls) if alone else _Places(rows, falls).values, 0, along)


@_of_scalars_too
def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k greatest elements along `axis`, the greatest first, and their positions.

    Raises: FrontendError for an axis that x does not have, or more elements than there are.
    """
    x, along = _checked(x, axis, "topk")
    count = checks.integer(k, "topk: k")
    if not 0 <= count <= x.shape[along]:
        fail(f"topk: k must be in [0, {x.shape[along]}], got {count}")
    falls, inner = checks.flag(largest, "topk: largest"), math.prod(x.shape[along + 1 :])
    rows = reshape(x, (math.prod(x.shape[:along]), x.shape[along], inner))
    order = _first_places(stop_gradient(rows), count, falls)

    def value(a: Any, j: Any, b: Any) -> Any:
        return rows[a, place(order[a, j, b], 0, "unchecked")[0], b]

    shape = (*x.shape[:along], count, *x.shape[along + 1 :])
    return reshape(compute(order.shape, value, name="values"), shape), reshape(order, shape)


def _first_places(rows: Tensor, count: int, falls: bool) -> Tensor:
    """The positions of the first elements along dim 1 of (outer, n, inner), in their order."""
    n, inner = checks.integer(rows.shape[1], "topk: extent"), rows.shape[2]
    size = group_size(n, count)
    if size > 1:
        groups = in_groups(rows if rows.dtype != BOOL else cast(rows, INT32), size, falls)
        chosen = sort(_first_places(best_of(groups, falls), count, falls), 1)
        near = _first_places(elements_of(groups, chosen), count, falls)

        def position(a: Any, j: Any, b: Any) -> Any:
            group, within = near[a, j, b] // size, near[a, j, b] % size
            return chosen[a, place(group, 0, "unchecked")[0], b] * size + within

        return compute(near.shape, position, name="place")
    if 0 in rows.shape or not is_few(n, inner, count):
        return argsort(rows, 1, falls)[:, :count]
    keys = keys_of(rows, falls)
    return keys.positions(first_rows(keys.parts, keys.last, count))


# ------------------------------------------------------------------ quantiles


def median(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The middle of the sorted elements over `axis`, the mean of two; NaN if one is NaN.

    Raises: FrontendError as `quantile`.
    """
    return quantile(x, 0.5, axis, keepdims=keepdims)


def quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """What a share `q` of the elements over `axis` is below; NaN if one is NaN.

    Between two elements `method` interpolates ("linear"), or takes "lower", "higher", "nearest" or
    "midpoint".  Elements that are equal have equal slopes.  Integers of 32 bits and more give
    float64, other ones float32.
    Shapes: those of q, a number or numbers, then of the other dims.  A q may be a tensor, with
    slopes of its own; one outside [0, 1] is an error when the program runs.
    Raises: FrontendError for an axis that x does not have, no elements, a q outside [0, 1], or
    another method.
    """
    x = to_tensor(x, "quantile")
    axes = checks.reduced_axes(axis, x.ndim, "quantile")
    checks.one_of(method, tuple(_METHODS), "quantile: method")
    rest = [k for k in range(x.ndim) if k not in axes]
    count = math.prod(checks.integer(x.shape[k], "quantile: extent") for k in axes)
    if not count:
        fail(f"quantile: takes at least one element, got shape {x.shape}")
    x = floats_that_hold(x)
    if isinstance(q, Tensor):
        found = _at_tensor(x, sorted(axes), floats_of(q, "quantile: q"), count, method)
    else:
        found = _at_shares(x, sorted(axes), q, count, _METHODS[method])
    if not checks.flag(keepdims, "quantile: keepdims"):
        return found
    lead = found.ndim - len(rest)
    kept = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return reshape(found, (*found.shape[:lead], *kept))


# The weight of the upper neighbour, of the fraction between two and of the lower one's position.
_METHODS: dict[str, Callable[[float, int], float]] = {
    "linear": lambda part, at: part,
    "lower": lambda part, at: 0.0,
    "higher": lambda part, at: float(part > 0),
    "midpoint": lambda part, at: 0.5 if part else 0.0,
    "nearest": lambda part, at: float(part > 0.5 or (part == 0.5 and at % 2 == 1)),
}


def _at_shares(
    x: Tensor, axes: Sequence[int], q: Any, count: int, weight: Callable[..., float]
) -> Tensor:
    shares, several = shares_of(q, "quantile: q")
    pairs = []
    for share in shares:
        part, whole = math.modf(float(share) * (count - 1))
        pairs.append((int(whole), weight(part, int(whole))))
    ranks = {rank for rank, above in pairs if above < 1} | {
        min(rank + 1, count - 1) for rank, above in pairs if above
    }
    ranked = _of_ranks(x, axes, count, sorted(ranks))
    no_number = any(isnan(x), axis=tuple(axes))
    found = []
    for rank, above in pairs:
        low = ranked[rank if above < 1 else min(rank + 1, count - 1)]
        between = low if above in (0, 1) else interpolated(low, ranked[rank + 1], above)
        found.append(where(no_number, math.nan, between))
    return stack(found) if several else found[0]


def floats_of(q: Tensor, what: str) -> Tensor:
    """Shares in float64, which has a rank of every count.

    Raises: FrontendError for integers and bools.
    """
    if not q.dtype.is_float:
        fail(f"{what} must be of a float type, got {q.dtype} ({q.name})")
    return cast(q, "float64")


def below_share(q: Any, last: Any, count: Extent) -> tuple[Tensor, Tensor]:
    """The rank below a share of ranks up to `last`, and what is above it of the way to the next.

    Of a share outside [0, 1] it is one of which there are not so many.
    """
    at = q * last
    low = where((q >= 0) & (q <= 1), floor(stop_gradient(at)), float(count))
    return cast(low, INT64), at - low


def _at_tensor(x: Tensor, axes: Sequence[int], q: Tensor, count: int, method: str) -> Tensor:
    """The elements of shares that are data: all are ranked, and two of them read at each."""
    rest = [k for k in range(x.ndim) if k not in axes]
    ranked = sort(reshape(transpose(x, [*axes, *rest]), (count, *[x.shape[k] for k in rest])), 0)
    low, part = below_share(q, count - 1, count)
    above: Any = {
        "linear": lambda: part,
        "lower": lambda: 0.0 * stop_gradient(part),
        "higher": lambda: cast(part > 0, "float64"),
        "midpoint": lambda: where(part > 0, 0.5, 0.0),
        "nearest": lambda: where((part > 0.5) | ((part == 0.5) & (low % 2 == 1)), 1.0, 0.0),
    }[method]()
    high = where(part > 0, low + 1, low)
    weight = cast(above, x.dtype).reshape((*q.shape, *(1 for _ in rest)))
    below, next_one = (take(ranked, k, 0) for k in (low, high))
    between = where(weight == 1, next_one, interpolated(below, next_one, weight))
    return where(any(isnan(x), axis=tuple(axes)), math.nan, between)


def floats_that_hold(x: Tensor) -> Tensor:
    """Integers as floats of a type that holds them, at least float32; floats as they are."""
    if x.dtype.is_float:
        return x
    return cast(x, "float32" if x.dtype.bits < 32 else "float64")


def shares_of(q: Any, what: str) -> tuple[list[float], bool]:
    """The shares of elements that are asked for, and whether they are several.

    Raises: FrontendError for one that is no number in [0, 1].
    """
    several, rule = checks.is_several(q), "must be a number in [0, 1], or several"
    given = q if several else [q]
    return [checks.number(s, what, rule, lambda v: 0 <= v <= 1) for s in given], several


def interpolated(low: Tensor, high: Tensor, above: Any) -> Tensor:
    """What lies between two elements; what is infinite stays so."""
    return low + above * where(isinf(low), high, high - low)


def _of_ranks(
    x: Tensor, axes: Sequence[int], count: int, ranks: Sequence[int]
) -> dict[int, Tensor]:
    """The elements of some ranks over axes, by rank."""
    rest = [k for k in range(x.ndim) if k not in axes]
    shape = [x.shape[k] for k in rest]
    before = axes[0] if axes else 0
    if axes and axes[-1] - axes[0] >= len(axes):  # they are no neighbours
        x, before = transpose(x, [*axes, *rest]), 0
    rows = reshape(x, (math.prod(shape[:before]), count, math.prod(shape[before:])))
    if 0 in shape or count <= _COUNTED or not is_sooner_searched(x, count, len(ranks)):
        ranked = sort(stop_gradient(rows), 1)
        values = stack([ranked[:, k] for k in ranks], 1)
    else:
        values = searched(rows, ranks)
    found = with_slopes(values, rows)
    return {k: reshape(found[:, at], shape) for at, k in enumerate(ranks)}


# ------------------------------------------------------------------ the order


def _checked(x: Any, axis: Any, what: str) -> tuple[Tensor, int]:
    x = to_tensor(x, what)
    along = checks.axis_of(axis, x.ndim, what)
    checks.integer(x.shape[along], f"{what}: extent")
    return x, along


class _Places:
    """Where elements go along dim 0: `order` has positions by rank, `ranks` ranks by position."""

    def __init__(self, rows: Tensor, descending: bool) -> None:
        self.rows, n, rest = rows, rows.shape[0], rows.shape[1:]
        self.shape = (n, math.prod(rest))
        flat = reshape(rows, self.shape)
        counted = not _is_many(rows)
        found = _counted_ranks(flat, descending) if counted else _network_order(flat, descending)
        both = (found, self._moved(self._own(), found))
        self._ranks, order = both if counted else reversed(both)
        self.order = reshape(order, rows.shape)

    @property
    def values(self) -> Tensor:
        """The elements in order: a write at the ranks, so that the gradient reads there."""
        kind = INT32 if self.rows.dtype == BOOL else self.rows.dtype
        values = self._moved(reshape(cast(self.rows, kind), self.shape), self._ranks)
        return reshape(cast(values, self.rows.dtype), self.rows.shape)

    def _own(self) -> Tensor:
        return broadcast_to(reshape(arange(self.shape[0]), (self.shape[0], 1)), self.shape)

    def _moved(self, values: Tensor, places: Tensor) -> Tensor:
        """The tensor with values[i] at places[i], which are each position once."""
        columns = broadcast_to(arange(self.shape[1]), self.shape)
        start = -0.0 if values.dtype.is_float else 0  # which no sum with a value changes
        return scatter(self.shape, (places, columns), values, init=start, mode="unchecked")


def _is_many(rows: Tensor) -> bool:
    """Whether elements along dim 0 are not counted."""
    return rows.shape[0] > _COUNTED and 0 not in rows.shape


def _alone(rows: Tensor, descending: bool) -> Tensor:
    """Integers or bools in order along dim 0."""
    n, rest = rows.shape[0], rows.shape[1:]
    values = comparable(reshape(rows, (n, math.prod(rest))), descending)
    found = sorted_rows(values, values.dtype.range[1])
    if descending:
        found = comparable(found, descending)  # which is its own inverse
    return reshape(cast(found, rows.dtype), rows.shape)


def _counted_ranks(flat: Tensor, descending: bool) -> Tensor:
    """How many elements come before each one: one sum for few elements."""
    both = values_and_places(reshape(flat, (1, *flat.shape)), descending)
    values, keys = (x[0] for x in both)
    r = reduce_axis(flat.shape[0], "r")

    def rank(i: Any, column: Any) -> Any:
        a, b = values[r, column], values[i, column]
        ahead = (a < b) | ((a == b) & (keys[r, column] < keys[i, column]))
        return sum(cast(ahead, INT64), axis=r)

    return compute(flat.shape, rank, name="rank")


def _network_order(flat: Tensor, descending: bool) -> Tensor:
    """The positions in order by the network; wide values are sorted by halves, the lower first."""
    rows = reshape(flat, (1, *flat.shape))
    if not is_wide(rows):
        keys = keys_of(rows, descending)
        return keys.positions([sorted_rows(keys.parts[0][0], keys.last[0])])
    lower, upper = halves_of(flat, descending)
    first = _network_order(lower, False)
    second = _network_order(_at(upper, first), False)
    return _at(first, second)


def _at(x: Tensor, order: Tensor) -> Tensor:
    """The elements at positions along dim 0."""
    return compute(x.shape, lambda i, c: x[place(order[i, c], 0, "unchecked")[0], c], name="placed")
