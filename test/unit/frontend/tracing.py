"""Functions of tensors run on arrays by the reference interpreter, for the tests beside this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ted
from ted.frontend.trees import flatten
from ted.testing.tracing import interpreted, nodes


def placeholders(*arrays: Any) -> list[Any]:
    """One placeholder for each array."""
    return [
        ted.placeholder(np.shape(a), np.asarray(a).dtype.name, name=f"x{k}")
        for k, a in enumerate(arrays)
    ]


def run(function: Callable[..., Any], *arrays: Any) -> Any:
    """The results on arrays: one array for one tensor, else a list of them."""
    inputs = placeholders(*arrays)
    result = function(*inputs)
    outputs = [leaf for _, leaf in flatten(result)[0]]
    found = interpreted(nodes(inputs, "test"), nodes(outputs, "test"))(*map(np.asarray, arrays))
    return list(found) if isinstance(result, (tuple, list)) else found[0]


def compiled(function: Callable[..., Any], *arrays: Any) -> Any:
    """The same through machine code."""
    inputs = placeholders(*arrays)
    result = function(*inputs)
    return ted.compile(inputs, result)(*map(np.asarray, arrays))
