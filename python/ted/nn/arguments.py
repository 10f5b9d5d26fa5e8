"""What operators of neural networks share: layouts, and checks of ranks, shapes and options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ted
from ted.domain.sizes import Extent
from ted.frontend.checks import integer, number
from ted.frontend.checks import one_of as one_of
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.records import dataclass


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


def above_zero(value: Any, what: str) -> float:
    """A number above 0.

    Raises: FrontendError for anything else.
    """
    return number(value, what, "must be a positive number", lambda v: v > 0)


def within(numbers: Tensor, most: Extent, what: str) -> Tensor:
    """The integers as they are; one outside [0, most] is an error when the program runs.

    It is that of an index into a tensor that is named by the rule (`ted.errors.index_message`).
    """
    rule = f"{what}: must be in [0, {most}], got"
    known = ted.compute((most + 1,), lambda i: i, dtype="int64", name=rule)
    return ted.compute(numbers.shape, lambda *i: known[numbers[i]], name=what)


LAYOUTS = {1: ("NLC", "NCL"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


@dataclass(frozen=True)
class Layout:
    """Where the channels of images are: behind the spatial dims, or between them and the batch."""

    last: bool

    def split(self, items: Sequence[Any]) -> tuple[Any, tuple[Any, ...], Any]:
        """Extents, or indices, as those of the batch, of the spatial dims and of the channels."""
        first, *rest = items
        return (
            (first, tuple(rest[:-1]), rest[-1]) if self.last else (first, tuple(rest[1:]), rest[0])
        )

    def join(self, batch: Any, spatial: Iterable[Any], channels: Any) -> tuple[Any, ...]:
        """The converse of `split`."""
        return (batch, *spatial, channels) if self.last else (batch, channels, *spatial)


def layout_of(layout: Any, rank: int, what: str) -> Layout:
    """One of the two layouts of images with `rank` spatial dims.

    Raises: FrontendError for another one.
    """
    last, first = LAYOUTS[rank]
    return Layout(one_of(layout, (last, first), f"{what}: layout") == last)


def named(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A function that is made for several ranks, by the name of its own."""
    function.__name__ = function.__qualname__ = what
    return function


def wide_type(dtype: Any) -> str:
    """The type in which small changes and long sums of floats of a type are kept."""
    return "float64" if str(dtype) == "float64" else "float32"


def per_dim(value: Any, rank: int, least: int, what: str) -> tuple[int, ...]:
    """One number for all spatial dims, alone or in a list, or one for each.

    Raises: FrontendError for another number of them, one that is no integer or below `least`.
    """
    items = one_for_each(value, rank)
    if len(items) != rank:
        fail(f"{what}: must be a number or one for each of {rank} dims, got {value!r}")
    numbers = tuple(integer(item, what) for item in items)
    if any(n < least for n in numbers):
        fail(f"{what}: must be at least {least}, got {value!r}")
    return numbers


def one_for_each(value: Any, rank: int) -> tuple[Any, ...]:
    """What stands for each spatial dim: what is given for all of them, or a list as it is."""
    if not isinstance(value, (tuple, list)):
        return (value,) * rank
    return tuple(value) * rank if len(value) == 1 else tuple(value)
