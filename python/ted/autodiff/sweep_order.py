"""The order in which a sweep goes over tensors: operands, and dependencies of overrides, first.

A tensor with an override depends on what the override names, not on what computes it.  Where that
leads back to the tensor, in a recurrence, what lies on the way is one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ted.ir.equations import System, Tensor, components, operands
from ted.ir.graphs import circles


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
    merged = circles(range(len(groups)), below.__getitem__)
    return [[t for k in circle for t in groups[k]] for circle in merged]
