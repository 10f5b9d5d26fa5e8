"""The order in which the tensors of a system are computed, chosen for what must be kept.

Operands come before their users.  What nothing else reads, and products that are smaller than the
operands that nobody reads behind them, are computed as soon as their operands are there, so that
these need not be kept until the end: the weight gradients of a network come out layer by layer, and
with them the step of an optimizer.  (Other equations might share a loop with what comes later.)
What is computed again is so as late as it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ted.ir.equations import (
    System,
    Tensor,
    components,
    is_contraction,
    is_recurrence,
    operands,
)
from ted.ir.graphs import finished


def tensor_order(system: System) -> list[list[Tensor]]:
    """The groups of `components`, those that leave less to be kept as early as they can be."""
    groups = components(system.outputs, system.together)
    order = _Order(groups, system)
    for group in groups:
        order.take(group)
    return _recomputed_late(order.taken)


class _Order:
    """An order as it grows by groups whose operands are there."""

    def __init__(self, groups: Sequence[list[Tensor]], system: System) -> None:
        self.taken: list[list[Tensor]] = []
        self._kept = {*system.outputs, *(t for g in groups for t in g if t.is_input)}
        self._group_of = {t: group for group in groups for t in group}
        self._groups = {group[0]: group for group in groups}  # by their first tensors
        reads = {group[0]: dict.fromkeys(o for t in group for o in operands(t)) for group in groups}
        self._reads = {first: [o for o in found if self._group_of[o][0] is not first]
                       for first, found in reads.items()}  # fmt: skip
        # By their first tensors: the groups that read a tensor, and those of them that are waiting.
        self._readers: dict[Tensor, dict[Tensor, None]] = {t: {} for t in self._group_of}
        for first, found in self._reads.items():
            for operand in found:
                self._readers[operand][first] = None
        self._missing = {first: len(found) for first, found in self._reads.items()}

    def take(self, group: list[Tensor]) -> None:
        """Take a group, and then what had better be computed right behind it."""
        waiting = [group] if group[0] in self._missing else []
        while waiting:
            found = waiting.pop()
            if found[0] in self._missing:
                self._append(found)
                waiting += reversed(list(self._early(found)))

    def _append(self, group: list[Tensor]) -> None:
        self.taken.append(group)
        del self._missing[group[0]]
        for operand in self._reads[group[0]]:
            del self._readers[operand][group[0]]
        for tensor in group:
            for first in self._readers[tensor]:
                self._missing[first] -= 1

    def _early(self, group: Sequence[Tensor]) -> Iterable[list[Tensor]]:
        """What is ready behind a group, and leaves less to be kept."""
        last = (o for o in self._reads[group[0]] if len(self._readers[o]) == 1)
        readers = (first for t in (*group, *last) for first in self._readers[t])
        for first in dict.fromkeys(readers):
            if not self._missing[first] and self._leaves_less(first):
                yield self._groups[first]

    def _leaves_less(self, tensor: Tensor) -> bool:
        if is_recurrence(self._groups[tensor]) or _is_copy(self._groups[tensor]):
            return False
        if not self._readers[tensor]:
            return True
        if not any(map(is_contraction, tensor.equations)):
            return False
        read = [o for o in self._reads[tensor] if o not in self._kept]
        freed = sum(o.nbytes for o in read if len(self._readers[o]) == 1)
        return freed > (0 if tensor in self._kept else tensor.nbytes)


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
