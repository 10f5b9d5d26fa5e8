"""Operators in `torch.ops.ted`: what they compute, without data, with gradients, in a batch.

They are defined when somebody traces or asks, and stay for as long as the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import torch

from ted.forking import Lock

NAMESPACE = "ted"
Tensors = Sequence[torch.Tensor]

_lock = Lock()
_taken: dict[str, int] = {}


class Registrable(Protocol):
    """What an operator says of itself."""

    name: str

    def computed(self, tensors: Tensors) -> list[torch.Tensor]:
        """The results on tensors of a device."""
        ...

    def fake(self, tensors: Tensors) -> list[torch.Tensor]:
        """Results without data."""
        ...

    def recorded(self, tensors: Tensors) -> list[torch.Tensor]:
        """The results, with a gradient where one is asked for."""
        ...

    def batched_results(self, axes: Sequence[int | None], tensors: Tensors) -> list[torch.Tensor]:
        """The results for all examples, along their first dim."""
        ...


@cache
def _library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "FRAGMENT")


def registered(operator: Registrable) -> Any:
    """Define `torch.ops.ted.<name>` for an operator; where a name is taken it gets a number."""
    with _lock:
        count = _taken[operator.name] = _taken.get(operator.name, 0) + 1
        name = operator.name if count == 1 else f"{operator.name}_{count}"
        library, full = _library(), f"{NAMESPACE}::{name}"
        library.define(f"{name}(Tensor[] tensors) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,))

        def batched(_: Any, in_dims: Any, tensors: Tensors) -> tuple[list[torch.Tensor], list[int]]:
            results = operator.batched_results(in_dims[0], tensors)
            return results, [0] * len(results)

        for device in ("CPU", "CUDA"):
            library.impl(name, operator.computed, device)
        library.impl(name, operator.recorded, "Autograd")
        torch.library.register_fake(full, operator.fake, lib=library)
        torch.library.register_vmap(full, batched, lib=library)
    return getattr(getattr(torch.ops, NAMESPACE), name).default
