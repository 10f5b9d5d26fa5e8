"""Moments, counts, differences and running totals along dims: compositions of sums and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ted.frontend import checks
from ted.frontend.creation import full
from ted.frontend.cumulative import cumprod, cumsum
from ted.frontend.elementwise import cast, sqrt, square, to_tensor, where
from ted.frontend.joining import concatenate
from ted.frontend.layout import flatten
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import mean, sum
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL


@rounded_once
def var(x: Any, axis: Any = None, correction: Any = 0, keepdims: bool = False) -> Tensor:
    """The sum of square distances from the mean over `axis`, divided by n - `correction`, or 0.

    Raises: FrontendError for an axis that x does not have, or a correction that is no number.
    """
    x = to_tensor(x, "var")
    axes = checks.reduced_axes(axis, x.ndim, "var")
    correction = checks.number(correction, "var: correction")
    centered = x - mean(x, axes, keepdims=True)
    spread = mean(square(centered), axes, keepdims=keepdims)
    if not correction:
        return spread
    points: Any = 1
    for k in axes:
        points = points * x.shape[k]
    if not isinstance(points, int):
        fail(f"var: a correction needs extents that are numbers, got {points} points")
    left = points - correction
    return spread * (points / left if left > 0 else float("inf"))  # that many times 0 is NaN


@rounded_once
def std(x: Any, axis: Any = None, correction: Any = 0, keepdims: bool = False) -> Tensor:
    """The root of `var`; its slope is 0 where it is 0, as in torch.

    Raises: FrontendError as `var`.
    """
    return deviation(var(x, axis, correction, keepdims))


def deviation(variance: Tensor) -> Tensor:
    """The root of a variance; its slope is 0 where it is 0."""
    return where(variance > 0, sqrt(variance), 0 * variance)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over `axis` are not 0.

    Raises: FrontendError for an axis that x does not have.
    """
    x = to_tensor(x, "count_nonzero")
    return sum(x if x.dtype == BOOL else x != 0, axis, keepdims=keepdims)


def diff(x: Any, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """The n-th differences of neighbours along `axis`, after `prepend` and before `append`.

    Raises: FrontendError for a scalar, an axis that x does not have, or a negative n.
    """
    x = to_tensor(x, "diff")
    if not x.ndim:
        fail(
            f"diff: x must have a dim along which elements are neighbours, got a scalar ({x.name})"
        )
    along = checks.axis_of(axis, x.ndim, "diff")
    parts = [to_tensor(part, "diff") for part in (prepend, x, append) if part is not None]
    x = concatenate(parts, along) if len(parts) > 1 else x
    times = checks.integer(n, "diff: n")
    if times < 0:
        fail(f"diff: n must be at least 0, got {n}")
    times = min(times, x.shape[along]) if isinstance(x.shape[along], int) else times
    lead = (slice(None),) * along
    for _ in range(times):
        after, before = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = after != before if x.dtype == BOOL else after - before
    return x


def cumulative_sum(
    x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sum of the elements along `axis` up to each one, after a 0 if `include_initial`.

    Raises: FrontendError for a missing axis of a tensor of several dims.
    """
    return _cumulative(cumsum, 0, x, axis, dtype, include_initial, "cumulative_sum")


def cumulative_prod(
    x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The product of the elements along `axis` up to each one, after a 1 if `include_initial`.

    Raises: FrontendError for a missing axis of a tensor of several dims.
    """
    return _cumulative(cumprod, 1, x, axis, dtype, include_initial, "cumulative_prod")


def _cumulative(
    running: Callable[..., Tensor], start: int, x: Any, axis: Any, dtype: Any, initial: Any,
    what: str,
) -> Tensor:  # fmt: skip
    x = to_tensor(x, what)
    if axis is None and x.ndim > 1:
        fail(f"{what}: an axis is needed of a tensor of shape {x.shape} ({x.name})")
    along = checks.axis_of(0 if axis is None else axis, x.ndim or 1, what)
    if dtype is not None:
        x = cast(x, dtype)
    found = running(flatten(x) if not x.ndim else x, along)
    if not checks.flag(initial, f"{what}: include_initial"):
        return found if x.ndim else found.reshape(())
    shape = tuple(1 if k == along else n for k, n in enumerate(found.shape))
    return concatenate([full(shape, start, found.dtype), found], along)
