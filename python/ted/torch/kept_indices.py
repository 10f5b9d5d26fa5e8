"""Operators of torch that read and write at indices, as functions of ted: a row each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

import ted
from ted.frontend.locations import fail
from ted.ir.equations import identity

Function = Callable[..., Any]  # its result is a tensor or a tuple of them
aten = torch.ops.aten


def _bags(
    table: Any, ids: Any, offsets: Any, _scaled: bool = False, mode: int = 0, _sparse: bool = False,
    weights: Any = None, include_last: bool = False, padding: Any = None,
) -> Any:  # fmt: skip
    """The rows of bags; nothing reads what torch gives beside them for its backward."""
    how, left_out = ("sum", "mean", "max")[mode], None if padding == -1 else padding
    found = ted.nn.embedding_bag(
        table, ids, how, weights, left_out, offsets=offsets, include_last_offset=include_last
    )
    unread = ted.zeros((), "int64")
    return found, unread, unread, unread


def _written(x: Any, dim: int, index: Any, source: Any, *, reduce: str) -> Any:
    """The older operator, which takes a number as well."""
    if isinstance(source, (int, float)):
        source = ted.full(index.shape, source, x.dtype)
    return _scattered(x, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


_COMBINED = {
    "set": "set", "sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min",
}  # fmt: skip


def _scattered(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """What is written to each element together, the element itself among it or not."""
    if not x.ndim:  # one element, to which all is written
        row, index, source = (ted.reshape(part, (-1,)) for part in (x, index, source))
        return ted.reshape(_scattered(row, 0, index, source, reduce, include_self=include_self), ())
    source = source[tuple(slice(n) for n in index.shape)]
    own = [
        ted.reshape(ted.arange(n), (-1, *(1,) * (x.ndim - k - 1)))
        for k, n in enumerate(index.shape)
    ]
    own[dim] = index
    at = tuple(ted.broadcast_to(i, index.shape) for i in own)
    counts = ted.zeros(x.shape, "int64").at[at].add(ted.ones(index.shape, "int64"))
    start = x
    if not include_self:
        neutral = identity(_COMBINED[reduce], x.dtype)
        start = ted.where(counts > 0, ted.full((), neutral, x.dtype), x)
    if reduce != "mean":
        return getattr(start.at[at], _COMBINED[reduce])(source)
    counts = ted.maximum(counts + int(include_self), 1)
    total = start.at[at].add(source)
    return total / counts if x.dtype.is_float else ted.floor_divide(total, counts)


def _rows_reduced(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if not x.ndim:
        return _scattered(x, dim, index, source, reduce, include_self=include_self)
    dim = dim % x.ndim
    whole = ted.broadcast_to(
        ted.reshape(index, (-1, *(1,) * (x.ndim - dim - 1))), tuple(source.shape)
    )
    return _scattered(x, dim, whole, source, reduce, include_self=include_self)


def _put(x: Any, index: Any, values: Any, accumulate: bool = False) -> Any:
    flat, at = ted.reshape(x, (-1,)), ted.reshape(index, (-1,))
    place = flat.at[ted.where(at < 0, at + flat.shape[0], at)]
    values = ted.reshape(values, (-1,))
    return ted.reshape(place.add(values) if accumulate else place.set(values), x.shape)


def _unpooled(x: Any, at: Any, size: Sequence[int], *_: Any) -> Any:
    """The values of a pool at their places, which count the elements of a plane."""
    spatial = len(size)
    lead = tuple(x.shape[: x.ndim - spatial])
    rows = [ted.reshape(ted.arange(n), (-1, *(1,) * (len(lead) - k))) for k, n in enumerate(lead)]
    planes = ted.zeros((*lead, math.prod(size)), x.dtype)
    flat = [ted.reshape(part, (*lead, -1)) for part in (at, x)]
    return ted.reshape(planes.at[(*rows, flat[0])].set(flat[1]), (*lead, *size))


def _on_diagonal(x: Any, values: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    own = ted.arange(values.shape[-1])
    place = ted.moveaxis(x, (dim1, dim2), (0, 1)).at[own - min(offset, 0), own + max(offset, 0)]
    return ted.moveaxis(place.set(ted.moveaxis(values, -1, 0)), (0, 1), (dim1, dim2))


def _counted(x: Any, bins: int = 100, low: float = 0, high: float = 0) -> Any:
    flat = ted.reshape(x, (-1,))
    if low != high:
        return ted.histogram(flat, bins, float(low), float(high))
    if not flat.shape[0]:
        return ted.zeros((bins,), x.dtype)
    first, last = ted.min(flat), ted.max(flat)
    alone = ted.where(first == last, 1.0, 0.0)
    first, last = first - alone, last + alone
    place = (flat - first) * bins / (last - first)  # in torch's order, and so rounded as there
    return ted.histogram(ted.minimum(place, bins), bins, 0.0, float(bins))


def _strided(x: Any, size: Sequence[int], strides: Sequence[int], start: Any = None) -> Any:
    """Elements at distances in the memory of a tensor whose dims lie one in the other."""
    flat, first = ted.reshape(x, (-1,)), int(start or 0)
    last = first + sum((n - 1) * step for n, step in zip(size, strides, strict=True))
    if 0 not in size and last >= flat.shape[0]:
        fail(f"from_exported: as_strided must stay in its tensor's {flat.shape[0]} elements, got "
             f"size={[*size]}, stride={[*strides]} and offset {first}")  # fmt: skip

    def element(*i: Any) -> Any:
        return flat[sum((at * step for at, step in zip(i, strides, strict=True)), first)]

    return ted.compute(tuple(size), element, name="strided")


INDICES: Mapping[Any, Function] = {
    aten.embedding_bag.padding_idx: _bags, aten._embedding_bag.default: _bags,
    aten._embedding_bag_forward_only.default: _bags,
    aten.scatter_reduce.two: _scattered, aten.scatter.reduce: _written,
    aten.scatter.value_reduce: _written, aten.index_reduce.default: _rows_reduced,
    aten.diagonal_scatter.default: _on_diagonal, aten.put.default: _put,
    aten.max_unpool2d.default: _unpooled, aten.max_unpool3d.default: _unpooled,
    aten.histc.default: _counted, aten.as_strided.default: _strided,
}  # fmt: skip


def _filled(x: Any, dim: int, index: Any, value: Any) -> Any:
    return _scattered(x, dim, index, ted.full(index.shape, value, x.dtype), "set")


def _accumulated(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    return _scattered(x, dim, index, source * alpha, "sum")


# Along a dim of what has none, for which the importer makes indices without dims.
OF_ONE: Mapping[Any, Function] = {
    aten.scatter.src: partial(_scattered, reduce="set"), aten.scatter.value: _filled,
    aten.scatter_add.default: _accumulated, aten.index_add.default: _accumulated,
    aten.gather.default: lambda x, _, index, **__: x[None][index],
    aten.index_select.default: lambda x, _, index: x[None][ted.reshape(index, ())],
}  # fmt: skip


def is_indexed(target: Any, args: Sequence[Any]) -> bool:
    """Whether an operator is one of these; sums and extrema of `scatter_reduce` have a lowering."""
    if target is aten.as_strided.default:  # its offset counts from the memory of all views
        value = args[0].meta["val"]
        return value.is_contiguous() and (len(args) < 4 or value.storage_offset() == 0)
    if target in OF_ONE or (target is aten.scatter_reduce.two and args[4] != "mean"):
        return not args[0].meta["val"].ndim
    return target in INDICES
