"""Gradients that are not too long."""

from __future__ import annotations

from typing import Any

import ted
from ted import tree
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.frontend.trees import flatten
from ted.nn.arguments import floating, wide_type


def global_norm(nest: Any) -> Tensor:
    """The root of the sum of the squares of all elements of a nest, in float32 for half types.

    Raises: FrontendError for a leaf that is not of a float type.
    """
    total: Any = ted.zeros((), "float32")
    for path, leaf in flatten(nest)[0]:
        x = floating(leaf, f"global_norm: {path or 'nest'}")
        wide = ted.cast(x, wide_type(x.dtype))
        total = total + ted.sum(wide * wide)
    return ted.sqrt(total)


def clip_by_global_norm(gradients: Any, most: Any) -> Any:
    """The gradients, divided by the same number where their `global_norm` is above `most`.

    Raises: FrontendError for a leaf that is not of a float type, or a `most` that is not above 0.
    """
    if isinstance(most, (int, float)) and not most > 0:
        fail(f"clip_by_global_norm: most is above 0, got {most!r}")
    norm = global_norm(gradients)
    factor = most / ted.maximum(norm, most)
    return tree.map(lambda g: g * ted.cast(factor, g.dtype), gradients)
