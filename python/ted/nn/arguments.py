"""Checks that operators of neural networks share: ranks, shapes, layouts, per-dim options."""

from __future__ import annotations

from typing import Any

from ted.domain.sizes import Extent
from ted.frontend.checks import integer
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor


def ranked(x: Any, rank: int, what: str) -> Tensor:
    """A tensor with exactly `rank` dims.

    Raises: FrontendError for another rank.
    """
    tensor = to_tensor(x, what)
    if tensor.ndim != rank:
        fail(f"{what}: must have {rank} dims, got shape {tensor.shape} ({tensor.name})")
    return tensor


def shaped(x: Any, shape: tuple[Extent, ...], what: str) -> Tensor:
    """A tensor of exactly `shape`.

    Raises: FrontendError for another shape.
    """
    tensor = to_tensor(x, what)
    if tensor.shape != shape:
        fail(f"{what}: must have shape {shape}, got {tensor.shape} ({tensor.name})")
    return tensor


def floating(x: Any, what: str) -> Tensor:
    """A tensor of floats.

    Raises: FrontendError for another type.
    """
    tensor = to_tensor(x, what)
    if not tensor.dtype.is_float:
        fail(f"{what}: must be of a float type, got {tensor.dtype} ({tensor.name})")
    return tensor


def channels_last(layout: Any, last: str, first: str, what: str) -> bool:
    """Whether a layout has its channels last.

    Raises: FrontendError for a layout that is neither.
    """
    if layout not in (last, first):
        fail(f"{what}: layout must be {last!r} or {first!r}, got {layout!r}")
    return layout == last


def per_dim(value: Any, rank: int, least: int, what: str) -> tuple[int, ...]:
    """One number for all spatial dims, or one for each.

    Raises: FrontendError for another number of them, one that is no integer or below `least`.
    """
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank
    if len(items) != rank:
        fail(f"{what}: must be a number or one for each of {rank} dims, got {value!r}")
    numbers = tuple(integer(item, what) for item in items)
    if any(n < least for n in numbers):
        fail(f"{what}: must be at least {least}, got {value!r}")
    return numbers
