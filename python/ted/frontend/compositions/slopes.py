"""The gradient of a function that is known at points, by NumPy's name.

Before: ted.gradient(f)      After: (f[2:] - f[:-2]) / 2, and differences of two at both ends
"""

from __future__ import annotations

from typing import Any

from ted.frontend import checks
from ted.frontend.dims import moveaxis
from ted.frontend.elementwise import cast, to_tensor
from ted.frontend.joining import concatenate
from ted.frontend.layout import reshape
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.tensors import Tensor


@rounded_once
def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes of f along an axis, or a list of those along several, all unless said.

    Spacing is a distance or a vector of points, one for all axes or one for each, 1 unless said.
    Slopes are of second order inside, and of first or second order at both ends.
    Raises: FrontendError for an axis that f does not have, points that do not fit, or an axis of
    fewer than edge_order + 1 points.
    """
    f = to_tensor(f, "gradient")
    f = f if f.dtype.is_float else cast(f, "float64")
    axes = checks.axes_of(axis, f.ndim, "gradient")
    if len(spacing) not in (0, 1, len(axes)):
        fail(f"gradient: takes one spacing, or one for each of {len(axes)} axes, "
             f"got {len(spacing)}")  # fmt: skip
    order = checks.integer(edge_order, "gradient: edge_order")
    if order not in (1, 2):
        fail(f"gradient: edge_order must be 1 or 2, got {order}")
    by = spacing or (1.0,)
    each = by * len(axes) if len(by) == 1 else by
    found = [moveaxis(_along(moveaxis(f, k, 0), h, order), 0, k)
             for k, h in zip(axes, each, strict=True)]  # fmt: skip
    return found[0] if len(axes) == 1 else found


def _along(f: Tensor, spacing: Any, order: int) -> Tensor:
    """The slopes along dim 0."""
    count = checks.integer(f.shape[0], "gradient: extent")
    if count <= order:
        fail(f"gradient: takes at least {order + 1} points, got {count}")
    if isinstance(spacing, Tensor) or checks.is_several(spacing):
        step = _steps(f, spacing)
        slopes, near, far = (f[1:] - f[:-1]) / step, step[:-1], step[1:]
        inner = (far * slopes[:-1] + near * slopes[1:]) / (near + far)
    else:
        distance = checks.number(spacing, "gradient: spacing", "must not be 0", bool)
        slopes, inner = (f[1:] - f[:-1]) / distance, (f[2:] - f[:-2]) / (2 * distance)
    first, last = slopes[:1], slopes[-1:]
    if order == 2:  # the slope between two points of a parabola is the mean of those at them
        first, last = 2 * first - inner[:1], 2 * last - inner[-1:]
    return concatenate([first, inner, last], 0)


def _steps(f: Tensor, points: Any) -> Tensor:
    """The distances of neighbours, to be broadcast."""
    x = to_tensor(points, "gradient: spacing")
    if x.ndim != 1 or x.shape[0] != f.shape[0]:
        fail(f"gradient: points must be a vector of {f.shape[0]}, got shape {x.shape} ({x.name})")
    x = x if x.dtype.is_float else cast(x, "float64")
    return reshape(x[1:] - x[:-1], (f.shape[0] - 1, *(1,) * (f.ndim - 1)))
