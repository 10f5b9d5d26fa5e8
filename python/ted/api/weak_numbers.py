"""Numbers of Python and NumPy in carries and branches, which take the types beside them.

Before: ted.scan(lambda c, x: (c + x, None), 0, xs)     with xs of float64
After:  ted.scan(lambda c, x: (c + x, None), ted.full((), 0, "float64"), xs)

In the first carry they have the types that a step makes of them, for which the step is traced once
more; in what a step gives they have the types of the carry, in a branch those of the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ted.api.lifting import placeholder_like
from ted.frontend.arithmetic import common_dtype
from ted.frontend.creation import full
from ted.frontend.functions import as_tensor
from ted.frontend.notes import here_in_notes, taken
from ted.frontend.tensors import Tensor
from ted.frontend.trees import flatten, unflatten
from ted.ir.dtypes import DType
from ted.ir.scalar import const


def beside(value: Any, dtype: DType) -> Any:
    """A Python number as a tensor of the type that it has beside tensors of `dtype`."""
    if not is_weak(value):
        return value
    number = value.item() if hasattr(value, "item") else value
    return full((), number, common_dtype([const(0, dtype), number]))


def settled(init: Any, body: Callable[[Any], Any], what: str) -> Any:
    """A first carry, its numbers as tensors of the types that `body` makes of them.

    What does not fit is left as it is, for the error of who checks it.
    """
    leaves, tree = flatten(init)
    types: dict[int, DType] = {}
    numbers = {k: value for k, (_, value) in enumerate(leaves) if is_weak(value)}

    def carry() -> list[Any]:
        return [beside(v, types[k]) if k in types else v for k, (_, v) in enumerate(leaves)]

    for _ in numbers:  # each time one of them at least finds its type
        given = [as_tensor(v, p, what) for v, (p, _) in zip(carry(), leaves, strict=True)]
        begin = here_in_notes()
        after, found = flatten(body(unflatten(tree, map(placeholder_like, given))))
        taken(begin)  # what it says counts when it is traced as it will be
        more = {} if found != tree else _found(numbers, given, [value for _, value in after])
        if not more:
            break
        types |= more
    return unflatten(tree, iter(carry())) if types else init


def _found(numbers: Mapping[int, Any], given: list[Tensor], after: list[Any]) -> dict[int, DType]:
    """The types of numbers that are others than they have, where they hold what is beside them."""

    def is_wider(new: Any, old: Tensor, number: Any) -> bool:
        if not isinstance(new, Tensor) or new.ndim or new.dtype == old.dtype:
            return False
        return beside(number, new.dtype).dtype == new.dtype

    return {k: after[k].dtype for k, v in numbers.items() if is_wider(after[k], given[k], v)}


def is_weak(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy; bools are not."""
    if isinstance(value, (np.generic, np.ndarray)):
        return not value.ndim and value.dtype.kind in "iuf"
    return type(value) in (int, float)
