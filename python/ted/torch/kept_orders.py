"""Operators of torch that order elements, as functions of ted: a row each, of any type.

Values are read at positions that are found without slopes, so gradients go where torch's go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

import ted

Function = Callable[..., Any]  # its result is a tensor or a tuple of them
aten = torch.ops.aten


def _along(function: Function) -> Function:
    """The function along a dim, which a scalar may have as well: (x, dim, ...) -> results."""

    def call(x: Any, *rest: Any, **named: Any) -> Any:
        if x.ndim:
            return function(x, *rest, **named)
        return tuple(ted.reshape(r, ()) for r in function(ted.reshape(x, (1,)), *rest, **named))

    return call


def _at_rank(x: Any, rank: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The element of a rank along a dim, and its position; NaN have the last ranks."""
    shape = list(x.shape)
    shape[dim] = 1
    ranks = ted.broadcast_to(rank, tuple(shape))
    places = ted.take_along_axis(ted.argsort(x, dim), ranks, dim)
    values = ted.take_along_axis(x, places, dim)
    return (values, places) if keepdim else (ted.squeeze(values, dim), ted.squeeze(places, dim))


def _unknown(x: Any, dim: int) -> Any:
    return ted.sum(ted.cast(x != x, "int64"), dim, keepdims=True)


def _median(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    n, nans = x.shape[dim], _unknown(x, dim)
    return _at_rank(x, ted.where(nans > 0, n - nans, (n - 1) // 2), dim, keepdim)


def _nanmedian(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    return _at_rank(x, ted.maximum(x.shape[dim] - _unknown(x, dim) - 1, 0) // 2, dim, keepdim)


def _kth(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return _at_rank(x, ted.constant(k - 1), dim, keepdim)


def _of_all(function: Function) -> Function:
    """The function of all elements, equal ones share its gradient; of none it is NaN."""

    def call(x: Any) -> Any:
        if 0 in x.shape:
            return ted.asarray(ted.nan)
        found = function(ted.reshape(x, (-1,)))[0]
        equal = (x == found) | ((x != x) & (found != found))
        return ted.max(x, where=equal, ties="even") if x.dtype.is_float else found

    return call


def _mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The least of the most frequent elements, and its last position."""
    rows = ted.moveaxis(ted.sort(x, dim), dim, -1)
    counts = ted.sum(ted.cast(rows[..., :, None] == rows[..., None, :], "int64"), -1)
    first = ted.argmax(counts, -1, keepdims=True)
    last = first + ted.maximum(ted.max(counts, -1, keepdims=True) - 1, 0)
    return _at_rank(x, ted.moveaxis(last, -1, dim), dim, keepdim)


def _running(better: Function) -> Function:
    """The best element up to each one and its position, of equals the last; NaN is the best."""

    def step(best: Any, new: Any) -> Any:
        (old, _), (value, _) = best, new
        takes = (value != value) | ((old == old) & better(value, old))
        after = tuple(ted.where(takes, n, b) for n, b in zip(new, best, strict=True))
        return after, after

    def function(x: Any, dim: int) -> Any:
        rows = ted.moveaxis(x, dim, 0)
        own = ted.reshape(ted.arange(rows.shape[0]), (-1,) + (1,) * (x.ndim - 1))
        pairs = rows, ted.broadcast_to(own, rows.shape)
        first = tuple(part[0] for part in pairs)
        return tuple(ted.moveaxis(part, 0, dim) for part in ted.scan(step, first, pairs)[1])

    return function


def _sorted(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    places = ted.argsort(x, dim, descending)
    return ted.take_along_axis(x, places, dim), places


def _order(x: Any, *rest: Any, **named: Any) -> Any:
    return _along(_sorted)(x, *rest, **named)[1]


def _searched(
    a: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: Any = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    del out_int32  # results are of the type that torch says
    side = side or ("right" if right else "left")
    if a.ndim == 1:
        return ted.searchsorted(a, values, side, sorter)
    given = (a, values) if sorter is None else (a, values, sorter)
    return ted.vmap(lambda a, v, s=None: _searched(a, v, side=side, sorter=s))(*given)


def _bucketed(values: Any, bounds: Any, **named: Any) -> Any:
    return _searched(bounds, values, **named)


ORDERS: Mapping[Any, Function] = {
    aten.median.default: _of_all(_median), aten.median.dim: _along(_median),
    aten.nanmedian.default: _of_all(_nanmedian), aten.nanmedian.dim: _along(_nanmedian),
    aten.kthvalue.default: _along(_kth), aten.mode.default: _along(_mode),
    aten.cummax.default: _along(_running(lambda a, b: a >= b)),
    aten.cummin.default: _along(_running(lambda a, b: a <= b)),
    aten.sort.default: _along(_sorted), aten.sort.stable: _along(_sorted),
    aten.argsort.default: _order, aten.argsort.stable: _order,
    aten.searchsorted.Tensor: _searched, aten.searchsorted.Scalar: _searched,
    aten.bucketize.Tensor: _bucketed, aten.bucketize.Scalar: _bucketed,
}  # fmt: skip
