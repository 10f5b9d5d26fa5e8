"""Sorting by a network of comparisons: log n rounds of log n stages, each an equation of one shape.

Before: ted.sort(x)
After:  rounds of stages; a stage takes the lesser or greater of an element and its mirror image in
        blocks of n, n / 2, ..., 2 elements

Positions go along and decide between equals, so the order is stable, and NaN is the greatest.  The
order has no slope; values are placed at their ranks, and gradients are read there.
Source: Dowd, Perl, Rudolph and Saks, The Periodic Balanced Sorting Network, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import arange
from ted.frontend.dims import moveaxis
from ted.frontend.elementwise import cast, isnan, stop_gradient, to_tensor, where
from ted.frontend.joining import pad, stack
from ted.frontend.layout import broadcast_to, reshape, transpose
from ted.frontend.locations import fail
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum
from ted.frontend.scattering import scatter
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT32, INT64, DType

_COUNTED = 64  # so few are ranked by one sum over all pairs, which is one equation
_LANES = 32  # elements that lie side by side and are seldom compared with each other


def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions along `axis` of the elements in rising order; NaN counts as greatest.

    Equal elements stay in their order, `stable` or not.
    Raises: FrontendError for a scalar, an axis that x does not have, or one of a symbolic extent.
    """
    del stable  # it always is
    x, along = _checked(x, axis, "argsort")
    places = _Places(moveaxis(x, along, 0), checks.flag(descending, "argsort: descending"))
    return moveaxis(places.order, 0, along)


