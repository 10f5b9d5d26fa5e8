"""Nested tuples, lists and dicts of leaves <-> a flat list: arguments and results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any


@dataclass(frozen=True)
class Tree:
    """The shape of a nest: its kind, its keys and its children; a leaf has kind None."""

    kind: Any = None
    keys: tuple[Any, ...] = ()
    children: tuple[Tree, ...] = ()

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.size for child in self.children)


LEAF = Tree()


def flatten(nest: Any, path: str = "") -> tuple[list[tuple[str, Any]], Tree]:
    """The leaves with their paths (`params.w1`, `xs.0`), and the tree that holds them."""
    if isinstance(nest, dict):
        keys, values = tuple(nest), list(nest.values())
        kind: Any = dict
    elif isinstance(nest, (tuple, list)):
        keys, values = tuple(getattr(nest, "_fields", range(len(nest)))), list(nest)
        kind = type(nest)
    else:
        return [(path, nest)], LEAF
    leaves, children = [], []
    for key, value in zip(keys, values, strict=True):
        below, child = flatten(value, f"{path}.{key}" if path else str(key))
        leaves += below
        children.append(child)
    return leaves, Tree(kind, keys, tuple(children))


def unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    """The nest of shape `tree` with the given leaves."""
    if tree.kind is None:
        return next(leaves)
    values = [unflatten(child, leaves) for child in tree.children]
    if tree.kind is dict:
        return dict(zip(tree.keys, values, strict=True))
    return tree.kind(*values) if hasattr(tree.kind, "_fields") else tree.kind(values)


def nester(tree: Tree) -> Callable[[Sequence[Any]], Any]:
    """What makes the nest of shape `tree` from leaves, found once for many calls."""
    if tree == LEAF:
        return itemgetter(0)
    if tree.kind in (tuple, list) and all(child == LEAF for child in tree.children):
        return tree.kind
    return lambda leaves: unflatten(tree, iter(leaves))
