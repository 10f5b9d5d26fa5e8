"""Dims moved, split off, stretched together and paired: what layout functions are composed to."""

from __future__ import annotations

from typing import Any

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.elementwise import to_tensor
from ted.frontend.joining import concatenate, stack
from ted.frontend.layout import broadcast_to, reshape, swapaxes, transpose
from ted.frontend.locations import fail
from ted.frontend.reductions import sum
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places, the rest in their order.

    Raises: FrontendError for dims that x does not have, or as many places as dims.
    """
    x = to_tensor(x, "moveaxis")
    gone, places = (checks.axes_of(a, x.ndim, "moveaxis") for a in (source, destination))
    if len(gone) != len(places):
        fail(f"moveaxis: one place for each dim, got {source!r} and {destination!r}")
    order = [k for k in range(x.ndim) if k not in gone]
    for place, dim in sorted(zip(places, gone, strict=True)):
        order.insert(place, dim)
    return transpose(x, order)


def matrix_transpose(x: Any) -> Tensor:
    """The last two dims exchanged.

    Raises: FrontendError for a tensor of fewer than 2 dims.
    """
    x = to_tensor(x, "matrix_transpose")
    if x.ndim < 2:
        fail(f"matrix_transpose: takes at least 2 dims, got shape {x.shape} ({x.name})")
    return swapaxes(x, -2, -1)


def unstack(x: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along `axis`, without it.

    Raises: FrontendError for an axis that x does not have, or one of a symbolic extent.
    """
    x = to_tensor(x, "unstack")
    along = checks.axis_of(axis, x.ndim, "unstack")
    lead = (slice(None),) * along
    count = checks.integer(x.shape[along], "unstack: extent")
    return tuple(x[(*lead, k)] for k in range(count))


def broadcast_shapes(*shapes: Any) -> tuple[Extent, ...]:
    """The shape to which all of them stretch.

    Raises: FrontendError for extents that differ where neither is 1.
    """
    what = "broadcast_shapes"
    return checks.broadcast([checks.shape_of(s, BOOL, f"{what}: operand {k}")
                             for k, s in enumerate(shapes)], what)  # fmt: skip


def broadcast_arrays(*xs: Any) -> list[Tensor]:
    """The operands stretched to their common shape.

    Raises: FrontendError for extents that differ where neither is 1.
    """
    tensors = [to_tensor(x, f"broadcast_arrays: operand {k}") for k, x in enumerate(xs)]
    shape = checks.broadcast([x.shape for x in tensors], "broadcast_arrays")
    return [x if x.shape == shape else broadcast_to(x, shape) for x in tensors]


def atleast(rank: int, x: Any) -> Tensor:
    """Dims of extent 1 in front, up to `rank` of them."""
    x = to_tensor(x, "atleast")
    return reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x


def diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """The elements of the `offset`-th diagonal of two dims, as a last dim.

    Raises: FrontendError for dims that x does not have, or the same twice.
    """
    x = to_tensor(x, "diagonal")
    k = checks.integer(offset, "diagonal: offset")
    checks.axes_of((axis1, axis2), x.ndim, "diagonal")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    if rows != columns:
        rows, columns = (checks.integer(n, "diagonal: extent") for n in (rows, columns))
    length = max(min(rows, columns - k) if k >= 0 else min(rows + k, columns), 0)
    below, right = max(-k, 0), max(k, 0)
    return compute(
        (*x.shape[:-2], length), lambda *i: x[(*i[:-1], i[-1] + below, i[-1] + right)],
        name="diagonal",
    )  # fmt: skip


def hstack(xs: Any) -> Tensor:
    """Tensors one after the other along dim 1, along dim 0 of vectors.

    Raises: FrontendError for shapes that do not fit.
    """
    tensors = [atleast(1, x) for x in checks.listed(xs, "hstack: xs")]
    return concatenate(tensors, 0 if tensors and tensors[0].ndim == 1 else 1)


def vstack(xs: Any) -> Tensor:
    """Tensors one under the other along dim 0; a vector is a row.

    Raises: FrontendError for shapes that do not fit.
    """
    return concatenate([atleast(2, x) for x in checks.listed(xs, "vstack: xs")], 0)


def column_stack(xs: Any) -> Tensor:
    """Vectors as the columns of a matrix, beside matrices.

    Raises: FrontendError for shapes that do not fit.
    """
    tensors = [to_tensor(x, "column_stack") for x in checks.listed(xs, "column_stack: xs")]
    if all(x.ndim == 1 for x in tensors):
        return stack(tensors, 1)
    return concatenate([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in tensors], 1)


def trace(x: Any, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of the `offset`-th diagonal of the last two dims.

    Raises: FrontendError for a tensor of fewer than 2 dims.
    """
    x = to_tensor(x, "trace")
    if x.ndim < 2:
        fail(f"trace: takes at least 2 dims, got shape {x.shape} ({x.name})")
    return sum(diagonal(x, offset), -1, dtype=dtype)
