"""Reductions that leave NaN out: those of `where=~isnan(x)`, by NumPy's names.

Before: ted.nanmean(x, axis=1)      After: ted.mean(x, axis=1, where=~ted.isnan(x))

What is left out has slope 0. Of NaN alone a sum is 0, a product 1, a position -1, the rest NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ted.frontend import checks
from ted.frontend.creation import full
from ted.frontend.cumulative import cumprod, cumsum
from ted.frontend.elementwise import cast, isnan, square, to_tensor, where
from ted.frontend.indexing import take_along_axis
from ted.frontend.joining import stack
from ted.frontend.layout import reshape, transpose
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import any as any_of
from ted.frontend.reductions import argmax, argmin, max, mean, min, prod, sum
from ted.frontend.sorting import (
    below_share,
    floats_of,
    floats_that_hold,
    interpolated,
    shares_of,
    sort,
)
from ted.frontend.statistics import deviation
from ted.frontend.tensors import Tensor


def nansum(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The sum over `axis` of what is not NaN.

    Raises: FrontendError as `sum`.
    """
    x = to_tensor(x, "nansum")
    return sum(x, axis, where=~isnan(x), keepdims=keepdims, dtype=dtype)


def nanprod(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The product over `axis` of what is not NaN.

    Raises: FrontendError as `prod`.
    """
    x = to_tensor(x, "nanprod")
    return prod(x, axis, where=~isnan(x), keepdims=keepdims, dtype=dtype)


def nanmean(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The mean over `axis` of what is not NaN; NaN of nothing.

    Raises: FrontendError as `mean`.
    """
    x = to_tensor(x, "nanmean")
    return mean(x, axis, where=~isnan(x), keepdims=keepdims, dtype=dtype)


@rounded_once
def nanvar(x: Any, axis: Any = None, correction: Any = 0, keepdims: bool = False) -> Tensor:
    """The mean square distance from the mean of what is not NaN, divided by its count - correction.

    Raises: FrontendError as `var`.
    """
    x = to_tensor(x, "nanvar")
    fewer = checks.number(correction, "nanvar: correction")
    there = ~isnan(x)
    centred = x - nanmean(x, axis, keepdims=True)
    total = sum(square(centred), axis, where=there, keepdims=keepdims)
    left = cast(sum(there, axis, keepdims=keepdims), total.dtype) - fewer
    return where(left > 0, total / where(left > 0, left, 1.0), math.nan)


@rounded_once
def nanstd(x: Any, axis: Any = None, correction: Any = 0, keepdims: bool = False) -> Tensor:
    """The root of `nanvar`; its slope is 0 where it is 0, as that of `std`.

    Raises: FrontendError as `var`.
    """
    return deviation(nanvar(x, axis, correction, keepdims))


def nanmax(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The greatest over `axis` that is not NaN; NaN of nothing else.

    Raises: FrontendError as `max`.
    """
    return _extreme(max, x, axis, keepdims, "nanmax")


def nanmin(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The least over `axis` that is not NaN; NaN of nothing else.

    Raises: FrontendError as `min`.
    """
    return _extreme(min, x, axis, keepdims, "nanmin")


def nanargmax(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first greatest that is not NaN; -1 of nothing else.

    Raises: FrontendError as `argmax`.
    """
    x = to_tensor(x, "nanargmax")
    return argmax(x, axis, where=~isnan(x), keepdims=keepdims)


def nanargmin(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first least that is not NaN; -1 of nothing else.

    Raises: FrontendError as `argmin`.
    """
    x = to_tensor(x, "nanargmin")
    return argmin(x, axis, where=~isnan(x), keepdims=keepdims)


def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running sums, NaN counted as 0.

    Raises: FrontendError as `cumsum`.
    """
    x = to_tensor(x, "nancumsum")
    return cumsum(where(isnan(x), 0, x), axis, dtype=dtype)


def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running products, NaN counted as 1.

    Raises: FrontendError as `cumprod`.
    """
    x = to_tensor(x, "nancumprod")
    return cumprod(where(isnan(x), 1, x), axis, dtype=dtype)


def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The middle over `axis` of what is not NaN, the mean of two; NaN of nothing.

    Raises: FrontendError as `nanquantile`.
    """
    return nanquantile(x, 0.5, axis, keepdims)


def nanquantile(x: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """What a share `q` of the elements that are not NaN is below, interpolated; NaN of nothing.

    Shapes: those of q, a number or numbers, then of the other dims.
    Raises: FrontendError for an axis that x does not have, or a q outside [0, 1].
    """
    x = to_tensor(x, "nanquantile")
    axes = checks.reduced_axes(axis, x.ndim, "nanquantile")
    rest = [k for k in range(x.ndim) if k not in axes]
    count = math.prod(checks.integer(x.shape[k], "nanquantile: extent") for k in axes)
    kept = tuple(x.shape[k] for k in rest)
    x = floats_that_hold(x)
    flat = reshape(transpose(x, [*axes, *rest]), (count, *kept))
    if not count:
        flat = full((1, *kept), math.nan, x.dtype)
    ranked = sort(flat, 0)  # NaN are the last ones
    there = sum(~isnan(ranked), 0, keepdims=True)
    keeps = checks.flag(keepdims, "nanquantile: keepdims")
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape)) if keeps else kept
    if isinstance(q, Tensor):
        flat = reshape(floats_of(q, "nanquantile: q"), (-1, *(1 for _ in there.shape)))
        several = [_at_share(ranked, there, flat[k]) for k in range(len(flat))]
        return reshape(stack(several), (*q.shape, *shape))
    shares, is_list = shares_of(q, "nanquantile: q")
    found = [reshape(_at_share(ranked, there, share), shape) for share in shares]
    return stack(found) if is_list else found[0]


def _at_share(ranked: Tensor, there: Tensor, share: Any) -> Tensor:
    """The element of a share of as many ranks as `there` are, between two of them."""
    low, part = below_share(share, cast(there - 1, "float64"), ranked.shape[0])
    at = where(there > 0, low, 0)
    after = where((there > 0) & (part > 0), at + 1, at)
    mode = "check" if isinstance(share, Tensor) else "unchecked"
    below, above = (take_along_axis(ranked, k, 0, mode=mode) for k in (at, after))
    return interpolated(below, above, cast(part, ranked.dtype))


def _extreme(reduced: Callable[..., Any], x: Any, axis: Any, keepdims: bool, what: str) -> Tensor:
    x = to_tensor(x, what)
    there = ~isnan(x)
    found = reduced(x, axis, where=there, keepdims=keepdims)
    if not x.dtype.is_float:
        return found
    return where(any_of(there, axis, keepdims=keepdims), found, math.nan)
