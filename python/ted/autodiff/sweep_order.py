"""The order in which a sweep goes over tensors: operands, and dependencies of overrides, first.

A tensor with an override depends on what the override names, not on what computes it.  Where that
leads back to the tensor, in a recurrence, what lies on the way is one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ted.ir.equations import System, Tensor, components, operands


class Dependent(Protocol):
    """What says which tensors another one is differentiated by."""

    @property
    def dependencies(self) -> tuple[Tensor, ...]:
        """The tensors."""
        ...


def sweep_order(system: System, overrides: Mapping[Tensor, Dependent]) -> list[list[Tensor]]:
    """Groups of tensors that read each other, operands and dependencies of overrides first."""
    roots = [*system.outputs, *(d for o in overrides.values() for d in o.dependencies)]
    groups = components(roots)
    if not overrides:
        return groups
    return _merged(groups, {t: o.dependencies for t, o in overrides.items()})


def _merged(
    groups: list[list[Tensor]], extra: Mapping[Tensor, Sequence[Tensor]]
) -> list[list[Tensor]]:
    """The groups in an order that also respects extra (tensor -> earlier tensors) edges.

    Groups that these edges lead round in a circle become one.
    """
    of = {t: k for k, group in enumerate(groups) for t in group}
    below = [
        list(dict.fromkeys(of[d] for t in group for d in (*operands(t), *extra.get(t, ()))))
        for group in groups
    ]
    order = _finished(range(len(groups)), below)
    above: list[list[int]] = [[] for _ in groups]
    for k in order:
        for d in below[k]:
            above[d].append(k)
    found: list[list[int]] = []
    taken: set[int] = set()
    for root in reversed(order):  # Kosaraju, as in `components`
        if root not in taken:
            found.append(_finished([root], above, taken))
            taken.update(found[-1])
    place = {k: position for position, k in enumerate(order)}
    merged = (sorted(circle, key=place.__getitem__) for circle in reversed(found))
    return [[t for k in circle for t in groups[k]] for circle in merged]


def _finished(
    roots: Sequence[int], edges: Sequence[Sequence[int]], stop: set[int] | None = None
) -> list[int]:
    """What the roots reach, each after what it leads to."""
    order: list[int] = []
    state = set(stop or ())
    stack = [(k, False) for k in reversed(roots)]
    while stack:
        k, expanded = stack.pop()
        if expanded:
            order.append(k)
        elif k not in state:
            state.add(k)
            stack.append((k, True))
            stack.extend((d, False) for d in reversed(edges[k]) if d not in state)
    return order
