"""Writes at indices that are data by name: `scatter`, and what is made of it."""

from __future__ import annotations

import math
from typing import Any

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.elementwise import cast, floor, to_tensor, where
from ted.frontend.indexing import integers, mode_of
from ted.frontend.layout import broadcast_to
from ted.frontend.locations import fail, here
from ted.frontend.scatter_equations import Writes
from ted.frontend.tensors import Tensor, wrap
from ted.ir import equations
from ted.ir.dtypes import INT64


def scatter(
    shape: checks.Shape,
    indices: Any,
    values: Any,
    combine: str = "add",
    init: Any = None,
    mode: str = "check",
) -> Tensor:
    """A tensor of `shape` into which values are combined at indices that are data.

    out[indices[0][s], ..., indices[k - 1][s], p] (combine)= values[s, p] for all s and p, on top of
    `init` (a tensor or a number), which is the combiner's identity by default: 0, -inf, inf or 1;
    `combine` is add, max, min, set, where the last of equal indices wins, or mul, which takes the
    factors of each index in pairs: S * S products.  An index outside its dim is an error when the
    program runs, or moves to the nearest one inside (`mode="clip"`), or its value is left out
    (`mode="drop"`), or is undefined (`mode="unchecked"`, which checks nothing).  Sums of float16
    and bfloat16 are taken in float32, bools count.
    Shapes: indices: one integer tensor or a tuple of k, all of shape S; values S + shape[k:].
    Raises: FrontendError for shapes that do not fit, an unknown combiner or mode.
    """
    several = isinstance(indices, (tuple, list))
    index = [integers(x, "scatter: indices") for x in (indices if several else (indices,))]
    values = to_tensor(values, "scatter: values")
    extents = checks.shape_of(shape, values.dtype, "scatter")
    if not 0 < len(index) <= len(extents):
        fail(f"scatter: one to {len(extents)} index tensors for {extents}, got {len(index)}")
    points = index[0].shape
    for x in index:
        if x.shape != points:
            fail(f"scatter: index tensors have one shape, got {points} and {x.shape}")
    fitting = (*points, *extents[len(index) :])
    if values.shape != fitting:
        fail(
            f"scatter: values have the shape of the indices, then the other extents: {fitting}, "
            f"got {values.shape} ({values.name})"
        )
    writes = _writes("scatter", extents, index, 0, values, mode)
    return writes.onto(init, combine)


def index_add(x: Any, axis: int, indices: Any, values: Any, mode: str = "check") -> Tensor:
    """`x` with the slices of `values` along `axis` added at `indices`; repeated ones add up.

    Shapes: indices (k) of integers; values as x with extent k along `axis`.
    Raises: FrontendError for shapes that do not fit, indices that are no integers, an unknown mode.
    """
    x, values = to_tensor(x, "index_add"), to_tensor(values, "index_add: values")
    indices = integers(indices, "index_add: indices")
    along = checks.axis_of(axis, x.ndim, "index_add")
    if indices.ndim != 1:
        fail(f"index_add: indices have 1 dim, got shape {indices.shape}")
    fitting = (*x.shape[:along], *indices.shape, *x.shape[along + 1 :])
    if values.shape != fitting:
        fail(f"index_add: values must have shape {fitting}, got {values.shape} ({values.name})")
    return _writes("index_add", x.shape, [indices], along, values, mode).onto(x, "add")


def segment_sum(values: Any, segments: Any, count: int, mode: str = "check") -> Tensor:
    """The sum of the values of each of `count` segments; `segments` says where each value belongs.

    Shapes: segments S of integers, values S + p, result (count, *p).
    """
    values = to_tensor(values, "segment_sum")
    segments = integers(segments, "segment_sum: segments")
    shape = (checks.extent(count, "segment_sum: count"), *values.shape[segments.ndim :])
    return scatter(shape, segments, values, mode=mode)


def bincount(x: Any, length: Extent, weights: Any = None, mode: str = "check") -> Tensor:
    """How often each of 0, ..., length - 1 occurs in `x`, or the sum of the weights there."""
    x = integers(x, "bincount")
    values = broadcast_to(_one(), x.shape) if weights is None else to_tensor(weights, "bincount")
    return scatter((checks.extent(length, "bincount: length"),), x, values, mode=mode)


