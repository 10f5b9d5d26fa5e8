"""What a system holds in memory while its tensors are made one after the other.

Before: tensors in the order in which they are made
After: from when to when each is held, the bytes that are held at each, and where they are most
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from ted.forking import cached_property
from ted.ir.equations import System, Tensor, operands
from ted.ir.scalar import weight
from ted.ir.tensor_order import tensor_order
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class LiveMemory:
    """The tensors of a system but its inputs, and the place of the last one that reads each.

    Results are held all the time: their memory is the caller's. What is fused later, or kept in the
    frame of a call, is held all the same here.
    """

    system: System
    order: tuple[Tensor, ...]
    results: frozenset[Tensor]
    last: Mapping[Tensor, int]

    @staticmethod
    def of(system: System) -> LiveMemory:
        """That of a system."""
        order = tuple(t for group in tensor_order(system) for t in group if not t.is_input)
        last = {t: k for k, t in enumerate(order)}
        for k, reader in enumerate(order):
            last.update({t: k for t in operands(reader) if not t.is_input and last[t] < k})
        return LiveMemory(system, order, frozenset(system.outputs), last)

    @cached_property
    def place(self) -> Mapping[Tensor, int]:
        """When each tensor is made."""
        return {t: k for k, t in enumerate(self.order)}

    @cached_property
    def held(self) -> tuple[int, ...]:
        """Bytes at each place."""
        change = [0] * (len(self.order) + 1)
        for tensor in self.order:
            if tensor not in self.results:
                change[self.place[tensor]] += tensor.nbytes
                change[self.last[tensor] + 1] -= tensor.nbytes
        always = sum(t.nbytes for t in self.results)
        return tuple(always + n for n in accumulate(change[:-1]))

    @property
    def most(self) -> int:
        """The most bytes that are held."""
        return max(self.held, default=0)

    def above(self, most: int) -> int:
        """By how many bytes all places together are above a limit."""
        return sum(max(0, n - most) for n in self.held)

    @property
    def peak(self) -> int:
        """The place where most is held, the first of several."""
        return self.held.index(self.most)


def work(tensor: Tensor) -> float:
    """Operations and elements, as many as points that are visited."""
    return sum(e.box_size * (1 + weight(e.body)) for e in tensor.equations)
