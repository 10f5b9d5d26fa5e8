"""Searching and sets: places in sorted vectors, distinct elements, membership."""

from __future__ import annotations

from typing import Any

from ted.domain.sizes import surely_at_most
from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import full
from ted.frontend.cumulative import cumsum
from ted.frontend.elementwise import cast, isnan, stop_gradient, to_tensor, where
from ted.frontend.joining import asarray, concatenate
from ted.frontend.layout import flatten, reshape
from ted.frontend.locations import fail
from ted.frontend.reductions import any
from ted.frontend.scattering import scatter
from ted.frontend.sorting import sort
from ted.frontend.stated_bounds import at_most, held
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT64, promote


def searchsorted(a: Any, values: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values go in a sorted vector: before elements equal to them, or behind ("right").

    log n halvings, each a read at data; NaN goes to the end, before or behind other NaN.
    Shapes: a (n), values S, sorter (n) of integers that sort a; result S.
    Raises: FrontendError for what is no vector, or another side.
    """
    a, values = to_tensor(a, "searchsorted: a"), asarray(values)
    if a.ndim != 1:
        fail(f"searchsorted: a must be a vector, got shape {a.shape} ({a.name})")
    checks.one_of(side, ("left", "right"), "searchsorted: side")
    n = checks.integer(a.shape[0], "searchsorted: extent")
    kind = promote(a.dtype, values.dtype)
    a, values = stop_gradient(cast(a, kind)), stop_gradient(cast(values, kind))
    if sorter is not None:
        order = to_tensor(sorter, "searchsorted: sorter")
        a = compute((n,), lambda i: a[order[i]], name="sorted") if n else a
    found = cast(values != values, INT64) * 0
    for bit in reversed(range(n.bit_length())):
        found = _advanced(a, values, found, 1 << bit, side == "right")
    return found


def _advanced(a: Tensor, values: Tensor, found: Tensor, step: int, behind: bool) -> Tensor:
    """The number of elements known to come before, more by `step` where so many do."""
    n = a.shape[0]

    def element(*i: Any) -> Any:
        tried = found[i] + step
        fits = tried <= n
        seen, value = a[where(fits, tried - 1, 0)], values[i]
        before = (seen <= value if behind else seen < value) | ((value != value) & (seen == seen))
        if behind:
            before = before | (value != value)
        return where(fits & before, tried, found[i])

    return compute(values.shape, element, name="searchsorted")


def isin(x: Any, values: Any) -> Tensor:
    """Whether each element is one of the values.

    Shapes: those of x.
    """
    x, values = to_tensor(x, "isin"), flatten(to_tensor(values, "isin: values"))
    kind = promote(x.dtype, values.dtype)
    x, values = cast(x, kind), cast(values, kind)
    r = reduce_axis(values.shape[0], "r")
    return compute(x.shape, lambda *i: any(x[i] == values[r], axis=r), name="isin")


def unique(x: Any, size: int, fill: Any = None, truncate: bool = False) -> Tensor:
    """The distinct elements of x in rising order, NaN once, at most `size`.

    What there is not is `fill`, by default the least element.  More are an ExecutionError when the
    program runs; of them `truncate=True` takes the first.
    Shapes: result (size).
    Raises: FrontendError for a negative size, or an x without elements and no fill.
    """
    x, truncate = flatten(to_tensor(x, "unique")), checks.flag(truncate, "unique: truncate")
    count = checks.shape_of((size,), x.dtype, "unique: size")[0]
    if not x.shape[0]:
        if count and fill is None:
            fail("unique: takes at least one element, got none; fill= says what is there instead")
        return full((count,), fill or 0, x.dtype)
    ranked = sort(x)
    before, after = ranked[:-1], ranked[1:]
    other = before != after
    if x.dtype.is_float:
        other = other & ~(isnan(before) & isnan(after))
    first = concatenate([reshape(ranked[:1] == ranked[:1], (1,)) | True, other])
    place = cumsum(cast(first, INT64), 0) - 1
    kind = INT64 if x.dtype == BOOL else x.dtype
    # Each distinct element is written once; others go outside and are dropped.
    at = where(first, place, -1)
    numbers = cast(ranked, kind)
    start = -0.0 if x.dtype.is_float else 0
    written = scatter((count,), at, where(first, numbers, start), init=start, mode="drop")
    known = compute((count,), lambda i: i <= place[x.shape[0] - 1], name="known")
    rest = numbers[0] if fill is None else fill
    result = cast(where(known, written, rest), x.dtype)
    if truncate or surely_at_most(x.shape[0], count):
        return result
    found = place[x.shape[0] - 1] + 1
    return held([result], found > count, found, at_most("unique", "size", count, "elements"))[0]
