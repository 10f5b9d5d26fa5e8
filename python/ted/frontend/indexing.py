"""Reads at indices that are data: `take`, `dynamic_slice`, and what an index outside does.

Before: take(x, indices, axis=1)      After: out[i, k, j] = x[i, indices[k], j]

An index is checked when the program runs and may count from the end (`check`), or it is moved to
the nearest one inside (`clip`), gives 0 (`drop`), or is trusted (`unchecked`: outside, the program
is undefined).  All are written into the expressions, so gradients obey them.
"""

from __future__ import annotations

from typing import Any

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.captures import is_array
from ted.frontend.compute import compute
from ted.frontend.elementwise import maximum, minimum, to_tensor, where
from ted.frontend.layout import flatten
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, read, wrapped_data
from ted.ir import scalar
from ted.ir.dtypes import INDEX
from ted.ir.scalar import index

MODES = ("check", "clip", "drop", "unchecked")


def integers(x: Any, what: str) -> Tensor:
    """A tensor of integers.

    Raises: FrontendError for a tensor of another type.
    """
    tensor = to_tensor(x, what)
    if tensor.dtype.kind != "int":
        fail(f"{what}: must be integers, got {tensor.dtype} ({tensor.name})")
    return tensor


def mode_of(mode: Any, what: str) -> str:
    """One of the modes of an index that is data.

    Raises: FrontendError for an unknown one.
    """
    return checks.one_of(mode, MODES, f"{what}: mode")


def place(index: Any, extent: Extent, mode: str) -> tuple[Any, Scalar | None]:
    """Where an index leads under a mode, and the condition under which it counts."""
    if mode == "check":
        return index, None
    if mode == "unchecked":
        return Scalar(scalar.unchecked(scalar.cast(index.expr, INDEX))), None
    inside = (index >= 0) & (index < extent) if mode == "drop" else None
    return maximum(minimum(index, extent - 1), 0), inside


def source(index: Any, extent: Extent, mode: str) -> tuple[Any, Scalar | None]:
    """As `place`, but an index that is checked may count from the end."""
    return place(wrapped_data(index, extent) if mode == "check" else index, extent, mode)


def take(x: Any, indices: Any, axis: int | None = None, mode: str = "check") -> Tensor:
    """The slices of `x` along `axis` at `indices`; of the flattened x where axis is None.

    Negative ones count from the end unless `mode` says what an index outside does.
    Shapes: x (a..., n, b...), indices S of integers, result (a..., S..., b...).
    Raises: FrontendError for an axis that x does not have, indices that are no integers.
    """
    x, indices = to_tensor(x, "take"), integers(indices, "take: indices")
    mode = mode_of(mode, "take")
    if axis is None:
        x, axis = flatten(x), 0
    along = checks.axis_of(axis, x.ndim, "take")
    _some(x, along, indices, mode, "take")
    end = along + indices.ndim

    def element(*i: Any) -> Any:
        at, inside = source(indices[i[along:end]], x.shape[along], mode)
        value = x[(*i[:along], at, *i[end:])]
        return value if inside is None else where(inside, value, 0)

    shape = (*x.shape[:along], *indices.shape, *x.shape[along + 1 :])
    return compute(shape, element, name="take")


def take_along_axis(x: Any, indices: Any, axis: int = -1, mode: str = "check") -> Tensor:
    """The element along `axis` that `indices` gives for each place, as argsort and argmax give.

    Shapes: x and indices have the same rank and broadcast in every dim but `axis`; the result has
    the extent of indices there.
    Raises: FrontendError for ranks that differ, an axis that x does not have, indices that are no
    integers.
    """
    x, indices = to_tensor(x, "take_along_axis"), integers(indices, "take_along_axis: indices")
    mode = mode_of(mode, "take_along_axis")
    along = checks.axis_of(axis, x.ndim, "take_along_axis")
    if indices.ndim != x.ndim:
        fail(f"take_along_axis: indices need {x.ndim} dims, got shape {indices.shape}")
    _some(x, along, indices, mode, "take_along_axis")
    others = [tuple(1 if k == along else n for k, n in enumerate(t.shape)) for t in (x, indices)]
    common = checks.broadcast(others, "take_along_axis")
    shape = tuple(indices.shape[along] if k == along else n for k, n in enumerate(common))

    def element(*i: Any) -> Any:
        own = tuple(0 if n == 1 else p for p, n in zip(i, indices.shape, strict=True))
        at, inside = source(indices[own], x.shape[along], mode)
        point = [0 if n == 1 else p for p, n in zip(i, x.shape, strict=True)]
        point[along] = at
        value = x[tuple(point)]
        return value if inside is None else where(inside, value, 0)

    return compute(shape, element, name="take_along_axis")


def dynamic_slice(x: Any, starts: Any, sizes: checks.Shape) -> Tensor:
    """The part of `x` of extents `sizes` that begins at `starts`, which may be data.

    A negative start counts from the end; then starts move to the nearest where the part is inside,
    so no index is outside and nothing is checked when the program runs.
    Shapes: starts: one integer for each dim, numbers and tensors of rank 0, or one tensor (x.ndim).
    Raises: FrontendError for another number of starts or sizes, a size beyond the extent.
    """
    x = to_tensor(x, "dynamic_slice")
    shape = checks.shape_of(sizes, x.dtype, "dynamic_slice: sizes")
    begin = _starts(starts, x.ndim)
    if len(shape) != x.ndim or len(begin) != x.ndim:
        fail(
            f"dynamic_slice: one start and one size for each of {x.ndim} dims, got {len(begin)} "
            f"and {len(shape)}"
        )
    for n, extent in zip(shape, x.shape, strict=True):
        if not n <= extent:
            fail(f"dynamic_slice: sizes must be at most {x.shape}, got {shape}")

    def element(*i: Any) -> Any:
        parts = zip(i, begin, x.shape, shape, strict=True)
        return x[tuple(at + _inside(start, n, n - size) for at, start, n, size in parts)]

    return compute(shape, element, name="dynamic_slice")


def _starts(starts: Any, rank: int) -> list[Any]:
    if isinstance(starts, Tensor) or (is_array(starts) and not isinstance(starts, (list, tuple))):
        tensor = integers(starts, "dynamic_slice: starts")
        if tensor.shape != (rank,):
            fail(f"dynamic_slice: starts must have shape ({rank},), got {tensor.shape}")
        return [tensor[k] for k in range(rank)]
    found: list[Any] = []
    for start in starts if isinstance(starts, (list, tuple)) else (starts,):
        if isinstance(start, Tensor):
            start = integers(start, "dynamic_slice: starts")
            if start.ndim:
                fail(f"dynamic_slice: a start must have rank 0, got {start!r}")
            found.append(start)
        else:
            found.append(checks.extent(start, "dynamic_slice: start"))
    return found


def _inside(start: Any, extent: Extent, most: Extent) -> Any:
    """A start, from the end if it is negative, at the nearest place in [0, most]."""
    at = Scalar(
        scalar.cast(read(start, ()).expr if isinstance(start, Tensor) else index(start), INDEX)
    )
    return minimum(maximum(where(at < 0, at + extent, at), 0), most)


def _some(x: Tensor, along: int, indices: Tensor, mode: str, what: str) -> None:
    """Clipping needs an element to go to."""
    if mode in ("clip", "drop") and x.shape[along] == 0 and indices.size:
        fail(f"{what}: mode {mode} needs an element along axis {along}, got shape {x.shape}")
