"""Nests of arrays or tensors as they are arguments and results of functions.

A nest is a tuple, a list, a dict, a named tuple or a dataclass of nests, or None, which has no
leaves; all else is a leaf (`ted/frontend/trees.py`). The functions are those of `jax.tree`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ted.errors import FrontendError
from ted.frontend import trees
from ted.frontend.checks import called, check_callable, listed
from ted.frontend.keywords import naming
from ted.frontend.trees import NestsDiffer, Tree

__all__ = ["flatten", "leaves", "map", "structure", "unflatten"]


def flatten(nest: Any) -> tuple[list[Any], Tree]:
    """The leaves from left to right, and the structure that `unflatten` takes."""
    return _opened(nest, "flatten")


def _opened(nest: Any, what: str) -> tuple[list[Any], Tree]:
    found, tree = trees.flatten(nest, what=f"tree.{what}")
    return [value for _, value in found], tree


def leaves(nest: Any) -> list[Any]:
    """The leaves from left to right."""
    return _opened(nest, "leaves")[0]


def structure(nest: Any) -> Tree:
    """The nest without its leaves: equal for nests of the same kinds, keys and static fields."""
    return _opened(nest, "structure")[1]


def unflatten(structure: Tree, leaves: Iterable[Any]) -> Any:
    """The nest of a structure with other leaves; dataclasses are made without `__init__`.

    Raises: FrontendError when there are more or fewer leaves than places.
    """
    given = list(leaves) if isinstance(leaves, str) else listed(leaves, "tree.unflatten: leaves")
    if not isinstance(structure, Tree) or len(given) != structure.size:
        places = structure.size if isinstance(structure, Tree) else type(structure).__name__
        raise FrontendError(
            f"tree.unflatten: a structure, of ted.tree.structure, takes one leaf for each place, "
            f"got {len(given)} for {places}"
        )
    return trees.unflatten(structure, iter(given))


def map(fn: Callable[..., Any], nest: Any, *others: Any) -> Any:
    """The nest of `fn(leaf, *leaves of others at the same place)`.

    Raises: FrontendError for what is no function, another one that is not nested alike; a tuple
    stands for a list.
    """
    check_callable(fn, "tree.map")
    found, tree = _opened(nest, "map")
    columns = [_beside(nest, other, k + 1) for k, other in enumerate(others)]
    return trees.unflatten(
        tree, builtins.map(partial(called, "tree.map", "fn(*leaves)", fn), found, *columns)
    )


def _beside(nest: Any, other: Any, position: int) -> list[Any]:
    try:
        return trees.spread(other, nest, ())
    except NestsDiffer:
        raise FrontendError(
            f"tree.map: nests are nested alike, got {structure(other)} as number {position} for "
            f"{structure(nest)}"
        ) from None


for _name in __all__:
    globals()[_name] = naming(globals()[_name], _name, __name__)