def histogram(x: Any, bins: int, lower: float, upper: float, weights: Any = None) -> Tensor:
    """How many values fall into each of `bins` equal parts of [lower, upper]; others are left out.

    The number of a bin is floor((x - lower) * bins / (upper - lower)); `upper` is in the last one.
    Shapes: x S, weights S (then their sums are taken), result (bins).
    Raises: FrontendError for less than 1 bin, or limits that are not finite and increasing.
    """
    return histogramdd([x], bins, lower, upper, weights)


def histogram2d(x: Any, y: Any, bins: Any, lower: Any, upper: Any, weights: Any = None) -> Tensor:
    """How many points (x, y) fall into each of bins[0] by bins[1] parts of a rectangle.

    Bins and limits are a number for both, or a pair; parts are those of `histogram`.
    Shapes: x and y S, weights S (then their sums are taken), result bins.
    Raises: FrontendError for less than 1 bin, limits that are not finite and increasing, or x and
    y of different shapes.
    """
    return histogramdd([x, y], bins, lower, upper, weights)


def histogramdd(sample: Any, bins: Any, lower: Any, upper: Any, weights: Any = None) -> Tensor:
    """How many points fall into each part of a box; others are left out.

    Bins and limits are a number for all coordinates, or one for each; parts are those of
    `histogram`.
    Shapes: sample (n, d), or a list of d tensors S; weights S or (n) (then their sums are taken),
    result bins.
    Raises: FrontendError for less than 1 bin, limits that are not finite and increasing, or
    coordinates of different shapes or none.
    """
    several = isinstance(sample, (tuple, list))
    what = "histogram" if several and len(sample) == 1 else "histogramdd"
    points = [to_tensor(x, what) for x in sample] if several else _columns(sample)
    shapes = {x.shape for x in points}
    if len(shapes) != 1:
        fail(f"{what}: coordinates have one shape, got {[x.shape for x in points]}")
    counts = _each(bins, len(points), f"{what}: bins")
    lowers, uppers = (_each(v, len(points), f"{what}: limits") for v in (lower, upper))
    numbers = [
        _bin(x, count, low, high, what)
        for x, count, low, high in zip(points, counts, lowers, uppers, strict=True)
    ]
    shape = tuple(checks.integer(n, f"{what}: bins") for n in counts)
    if weights is None:
        weights = broadcast_to(_one(), points[0].shape)
    return scatter(shape, numbers, weights, mode="drop")


def _columns(sample: Any) -> list[Tensor]:
    x = to_tensor(sample, "histogramdd: sample")
    if x.ndim != 2:
        fail(f"histogramdd: sample has a point in each row, got shape {x.shape} ({x.name})")
    return [x[:, k] for k in range(checks.integer(x.shape[1], "histogramdd: coordinates"))]


def _each(value: Any, count: int, what: str) -> list[Any]:
    """One value for each of the coordinates."""
    if not isinstance(value, (tuple, list)):
        return [value] * count
    if len(value) != count:
        fail(f"{what}: one for each of {count} coordinates, got {value!r}")
    return [*value]


def _bin(x: Tensor, bins: Any, lower: Any, upper: Any, what: str) -> Tensor:
    """The number of the bin in which each value falls, -1 outside."""
    count = checks.integer(bins, f"{what}: bins")
    checks.shape_of((max(count, 0),), INT64, f"{what}: bins")
    lower, upper = (checks.number(v, f"{what}: limits") for v in (lower, upper))
    if count < 1 or not -math.inf < lower < upper < math.inf:
        fail(f"{what}: at least 1 bin and lower < upper, got {bins} of [{lower}, {upper}]")
    inside = (x >= lower) & (x <= upper)
    position = floor((where(inside, x, lower) - lower) * (count / (upper - lower)))
    return where(inside, where(x == upper, count - 1, cast(position, INT64)), -1)


def _one() -> Tensor:
    return wrap(equations.Tensor("one", (), INT64, 1, (), here()))


def _writes(
    what: str, shape: tuple[Extent, ...], index: list[Tensor], first: int, values: Tensor, mode: Any
) -> Writes:
    """All values at index tensors in the dims from `first` on, where those of `values` are, too."""

    def value(s: Any, p: Any) -> Any:
        return values[(*p[:first], *s, *p[first:])]

    reads = {first + k: x.__getitem__ for k, x in enumerate(index)}
    points = index[0].shape
    return Writes(what, shape, points, reads, value, values.dtype, mode_of(mode, what))
