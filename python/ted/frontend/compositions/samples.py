"""Functions known at points, and places in arrays, by NumPy's names.

Before: ted.trapezoid(y, x)      After: the sum of (x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.creation import full
from ted.frontend.cumulative import cumsum
from ted.frontend.elementwise import absolute, cast, isfinite, to_tensor, where
from ted.frontend.indexing import take
from ted.frontend.joining import concatenate
from ted.frontend.layout import flatten, reshape
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import sum
from ted.frontend.searching import searchsorted
from ted.frontend.sorting import argsort, order_by
from ted.frontend.statistics import diff
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import UINT64, promote

_DEEPEST = 64  # dims of an array of NumPy


@rounded_once
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral along `axis` of a function that is y at points x, or `dx` apart.

    Shapes: y (..., n, ...), x (n) or like y.
    Raises: FrontendError for an axis that y does not have, or points that do not fit.
    """
    y = to_tensor(y, "trapezoid")
    along = checks.axis_of(axis, y.ndim, "trapezoid")
    step: Any = checks.number(dx, "trapezoid: dx")
    if x is not None:
        points = to_tensor(x, "trapezoid: x")
        if points.ndim == 1 < y.ndim:
            points = reshape(points, [-1 if k == along else 1 for k in range(y.ndim)])
        if points.ndim != y.ndim or points.shape[along] != y.shape[along]:
            fail(f"trapezoid: x must be a vector along axis {axis} of y, of shape {y.shape}, "
                 f"or like y, got shape {points.shape}")  # fmt: skip
        step = diff(points, along)
    lead = (slice(None),) * along
    pairs = y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]
    return sum(pairs * step * 0.5, along)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours of the flattened x, behind `to_begin` and before `to_end`.

    Raises: FrontendError for what is no tensor.
    """
    x = flatten(to_tensor(x, "ediff1d"))
    ends = [None if v is None else flatten(to_tensor(v, "ediff1d")) for v in (to_begin, to_end)]
    parts = [v for v in (ends[0], diff(x), ends[1]) if v is not None]
    return concatenate(parts, 0) if len(parts) > 1 else parts[0]


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Tensor:
    """The function that is fp at rising points xp, and a line between two, at each element of x.

    Outside it is `left` and `right`, the first and the last of fp unless said. With a period it
    goes on and on, and points are in any order.
    Shapes: x S, xp (n), fp (n), result S.
    Raises: FrontendError for what is no vector, vectors that differ, or no points.
    """
    x, xp, fp = (to_tensor(v, f"interp: {n}") for v, n in ((x, "x"), (xp, "xp"), (fp, "fp")))
    if xp.ndim != 1 or fp.shape != xp.shape or not xp.shape[0]:
        fail(f"interp: xp and fp must be vectors of one extent above 0, got {xp.shape}, {fp.shape}")
    if period is not None:
        around = checks.number(period, "interp: period", "must not be 0", lambda v: v != 0)
        x, xp, fp, left, right = *_unrolled(x, xp, fp, abs(around)), None, None
    last = checks.integer(xp.shape[0], "interp: extent") - 1
    places = searchsorted(xp, x, side="right")
    before = where(places < 1, 0, where(places > last, max(last - 1, 0), places - 1))
    after = where(before < last, before + 1, before)
    x0, x1, f0, f1 = (
        take(v, k, 0, "unchecked")
        for v, k in ((xp, before), (xp, after), (fp, before), (fp, after))
    )
    # Differences of small integers wrap, and the product of two may leave a float's range.
    along, width = (_wide(v) - _wide(x0) for v in (x, x1))
    # The last point is measured from itself: its value is exact, its slope that of the line.
    is_last = x == xp[last]
    part = where(is_last, _wide(x) - _wide(x1), along) / where(width > 0, width, 1)
    f0, f1 = (v if v.dtype.is_float else cast(v, part.dtype) for v in (f0, f1))
    rise = where((width > 0) & (isfinite(f1 - f0) | (part != 0)), f1 - f0, 0)
    inner = where(is_last, f1, f0) + part * rise
    low = fp[0] if left is None else left
    high = fp[last] if right is None else right
    return where(x < xp[0], low, where(x > xp[last], high, inner))


def _unrolled(x: Tensor, xp: Tensor, fp: Tensor, period: float) -> tuple[Tensor, Tensor, Tensor]:
    """x in the first period, and the points there in order, with one more at each end."""
    x, xp = x % period, xp % period
    order = argsort(xp)
    xp, fp = (take(v, order, 0, "unchecked") for v in (xp, fp))
    ends = xp[-1:] - period, xp, xp[:1] + period
    return x, concatenate(ends, 0), concatenate([fp[-1:], fp, fp[:1]], 0)


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype.is_float or x.dtype == UINT64 else cast(x, "int64")


@rounded_once
def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi
) -> Tensor:
    """p with multiples of the period added, so that no step along `axis` is above `discont`.

    That is half a period unless said; of less there is nothing to add.
    Raises: FrontendError for an axis that p does not have, or a period that is not above 0.
    """
    p = to_tensor(p, "unwrap")
    along = checks.axis_of(axis, p.ndim, "unwrap")
    whole = checks.number(period, "unwrap: period", "must be above 0", lambda v: v > 0)
    least = whole / 2 if discont is None else checks.number(discont, "unwrap: discont")
    step = diff(p, along)
    near = (step + whole / 2) % whole - whole / 2
    near = where((near == -whole / 2) & (step > 0), whole / 2, near)
    added = where(absolute(step) < least, 0.0, near - step)
    lead = (slice(None),) * along
    first, rest = p[(*lead, slice(0, 1))], p[(*lead, slice(1, None))]
    return concatenate([first, rest + cumsum(added, along)], along)


def lexsort(keys: Sequence[Any], axis: int = -1) -> Tensor:
    """The positions in order by several keys, of which the last one counts most.

    Raises: FrontendError for no keys, keys of several shapes, or numbers as keys.
    """
    found = [to_tensor(key, "lexsort") for key in checks.listed(keys, "lexsort: keys")]
    shapes = {tuple(key.shape) for key in found}
    if len(shapes) != 1:
        fail(f"lexsort: takes keys of one shape, got {sorted(shapes)}")
    if not found[0].ndim:
        fail(f"lexsort: takes keys with a dim, got {len(found)} numbers")
    return order_by(found, axis)


def resize(x: Any, new_shape: Any) -> Tensor:
    """The elements of x in row-major order, again and again, in another shape.

    Raises: FrontendError for a shape that is none.
    """
    x = flatten(to_tensor(x, "resize"))
    shape = checks.shape_of(new_shape, x.dtype, "resize")
    count = checks.integer(x.shape[0], "resize: extent")
    if not count:
        return full(shape, 0, x.dtype)
    return reshape(compute((math.prod(shape),), lambda i: x[i % count], name="resize"), shape)


def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """Where row-major positions are in an array of a shape, a tensor for each dim.

    Positions outside count on from the first element again.

    Raises: FrontendError for a shape that is none, positions in one without elements.
    """
    places = cast(to_tensor(indices, "unravel_index"), "int64")
    extents = [
        checks.integer(n, "unravel_index: extent")
        for n in checks.listed(shape, "unravel_index: shape")
    ]
    if 0 in extents:
        if places.size != 0:
            fail(f"unravel_index: a shape with elements has positions, got {tuple(extents)}")
        return (places,) * len(extents)
    return tuple(places // math.prod(extents[k + 1 :]) % extents[k] for k in range(len(extents)))


def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[int]) -> Tensor:
    """The row-major positions of subscripts, one for each dim, in an array of a shape.

    Raises: FrontendError for as many subscripts as there are no dims.
    """
    given = checks.listed(dims, "ravel_multi_index: dims")
    extents = [checks.integer(n, "ravel_multi_index: extent") for n in given]
    places = checks.listed(multi_index, "ravel_multi_index: multi_index")
    if len(places) != len(extents) or not extents:
        fail(f"ravel_multi_index: takes a subscript for each dim of {tuple(extents)}, "
             f"got {len(places)}")  # fmt: skip
    at = cast(to_tensor(places[0], "ravel_multi_index"), "int64")
    for index, extent in zip(places[1:], extents[1:], strict=True):
        at = at * extent + to_tensor(index, "ravel_multi_index")
    return at


def block(arrays: Any) -> Tensor:
    """A tensor of blocks: the innermost lists are joined along the last dim, others before it.

    Numbers are blocks of the type of the others.
    Raises: FrontendError for an empty list, blocks that do not fit, or numbers alone.
    """

    def tensors(part: Any, level: int = 0) -> list[Tensor]:
        if level > _DEEPEST:
            fail(f"block: takes at most {_DEEPEST} lists in lists, got more")
        if isinstance(part, list):
            return [x for p in part for x in tensors(p, level + 1)]
        return [] if isinstance(part, (int, float)) else [to_tensor(part, "block")]

    types = [x.dtype for x in tensors(arrays)]

    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) and part else 0

    def rank(part: Any) -> int:
        if not isinstance(part, list):
            return 0 if isinstance(part, (int, float)) else to_tensor(part, "block").ndim
        if not part:
            fail("block: takes no empty lists, got []")
        return max(map(rank, part))

    dims = max(depth(arrays), rank(arrays))

    def joined(part: Any, level: int) -> Tensor:
        if isinstance(part, list):
            return concatenate([joined(p, level + 1) for p in part], dims - depth(arrays) + level)
        number = isinstance(part, (int, float)) and types
        x = full((), part, functools.reduce(promote, types)) if number else to_tensor(part, "block")
        return reshape(x, (*(1,) * (dims - x.ndim), *x.shape))

    return joined(arrays, 0)