def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along `axis` in rising order; NaN counts as greatest.

    Raises: FrontendError for a scalar, an axis that x does not have, or one of a symbolic extent.
    """
    del stable  # equal elements cannot be told apart but by their slopes, which keep their order
    x, along = _checked(x, axis, "sort")
    rows = moveaxis(x, along, 0)
    places = _Places(rows, checks.flag(descending, "sort: descending"))
    return moveaxis(places.values, 0, along)


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k greatest elements along `axis`, the greatest first, and their positions.

    Raises: FrontendError for an axis that x does not have, or more elements than there are.
    """
    x, along = _checked(x, axis, "topk")
    count = checks.integer(k, "topk: k")
    if not 0 <= count <= x.shape[along]:
        fail(f"topk: k must be in [0, {x.shape[along]}], got {count}")
    places = _Places(moveaxis(x, along, 0), checks.flag(largest, "topk: largest"))
    values, order = (part[:count] for part in (places.values, places.order))
    return moveaxis(values, 0, along), moveaxis(order, 0, along)


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
    "midpoint".  Shapes: those of q, a number or numbers, then of the other dims.
    Raises: FrontendError for an axis that x does not have, no elements, a q outside [0, 1], or
    another method.
    """
    x = to_tensor(x, "quantile")
    axes = checks.reduced_axes(axis, x.ndim, "quantile")
    if method not in _METHODS:
        fail(f"quantile: method must be one of {', '.join(_METHODS)}, got {method!r}")
    rest = [k for k in range(x.ndim) if k not in axes]
    count = math.prod(checks.integer(x.shape[k], "quantile: extent") for k in axes)
    if not count:
        fail(f"quantile: takes at least one element, got shape {x.shape}")
    flat = reshape(transpose(x, [*axes, *rest]), (count, *(x.shape[k] for k in rest)))
    ranked = sort(flat if x.dtype.is_float else cast(flat, "float32"), 0)
    found = _at_shares(ranked, q, count, _METHODS[method])
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


def _at_shares(ranked: Tensor, q: Any, count: int, weight: Callable[..., float]) -> Tensor:
    several = isinstance(q, (list, tuple)) or getattr(q, "ndim", 0) == 1
    shares: list[Any] = [*q] if several else [q]
    found = []
    for share in shares:
        if isinstance(share, Tensor) or not 0 <= float(share) <= 1:
            fail(f"quantile: q must be a number in [0, 1], or several, got {share!r}")
        part, whole = math.modf(float(share) * (count - 1))
        above = weight(part, int(whole))
        low, high = ranked[int(whole)], ranked[min(int(whole) + 1, count - 1)]
        between = low if not above else high if above == 1 else low + above * (high - low)
        found.append(where(isnan(ranked[count - 1]), math.nan, between))
    return stack(found) if several else found[0]


# ------------------------------------------------------------------ the order


def _checked(x: Any, axis: Any, what: str) -> tuple[Tensor, int]:
    x = to_tensor(x, what)
    if not x.ndim:
        fail(f"{what}: takes at least 1 dim, got a scalar ({x.name})")
    along = checks.axis_of(axis, x.ndim, what)
    checks.integer(x.shape[along], f"{what}: extent")
    return x, along


class _Places:
    """Where elements go along dim 0: `order` has positions by rank, `ranks` ranks by position."""

    def __init__(self, rows: Tensor, descending: bool) -> None:
        self.rows, n, rest = rows, rows.shape[0], rows.shape[1:]
        self.shape = (n, math.prod(rest))
        flat = reshape(rows, self.shape)
        counted = n <= _COUNTED or 0 in self.shape
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
        n, columns = self.shape
        at = reshape(places * columns + reshape(arange(columns), (1, columns)), (n * columns,))
        start = -0.0 if values.dtype.is_float else 0  # which no sum with a value changes
        flat = reshape(values, (n * columns,))
        return reshape(scatter(flat.shape, at, flat, init=start, mode="unchecked"), self.shape)


def _counted_ranks(flat: Tensor, descending: bool) -> Tensor:
    """How many elements come before each one: one sum for few elements."""
    values, keys = _keys(flat, descending, checks.integer(flat.shape[0], "sort: extent"))
    r = reduce_axis(flat.shape[0], "r")

    def rank(i: Any, column: Any) -> Any:
        a, b = values[r, column], values[i, column]
        ahead = (a > b if descending else a < b) | ((a == b) & (keys[r, column] < keys[i, column]))
        return sum(cast(ahead, INT64), axis=r)

    return compute(flat.shape, rank, name="rank")


def _network_order(flat: Tensor, descending: bool) -> Tensor:
    """The positions in order by the network, on a power of two."""
    n, columns = checks.integer(flat.shape[0], "sort: extent"), flat.shape[1]
    bits = (n - 1).bit_length()
    parts = _keys(flat, descending, 1 << bits)
    high = 0 if columns >= _LANES // 2 else min(bits, _LANES.bit_length() - 1)
    values, keys = (_spread(part, bits, high) for part in parts)
    found = _gathered(_network(values, keys, bits, high, descending), bits, columns)
    return cast(found[:n] % n, INT64)


def _keys(flat: Tensor, descending: bool, size: int) -> tuple[Tensor, Tensor]:
    """Values that are compared, padded to `size`, and what decides between equals.

    NaN is an infinity that comes after others, or before them from the greatest on.
    """
    n = flat.shape[0]
    kind = INT32 if 4 * size < 2**31 else INT64
    place = cast(reshape(arange(size), (size, 1)), kind)
    place = where(place < n, place, place + 2 * n)
    flat = cast(flat, INT32) if flat.dtype == BOOL else stop_gradient(flat)
    last = _last(flat.dtype, descending)
    shape = (size, flat.shape[1])
    if not flat.dtype.is_float:
        return pad(flat, ((0, size - n), (0, 0)), value=last), broadcast_to(place, shape)
    no_number = pad(isnan(flat), ((0, size - n), (0, 0)), value=False)
    values = pad(where(isnan(flat), math.inf, flat), ((0, size - n), (0, 0)), value=last)
    return values, where(no_number, place - n if descending else place + n, place)


def _last(dtype: DType, descending: bool) -> Any:
    """What no value of a type comes after."""
    if dtype.is_float:
        return -math.inf if descending else math.inf
    return dtype.range[not descending]


def _spread(x: Tensor, bits: int, high: int) -> Tensor:
    """(2 ** bits, m) -> (2 ** (bits - high), m, 2 ** high): the high bits of the position last."""
    return transpose(reshape(x, (2**high, 2 ** (bits - high), x.shape[1])), (1, 2, 0))


def _gathered(x: Tensor, bits: int, columns: Any) -> Tensor:
    """The inverse of `_spread`."""
    return reshape(transpose(x, (2, 0, 1)), (2**bits, columns))


def _mirrored(i: Any, block: int) -> tuple[Any, Any]:
    """The mirror image of an index in its block, and whether the index is in the second half."""
    return i // block * (2 * block) + (block - 1) - i, i % block >= block // 2


def _network(values: Tensor, keys: Tensor, bits: int, high: int, descending: bool) -> Tensor:
    """The keys in order, after `bits` rounds of `bits` stages."""
    rows = 2 ** (bits - high)

    def pair(s: int, row: Any, h: Any) -> tuple[Any, Any, Any]:
        """With what an element is compared in stage s, and whether the greater is kept there."""
        if s >= high:
            other, greater = _mirrored(row, 2 ** (bits - s))
            return other, h, greater
        other, greater = _mirrored(h, 2 ** (high - s))
        return rows - 1 - row, other, greater

    def stage(s: int, which: int) -> Callable[..., Any]:
        def element(*arguments: Any) -> Any:
            histories, (t, row, c, h) = arguments[: 2 * bits], arguments[2 * bits :]
            other_row, other_h, greater = pair(s, row, h)

            def before(part: int, *at: Any) -> Any:
                if s:
                    return histories[2 * s - 2 + part][(t, *at)]
                start = (values, keys)[part][at]
                return where(t > 0, histories[2 * bits - 2 + part][(t - 1, *at)], start)

            a, b = before(0, row, c, h), before(0, other_row, c, other_h)
            k, m = before(1, row, c, h), before(1, other_row, c, other_h)
            ahead = (b > a if descending else b < a) | ((a == b) & (m < k))
            return where(ahead != greater, *((b, a) if which == 0 else (m, k)))

        return element

    shape = (bits, *values.shape)
    names = [f"{word}{s}" for s in range(bits) for word in ("sorted", "order")]
    types = [part.dtype for _ in range(bits) for part in (values, keys)]
    functions = [stage(s, which) for s in range(bits) for which in (0, 1)]
    found = recurrence([shape] * (2 * bits), functions, types, name=names)
    return found[-1][bits - 1]
