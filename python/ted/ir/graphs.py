"""Orders of directed graphs that are given by a function from a node to what it leads to.

No recursion, so depth is free. Nodes are met in the order of the roots and of what they lead to,
so that equal graphs have equal orders.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

Node = TypeVar("Node", bound=Hashable)
Follow = Callable[[Node], Sequence[Node]]
_END = object()  # behind a node whose followers are on the way


def finished(roots: Iterable[Node], follow: Follow[Node]) -> list[Node]:
    """What the roots reach, each after what it leads to."""
    return _finished(roots, follow, set())


def _finished(roots: Iterable[Node], follow: Follow[Node], seen: set[Node]) -> list[Node]:
    """What the roots reach that was not seen before; then it is."""
    order: list[Node] = []
    stack: list[Any] = list(roots)[::-1]
    while stack:
        node = stack.pop()
        if node is _END:
            order.append(stack.pop())
        elif node not in seen:
            seen.add(node)
            stack += (node, _END)  # it is finished when all above it is
            stack += reversed(follow(node))
    return order


def circles(roots: Iterable[Node], follow: Follow[Node]) -> list[list[Node]]:
    """What the roots reach, in groups that lead to each other, each after what it leads to.

    Source: S. R. Kosaraju's algorithm: in reverse finishing order, what can still reach a node is
    in its group.
    """
    order = finished(roots, follow)
    place = {node: k for k, node in enumerate(order)}
    if all(place[target] < k for node, k in place.items() for target in follow(node)):
        return [[node] for node in order]
    back: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for target in follow(node):
            back[target].append(node)
    taken: set[Node] = set()  # grows with each group
    groups = [
        _finished([root], back.__getitem__, taken) for root in reversed(order) if root not in taken
    ]
    return [sorted(group, key=place.__getitem__) for group in reversed(groups)]
