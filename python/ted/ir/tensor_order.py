"""The order in which the tensors of a system are computed, chosen for what must be kept.

Operands come before their users.  A result that nothing else reads is computed as soon as its
operands are there, so that they need not be kept until the end: the weight gradients of a network
come out layer by layer.  What is computed again is so as late as it can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.ir.equations import System, Tensor, components, is_recurrence, operands
from ted.ir.graphs import finished


def tensor_order(system: System) -> list[list[Tensor]]:
    """The groups of `components`, results that nothing reads moved as early as they can be."""
    groups = components(system.outputs, system.together)
    missing = _results_alone(groups)
    users: dict[Tensor, list[Tensor]] = {}
    for result, needed in missing.items():
        for operand in needed:
            users.setdefault(operand, []).append(result)
    order = [[result] for result, needed in missing.items() if not needed]
    for group in groups:
        if group[0] in missing:
            continue
        order.append(group)
        for tensor in group:
            for result in users.get(tensor, ()):
                missing[result].discard(tensor)
                if not missing[result]:
                    order.append([result])
    return _recomputed_late(order)


def _recomputed_late(order: Sequence[list[Tensor]]) -> list[list[Tensor]]:
    """What is computed again comes right before the first that reads it."""
    copies = {group[0] for group in order if _is_copy(group)}
    late: list[list[Tensor]] = []

    def waiting(tensor: Tensor) -> list[Tensor]:
        return [o for o in operands(tensor) if o in copies]

    for group in order if copies else ():
        if not _is_copy(group):
            needed = finished([o for t in group for o in waiting(t)], waiting)
            copies.difference_update(needed)
            late += [*([tensor] for tensor in needed), group]
    return [*late, *(group for group in order if group[0] in copies)] if late else list(order)


def _is_copy(group: Sequence[Tensor]) -> bool:
    equations = group[0].equations
    return bool(equations) and all(e.recomputed for e in equations) and not is_recurrence(group)


def _results_alone(groups: Sequence[list[Tensor]]) -> dict[Tensor, set[Tensor]]:
    """The tensors that no other reads, outside of recurrences, with their operands."""
    read = {o for group in groups for t in group for o in operands(t)}
    return {
        group[0]: set(operands(group[0]))
        for group in groups
        if group[0] not in read and not is_recurrence(group)
    }
