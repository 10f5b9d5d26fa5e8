"""Writes at indices that are data: `scatter`, and what is made of it.

Before: values over the points s of the indices and p of the other dims
After:  for all p, s:  out[index(s), p] = out[index(s), p] (combine) values[s, p]

The dims that index the write directly come first and are parallel, free of races; those of the
indices are reductions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.elementwise import cast, floor, to_tensor, where
from ted.frontend.indexing import integers, mode_of, place
from ted.frontend.layout import broadcast_to
from ted.frontend.locations import fail, here
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, wrap
from ted.ir import equations, scalar
from ted.ir.dtypes import BOOL, INDEX, INT64, DType, accumulator, promote
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, dim, load

COMBINERS = ("add", "max", "min")


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
    `init` (a tensor or a number), which is the combiner's identity by default: 0, -inf or inf.  An
    index outside its dim is an error when the program runs, or moves to the nearest one inside
    (`mode="clip"`), or its value is left out (`mode="drop"`), or is undefined (`mode="unchecked"`,
    which checks nothing).  Sums of float16 and bfloat16 are taken in float32, bools count.
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
    target = _Target("scatter", extents, tuple(index), 0, mode_of(mode, "scatter"))
    return target.filled(values, len(points), 0, combine, init)


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
    target = _Target("index_add", x.shape, (indices,), along, mode_of(mode, "index_add"))
    return target.filled(values, 1, along, "add", x)


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
    x = to_tensor(x, "histogram")
    count = checks.integer(bins, "histogram: bins")
    if count < 1 or not -math.inf < lower < upper < math.inf:
        fail(f"histogram: at least 1 bin and lower < upper, got {bins} of [{lower}, {upper}]")
    inside = (x >= lower) & (x <= upper)
    position = floor((where(inside, x, lower) - lower) * (count / (upper - lower)))
    number = where(inside, where(x == upper, count - 1, cast(position, INT64)), -1)
    return bincount(number, count, weights, mode="drop")


def _one() -> Tensor:
    return wrap(equations.Tensor("one", (), INT64, 1, (), here()))


# ------------------------------------------------------------------ the equation


@dataclass(frozen=True)
class _Target:
    """What is written: a tensor of `shape`, at index tensors in the dims from `first` on."""

    what: str
    shape: tuple[Extent, ...]
    index: tuple[Tensor, ...]
    first: int
    mode: str

    def filled(self, values: Tensor, points: int, start: int, combine: str, init: Any) -> Tensor:
        """The target with all values in it; `points` dims of values from `start` on are those of
        the indices.
        """
        if combine not in COMBINERS:
            fail(f"{self.what}: combine must be one of {', '.join(COMBINERS)}, got {combine!r}")
        begin = self._begin(init)
        result = _result(values.dtype, begin, combine)
        wide = accumulator(result) if combine == "add" else result
        order = [k for k in range(values.ndim) if not start <= k < start + points]
        direct, order = len(order), [*order, *range(start, start + points)]
        write, inside = self._write(direct)
        at = [dim(order.index(k)) for k in range(values.ndim)]
        neutral = equations.identity(combine, wide)
        body = scalar.select(
            inside, scalar.cast(load(values.node, at), wide), scalar.const(neutral, wide)
        )
        extents = tuple(values.shape[k] for k in order)
        equation = equations.Equation(
            extents, direct, parameters.box(extents), write, combine, body, here()
        )
        first, fill = (), neutral
        if isinstance(begin, Tensor):
            first, fill = (_copy(begin, wide),), None
        elif begin is not None:
            fill = constant(begin, wide, self.what).attr
        node = equations.Tensor(self.what, self.shape, wide, fill, (*first, equation), here())
        return wrap(node).astype(result)

    def _write(self, direct: int) -> tuple[tuple[Expr, ...], Expr]:
        """The subscripts of the write, and the condition under which a point counts."""
        write, condition = [dim(k) for k in range(direct)], TRUE
        for k, x in enumerate(self.index):
            extent = self.shape[self.first + k]
            if self.mode in ("clip", "drop") and not extent and x.size:
                fail(f"{self.what}: mode {self.mode} needs an element, got shape {self.shape}")
            value = load(x.node, [dim(direct + n) for n in range(x.ndim)])
            subscript, inside = place(Scalar(scalar.cast(value, INDEX)), extent, self.mode)
            write.insert(self.first + k, subscript.expr)
            condition = condition if inside is None else scalar.land(condition, inside.expr)
        return tuple(write), condition

    def _begin(self, init: Any) -> Any:
        if init is None or isinstance(init, (bool, int, float)):
            return init
        tensor = to_tensor(init, f"{self.what}: init")
        if tensor.shape != self.shape:
            fail(f"{self.what}: init must have shape {self.shape}, got {tensor.shape}")
        return tensor


def _result(dtype: DType, init: Any, combine: str) -> DType:
    dtype = promote(dtype, init.dtype) if isinstance(init, Tensor) else dtype
    return INT64 if dtype == BOOL and combine == "add" else dtype


def _copy(source: Tensor, dtype: DType) -> equations.Equation:
    at: Sequence[Expr] = tuple(dim(k) for k in range(source.ndim))
    value, box = scalar.cast(load(source.node, at), dtype), parameters.box(source.shape)
    return equations.Equation(source.shape, source.ndim, box, tuple(at), "set", value, here())
