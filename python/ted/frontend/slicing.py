"""Subscripts of whole tensors: numbers, slices with steps, None, Ellipsis, an integer tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor, wrapped

# One subscript as (extents it gives the result, its index in terms of the result's indices).
_Part = tuple[tuple[int, ...], "Callable[..., Any] | None"]


def subscript(x: Tensor, items: tuple[Any, ...]) -> Tensor:
    """`x[items]` by numpy's rules for numbers, slices, None and Ellipsis."""
    items = _expand(x, items)
    if sum(isinstance(item, Tensor) for item in items) > 1:
        fail(f"{x.name}: at most one subscript may be a tensor; write a compute for more")
    parts: list[_Part] = []
    dim = 0
    for item in items:
        what = f"{x.name}: subscript {dim}"
        parts.append(((1,), None) if item is None else _part(item, x.shape[dim], what))
        dim += item is not None
    shape = tuple(extent for extents, _ in parts for extent in extents)
    if all(isinstance(item, slice) and item == slice(None) for item in items):
        return x
    return compute(shape, lambda *index: x[_point(parts, index)], name=f"{x.name}_slice")


def _point(parts: list[_Part], index: tuple[Any, ...]) -> tuple[Any, ...]:
    point, position = [], 0
    for extents, at in parts:
        own = index[position : position + len(extents)]
        position += len(extents)
        if at is not None:
            point.append(at(*own))
    return tuple(point)


def _expand(x: Tensor, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Ellipsis and missing subscripts as full slices."""
    given = sum(item is not None and item is not Ellipsis for item in items)
    if given > x.ndim:
        fail(f"{x.name}: at most {x.ndim} subscripts, got {given} (shape {x.shape})")
    where = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(where) > 1:
        fail(f"{x.name}: one ... at most, got {len(where)}")
    at = where[0] if where else len(items)
    return (*items[:at], *[slice(None)] * (x.ndim - given), *items[at + 1 :])


def _part(item: Any, extent: int, what: str) -> _Part:
    if isinstance(item, slice):
        return _sliced(item, extent, what)
    if isinstance(item, Tensor):
        if item.dtype.kind != "int":
            hint = "; choose elements with ted.where" if item.dtype.kind == "bool" else ""
            fail(f"{what}: must be an integer tensor, got {item.dtype}{hint}")
        return item.shape, lambda *index: item[index]
    position = wrapped(checks.integer(item, what), extent, what)
    return (), lambda: position


def _sliced(item: slice, extent: int, what: str) -> _Part:
    bounds = [
        None if bound is None else checks.integer(bound, f"{what}: slice bound")
        for bound in (item.start, item.stop, item.step)
    ]
    if bounds[2] == 0:
        fail(f"{what}: a slice step must not be 0, got {item}")
    points = range(*slice(*bounds).indices(extent))
    if points.step < 0:
        return (len(points),), lambda i: points.start - i * -points.step
    return (len(points),), lambda i: i * points.step + points.start
