"""Compute tensors again where they are read late, so that less is held at once.

Before: h = f(x), held through the whole program      After: h = f(x), for its first readers
        dw = g(h, d)                                          h_again = f(x);  dw = g(h_again, d)

At the place where most is held, tensors that were read before it and are read after it go, those
first that free most bytes for the least work; what they are made of is held longer for it, which
counts against them, or is computed again as well.  (Sources: T. Chen et al., Training deep nets
with sublinear memory cost, 2016; M. Kusumoto et al., A graph theoretic framework of recomputation
algorithms for memory-efficient backpropagation, NeurIPS 2019.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    operands,
    recurrent_tensors,
    replace_operands,
    rewrite_system,
)  # fmt: skip
from ted.ir.remarks import remark
from ted.ir.rewriting import SystemPass
from ted.records import dataclass
from ted.transforms.live_memory import LiveMemory, work

ROUNDS = 64  # of all that is chosen at one place
STEP = 7 / 8  # of what is held: a round is judged by what is above, since peaks are often several


@dataclass(frozen=True)
class TedLimitMemory(SystemPass):
    """Hold at most so many `bytes` of results and tensors between, as far as that can be."""

    bytes: int

    def rewrite(self, system: System) -> System:
        """The system that holds less."""
        found = limit_memory(system, self.bytes)
        least = LiveMemory.of(found).most
        if least > self.bytes:
            remark(f"ted-limit-memory: at most {self.bytes} bytes are not kept, got {least}")
        return found


def limit_memory(system: System, most: int) -> System:
    """The system with tensors computed again until at most `most` bytes are held, or none helps."""
    live = least = LiveMemory.of(system)
    for _ in range(ROUNDS):
        goal = max(most, int(STEP * live.most))
        above = live.above(goal)
        better = next((one for one in _variants(live, most) if one.above(goal) < above), None)
        if better is None:
            break
        live = better
        least = min(least, live, key=lambda one: one.most)
    return least.system


def _variants(live: LiveMemory, most: int) -> Iterator[LiveMemory]:
    """With what frees the excess at the peak computed again, or, as that moves the peak, less."""
    excess = live.most - most
    copies = _useful_copies(live) if excess > 0 else []
    chosen: set[Tensor] = set()
    while copies and excess > 0:
        enough = _enough(copies, excess)
        if enough != chosen:
            yield LiveMemory.of(_computed_again(live, enough))
        chosen, excess = enough, excess // 2


@dataclass(frozen=True)
class _Copy:
    """A tensor with all that is computed again for it, and what that gains and costs."""

    tensors: frozenset[Tensor]
    gain: int  # bytes at the peak
    work: float


def _useful_copies(live: LiveMemory) -> list[_Copy]:
    """What is held at the peak and can be made again after it, the cheapest for its bytes first."""
    recurrent = recurrent_tensors(live.system.outputs)
    copies = [_copy(t, live, recurrent) for t in _held_over(live)]
    return sorted((c for c in copies if c.gain > 0), key=lambda c: c.work / c.gain)


def _enough(copies: Sequence[_Copy], excess: int) -> set[Tensor]:
    """The tensors of so many copies that the excess is gone, or of all."""
    chosen: set[Tensor] = set()
    for copy in copies:
        if excess <= 0:
            break
        chosen |= copy.tensors
        excess -= copy.gain
    return chosen


def _held_over(live: LiveMemory) -> Iterator[Tensor]:
    """What is made before the peak and only read again after it."""
    needed = {*live.results, *operands(live.order[live.peak])}
    for tensor in live.order[: live.peak]:
        if live.last[tensor] > live.peak and tensor not in needed:
            yield tensor


def _copy(tensor: Tensor, live: LiveMemory, recurrent: Collection[Tensor]) -> _Copy:
    """With the operands that are gone by then; those that cannot be made again are held longer."""
    tensors: set[Tensor] = set()
    waiting, longer = [tensor], set[Tensor]()
    while waiting:
        one = waiting.pop()
        if one in recurrent or any(e.is_scatter for e in one.equations):
            longer.add(one)
        elif one not in tensors:
            tensors.add(one)
            gone = (o for o in operands(one) if not o.is_input and o not in live.results)
            waiting += [o for o in gone if live.last[o] < live.peak]
    gain = 0 if tensor in longer else tensor.nbytes - sum(t.nbytes for t in longer)
    return _Copy(frozenset(tensors), gain, sum(map(work, tensors)))


def _computed_again(live: LiveMemory, chosen: Collection[Tensor]) -> System:
    """The system in which readers after the peak read copies of the chosen tensors."""
    copies: dict[Tensor, Tensor] = {}

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if live.place.get(tensor, 0) > live.peak:
            return tuple(replace_operands(e, copies) for e in equations)
        if tensor not in chosen:
            return equations
        same = all(new is old for new, old in zip(equations, tensor.equations, strict=True))
        kept = tensor if same else replace(tensor, equations=equations)
        again = [replace(replace_operands(e, copies), recomputed=1) for e in equations]
        copies[kept] = replace(tensor, equations=tuple(again))
        return kept

    return rewrite_system(live.system, visit)[0]
