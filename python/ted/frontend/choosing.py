"""Elements that a condition chooses: how many is data, so the result has the extent that is given.

Before: compress(c, x, size=n)
After:  number[s] = how many of c[0], ..., c[s - 1] hold
        place[j] = the s with c[s] and number[s] == j, -1 where there is none: a maximum at data
        out[j] = x[place[j]]
"""

from __future__ import annotations

import math
from typing import Any

from ted.domain.sizes import Extent, surely_at_most
from ted.frontend import checks, elementwise
from ted.frontend.compute import compute
from ted.frontend.creation import arange, full
from ted.frontend.cumulative import cumsum
from ted.frontend.elementwise import to_tensor
from ted.frontend.layout import flatten
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.frontend.scattering import scatter
from ted.frontend.stated_bounds import at_most, held
from ted.frontend.tensors import Tensor
from ted.ir import scalar
from ted.ir.dtypes import BOOL, INDEX, INT64


def where(
    condition: Any,
    a: Any = None,
    b: Any = None,
    size: Extent | None = None,
    fill: int = 0,
    truncate: bool = False,
) -> Any:
    """a where the condition holds, else b; or, with `size` alone, the indices where it holds.

    A read that only one side needs is made only where that side is taken, so an affine condition
    guards subscripts: `where(i > 0, A[i - 1], 0)`.

    `where(condition, size=n)` is a tuple of index tensors of extent n, one for each dim, in
    row-major order, and `fill` where there are fewer.  More are an ExecutionError when the program
    runs; of them `truncate=True` takes the first n.
    Raises: FrontendError for one of a and b alone, or neither and no size.
    """
    truncate = checks.flag(truncate, "where: truncate")
    if size is None:
        if truncate:
            fail("where: truncate is for the indices where a condition holds, got no size=")
        if a is None or b is None:
            fail(f"where: takes (condition, a, b), or (condition, size=n), got {a!r} and {b!r}")
        return elementwise.where(condition, a, b)
    if a is not None or b is not None:
        fail("where: size is for the indices where a condition holds, without a and b")
    condition, number = _condition(condition, "where"), checks.integer(fill, "where: fill")
    places = _places(flatten(condition), size, "where", truncate)
    indices: list[Tensor] = []
    for k, extent in enumerate(condition.shape):
        stride = math.prod(condition.shape[k + 1 :])
        # Where there are no elements no place is one, and none is divided by 0.
        own = places if condition.size == 0 else places // stride % extent
        indices.append(elementwise.where(places >= 0, own, number))
    return tuple(indices)


def compress(
    condition: Any,
    x: Any,
    axis: int | None = None,
    size: Extent | None = None,
    fill: Any = 0,
    truncate: bool = False,
) -> Tensor:
    """The slices of `x` along `axis` where the condition holds, at most `size`.

    Where there are fewer the rest is `fill`, a number.  More are an ExecutionError when the program
    runs; of them `truncate=True` takes the first.  Of the flattened x where axis is None; then
    the condition may have the shape of x, so that `compress(x > 0, x, size=n)` has the elements of
    `x[x > 0]`.
    Shapes: condition (n), x (a..., n, b...), result (a..., size, b...).
    Raises: FrontendError for no size, or a condition of another extent.
    """
    x, condition = to_tensor(x, "compress"), _condition(condition, "compress")
    if size is None:
        fail("compress: how many hold is data, so size= says how many are taken, got none")
    if axis is None:
        condition = flatten(condition) if condition.shape == x.shape else condition
        x, axis = flatten(x), 0
    along = checks.axis_of(axis, x.ndim, "compress")
    if condition.shape != (x.shape[along],):
        fail(f"compress: the condition must have shape ({x.shape[along]},), got {condition.shape}")
    places = _places(condition, size, "compress", checks.flag(truncate, "compress: truncate"))
    if x.shape[along] == 0:
        shape = (*x.shape[:along], *places.shape, *x.shape[along + 1 :])
        return full(shape, fill, x.dtype)

    def element(*i: Any) -> Any:
        place = places[i[along]]
        at = Scalar(scalar.unchecked(scalar.cast(place.expr, INDEX)))
        return elementwise.where(place >= 0, x[(*i[:along], at, *i[along + 1 :])], fill)

    shape = (*x.shape[:along], *places.shape, *x.shape[along + 1 :])
    return compute(shape, element, name="compress", dtype=x.dtype)


def _condition(condition: Any, what: str) -> Tensor:
    tensor = to_tensor(condition, f"{what}: condition")
    if tensor.dtype != BOOL or not tensor.ndim:
        fail(f"{what}: the condition must be a tensor of bools with dims, got {tensor!r}")
    return tensor


def _places(condition: Tensor, size: Extent, what: str, truncate: bool) -> Tensor:
    """The first `size` numbers of elements that hold, -1 where there are fewer."""
    extent = checks.extent(size, f"{what}: size")
    if not extent >= 0:
        fail(f"{what}: size must be at least 0, got {size}")
    if extent == 0 or condition.size == 0:
        return elementwise.cast(arange(extent) * 0 - 1, INT64)
    upto = cumsum(condition, 0)
    number = elementwise.where(condition, upto - 1, -1)
    first = scatter((extent,), number, arange(condition.shape[0]), "max", -1, "drop")
    found = upto[-1]
    if truncate or surely_at_most(condition.shape[0], extent):
        return first
    return held(
        [first], found > extent, found, at_most(what, "size", extent, "elements are taken")
    )[0]
