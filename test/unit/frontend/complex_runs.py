"""Functions of complex and real arrays, run by the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ted import tree
from unit.frontend.tracing import run


def interpreted(function: Callable[..., Any], *arrays: Any) -> Any:
    """The nest of results; complex arrays come and go as such."""
    leaves, structure = tree.flatten(arrays)
    made: list[Any] = []

    def on_leaves(*tensors: Any) -> list[Any]:
        made.append(function(*tree.unflatten(structure, tensors)))
        return tree.leaves(made[0])

    found = run(on_leaves, *leaves)
    return tree.unflatten(tree.structure(made[0]), found)
