"""Subscripts of whole tensors: numbers, slices with steps, None, Ellipsis, integer tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.domain.sizes import Extent, is_symbolic
from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.known_indices import Known, known_indices
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, wrapped, wrapped_data
from ted.ir import scalar
from ted.ir.dtypes import INDEX

# Extents of the result, and what their indices say about subscripts of the source: (dim, index).
_Part = tuple[tuple[Extent, ...], "Callable[..., list[tuple[int, Any]]]"]


def subscript(x: Tensor, items: tuple[Any, ...]) -> Tensor:
    """`x[items]` by numpy's rules for numbers, slices, None, Ellipsis, integer tensors and arrays.

    Arrays of integers are checked now; one of bools stands for the indices where it holds.  Integer
    tensors broadcast together; their dims come where they stand, or in front when something else
    stands between them.  Any index may count from the end; one that is data and outside its dim is
    an error when the program runs.

    Raises: FrontendError for too many subscripts, one outside its dim or of another kind, a step of
    0.
    """
    items = _expand(x, tuple(part for item in items for part in known_indices(item, x.name)))
    if all(isinstance(item, slice) and item == slice(None) for item in items):
        return x
    parts = _parts(x, items)
    shape = tuple(extent for extents, _ in parts for extent in extents)
    return compute(shape, lambda *index: x[_point(parts, index)], name=f"{x.name}_slice")


def _point(parts: Sequence[_Part], index: tuple[Any, ...]) -> tuple[Any, ...]:
    point: dict[int, Any] = {}
    position = 0
    for extents, places in parts:
        point.update(places(*index[position : position + len(extents)]))
        position += len(extents)
    return tuple(point[k] for k in range(len(point)))


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


def _parts(x: Tensor, items: tuple[Any, ...]) -> list[_Part]:
    """One part per item; index tensors, and numbers beside them, are one part together."""
    parts: list[_Part] = []
    gathered: list[tuple[int, Any]] = []
    positions: list[int] = []
    any_tensor = any(isinstance(item, (Tensor, Known)) for item in items)
    dim = 0
    for k, item in enumerate(items):
        if item is None:
            parts.append(((1,), lambda _: []))
            continue
        what, extent = f"{x.name}: subscript {dim}", x.shape[dim]
        if isinstance(item, slice):
            parts.append(_sliced(item, extent, dim, what))
        elif not any_tensor:
            place = (dim, _number(item, extent, what))
            parts.append(((), lambda place=place: [place]))
        else:
            gathered.append((dim, _index(item, extent, what)))
            positions.append(k)
        dim += 1
    if gathered:
        adjacent = positions[-1] - positions[0] == len(positions) - 1
        parts.insert(positions[0] if adjacent else 0, _gathered(x, gathered))
    return parts


def _gathered(x: Tensor, subscripts: list[tuple[int, Any]]) -> _Part:
    shapes = [item.shape for _, item in subscripts if isinstance(item, (Tensor, Known))]
    common = checks.broadcast(shapes, f"{x.name}: index tensors")

    def places(*own: Any) -> list[tuple[int, Any]]:
        return [
            (dim, _element(item, own, x.shape[dim]) if isinstance(item, (Tensor, Known)) else item)
            for dim, item in subscripts
        ]

    return common, places


def _element(item: Tensor | Known, point: tuple[Any, ...], extent: Extent) -> Any:
    tensor = item.tensor if isinstance(item, Known) else item
    own = point[len(point) - tensor.ndim :]
    found = tensor[tuple(0 if n == 1 else i for i, n in zip(own, tensor.shape, strict=True))]
    if isinstance(item, Known) and item.is_inside:
        return Scalar(scalar.unchecked(scalar.cast(found.expr, INDEX)))
    return wrapped_data(found, extent)


def _index(item: Any, extent: Extent, what: str) -> Any:
    if isinstance(item, Known):
        return item.inside(extent, what)
    if not isinstance(item, Tensor):
        return _number(item, extent, what)
    if item.dtype.kind != "int":
        hint = "; choose elements with ted.where" if item.dtype.kind == "bool" else ""
        fail(f"{what}: must be an integer tensor, got {item.dtype}{hint}")
    return item


def _number(item: Any, extent: Extent, what: str) -> Extent:
    return wrapped(checks.extent(item, what), extent, what)


def _sliced(item: slice, extent: Extent, dim: int, what: str) -> _Part:
    start, stop = (
        None if bound is None else checks.extent(bound, f"{what}: slice bound")
        for bound in (item.start, item.stop)
    )
    step = 1 if item.step is None else checks.integer(item.step, f"{what}: slice step")
    if step == 0:
        fail(f"{what}: a slice step must not be 0, got {item}")
    if is_symbolic(n for n in (start, stop, extent) if n is not None):
        first, count = _symbolic_range(start, stop, step, extent)
    else:
        assert isinstance(extent, int), "no symbolic size is in the slice"
        points = range(*slice(start, stop, step).indices(extent))
        first, count = points.start, len(points)
    if step < 0:
        return (count,), lambda i: [(dim, first - i * -step)]
    return (count,), lambda i: [(dim, i * step + first)]


def _symbolic_range(
    start: Extent | None, stop: Extent | None, step: int, extent: Extent
) -> tuple[Extent, Extent]:
    """The first index and the number of indices of a slice, for all sizes alike.

    Raises: DomainError where what is promised of the sizes does not decide a bound.
    """
    low, high = (0, extent) if step > 0 else (-1, extent - 1)

    def bound(given: Extent | None, default: Extent) -> Extent:
        if given is None:
            return default
        place = given + extent if given < 0 else given
        if place < low:
            return low
        return place if place <= high else high

    first = bound(start, low if step > 0 else high)
    last = bound(stop, high if step > 0 else low)
    span = last - first if step > 0 else first - last
    return first, (span + (abs(step) - 1)) // abs(step) if span >= 0 else 0
