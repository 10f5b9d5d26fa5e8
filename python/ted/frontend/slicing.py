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
from ted.records import dataclass


@dataclass(frozen=True)
class Part:
    """Dims of the result, and what their indices say of subscripts of the source: (dim, index)."""

    kind: str  # new, number, slice or index: None, a number, a slice, index tensors together
    extents: tuple[Extent, ...]
    places: Callable[..., list[tuple[int, Any]]]


def subscript(x: Tensor, items: tuple[Any, ...]) -> Tensor:
    """`x[items]` by numpy's rules for numbers, slices, None, Ellipsis, integer tensors and arrays.

    Arrays of integers are checked now; one of bools stands for the indices where it holds.  Integer
    tensors broadcast together; their dims come where they stand, or in front when something else
    stands between them.  Any index may count from the end; one that is data and outside its dim is
    an error when the program runs.

    Raises: FrontendError for too many subscripts, one outside its dim or of another kind, a step of
    0.
    """
    items = expand(x, items)
    if all(isinstance(item, slice) and item == slice(None) for item in items):
        return x
    parts = parts_of(x, items)
    return compute(shape_of(parts), lambda *i: x[point(parts, i)], name=f"{x.name}_slice")


def shape_of(parts: Sequence[Part]) -> tuple[Extent, ...]:
    """The extents of what is read or written."""
    return tuple(extent for part in parts for extent in part.extents)


def point(parts: Sequence[Part], index: Sequence[Any]) -> tuple[Any, ...]:
    """The subscripts of the source that belong to an index of the result."""
    found: dict[int, Any] = {}
    position = 0
    for part in parts:
        end = position + len(part.extents)
        found.update(part.places(*index[position:end]))
        position = end
    return tuple(found[k] for k in range(len(found)))


def expand(x: Tensor, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays as the indices that they are, Ellipsis and missing subscripts as full slices.

    Raises: FrontendError for too many subscripts, or an array of other than integers and bools.
    """
    items = tuple(part for item in items for part in known_indices(item, x.name))
    given = sum(item is not None and item is not Ellipsis for item in items)
    if given > x.ndim:
        fail(f"{x.name}: at most {x.ndim} subscripts, got {given} (shape {x.shape})")
    where = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(where) > 1:
        fail(f"{x.name}: one ... at most, got {len(where)}")
    at = where[0] if where else len(items)
    return (*items[:at], *[slice(None)] * (x.ndim - given), *items[at + 1 :])


def parts_of(x: Tensor, items: tuple[Any, ...]) -> list[Part]:
    """One part per item; index tensors, and numbers beside them, are one part together.

    Raises: FrontendError for one outside its dim or of another kind, a step of 0.
    """
    parts: list[Part] = []
    gathered: list[tuple[int, Any]] = []
    positions: list[int] = []
    any_tensor = any(isinstance(item, (Tensor, Known)) for item in items)
    dim = 0
    for k, item in enumerate(items):
        if item is None:
            parts.append(Part("new", (1,), lambda _: []))
            continue
        what, extent = f"{x.name}: subscript {dim}", x.shape[dim]
        if isinstance(item, slice):
            parts.append(_sliced(item, extent, dim, what))
        elif not any_tensor:
            place = (dim, _number(item, extent, what))
            parts.append(Part("number", (), lambda place=place: [place]))
        else:
            gathered.append((dim, _index(item, extent, what)))
            positions.append(k)
        dim += 1
    if gathered:
        adjacent = positions[-1] - positions[0] == len(positions) - 1
        parts.insert(positions[0] if adjacent else 0, _gathered(x, gathered))
    return parts


def _gathered(x: Tensor, subscripts: list[tuple[int, Any]]) -> Part:
    shapes = [item.shape for _, item in subscripts if isinstance(item, (Tensor, Known))]
    common = checks.broadcast(shapes, f"{x.name}: index tensors")

    def places(*own: Any) -> list[tuple[int, Any]]:
        return [
            (dim, element(item, own, x.shape[dim]) if isinstance(item, (Tensor, Known)) else item)
            for dim, item in subscripts
        ]

    return Part("index", common, places)


def element(item: Tensor | Known, point: Sequence[Any], extent: Extent) -> Scalar:
    """The index that an index tensor gives at a point of what all of them broadcast to."""
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
        hint = "; ted.compress(mask, x, size=n) chooses" if item.dtype.kind == "bool" else ""
        fail(f"{what}: must be an integer tensor, got {item.dtype}{hint}")
    return item


def _number(item: Any, extent: Extent, what: str) -> Extent:
    return wrapped(checks.extent(item, what), extent, what)


def _sliced(item: slice, extent: Extent, dim: int, what: str) -> Part:
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
        return Part("slice", (count,), lambda i: [(dim, first - i * -step)])
    return Part("slice", (count,), lambda i: [(dim, i * step + first)])


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
