"""A derivative of the user's, as a value that a tensor carries: no sweep is needed to hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.ir.equations import Tensor
from ted.records import dataclass


@dataclass(frozen=True)
class Override:
    """A user's derivative of one tensor: (tensor, its adjoint) -> adjoints of the dependencies.

    `guarded` takes a mask first, and keeps what it masks out from making NaN of an adjoint of 0.
    `said`: a name and tensors on which alone the adjoints depend, where that can be said.
    """

    dependencies: tuple[Tensor, ...]
    adjoints: Callable[[Tensor, Tensor], Sequence[Tensor]]
    guarded: Callable[[Tensor, Tensor, Tensor], Sequence[Tensor]] | None = None
    said: tuple[str, tuple[Tensor, ...]] | None = None
