"""Rows that are needed before and after a total is there: made again, in a loop of their own.

Before: z[i, j]; m[j] max= z[i, j]; p[i, j] = exp(z[i, j] - m[j]): one loop over i makes no `p`
After:  m[j] max= z[i, j], and p[i, j] = exp(z'[i, j] - m[j]) on `z'`, which is `z` once more

So each tensor is in a loop with what is added up before, and none is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    operands,
    replace_operands,
    rewrite_system,
)
from ted.ir.remarks import remark
from ted.plan.block_choices import NAME, SEEDS, Bounds, graph_of, held_of, seeds_of
from ted.plan.block_groups import Apart, Graph, Group, grown
from ted.records import dataclass
from ted.transforms.live_memory import work

Units: TypeAlias = Sequence[Sequence[Tensor]]  # what reads each other, operands first
MOST = 64  # copies that are made for one tensor


@dataclass(frozen=True)
class Repeats:
    """In which loops the rows of a group's tensors are needed, by how many loops are before.

    `loops[t]` has those of a tensor that is never whole; the first of them makes `t` itself. Bytes
    that are `saved` are those of all rows but one, the least of a block.
    """

    saved: int
    loops: Mapping[Tensor, tuple[int, ...]]
    level: Mapping[Tensor, int]

    @property
    def copied(self) -> list[Tensor]:
        """What is made more than once."""
        return [t for t, loops in self.loops.items() if len(loops) > 1]

    @property
    def work(self) -> float:
        """Operations at the points that are visited again."""
        return sum((len(self.loops[t]) - 1) * work(t) for t in self.copied)


def with_repeated_rows(system: System, bounds: Bounds) -> System:
    """The system in which a loop over rows of large tensors reads no total of its own."""
    for _ in range(SEEDS):
        graph, seeds = graph_of(system, bounds), seeds_of(system, bounds)
        units = components(system.outputs, system.together) if seeds else []
        found = (r for t in seeds if (r := _best(units, graph, t)) is not None)
        repeats = next(found, None)
        if repeats is None:
            break
        count = len({k for loops in repeats.loops.values() for k in loops})
        for tensor in repeats.copied:
            remark(f"{NAME}: {tensor} is made again, {count} loops read it", tensor.location)
        system = _rewritten(system, repeats)
    return system


def _best(units: Units, graph: Graph, seed: Tensor) -> Repeats | None:
    """The loops along the dim that leaves least whole; None where one is enough, or none can be."""
    found = [r for along in range(len(seed.shape)) if (r := _repeats(units, graph, seed, along))]
    best = max(found, key=lambda r: (r.saved, -r.work), default=None)
    return best if best is not None and 0 < len(best.copied) <= MOST else None


def _repeats(units: Units, graph: Graph, seed: Tensor, along: int) -> Repeats | None:
    try:
        group = grown(graph, seed, along, reads_totals=True)
    except Apart:
        return None
    level = _levels(units, group)
    held = held_of(graph, group)
    loops: dict[Tensor, tuple[int, ...]] = {}
    for tensor in reversed([t for t in level if t in held]):
        needed = {k for r in graph.readers[tensor] for k in loops.get(r, (level[r],))}
        is_copied = tensor in graph.large and tensor not in graph.recurrent
        loops[tensor] = tuple(sorted(needed)) if is_copied else (level[tensor],)
    rows = sum(held.values())
    return Repeats(rows - rows // group.extent, loops, level)


def _levels(units: Units, group: Group) -> dict[Tensor, int]:
    """How many loops are over before each tensor can be made, operands first."""
    level: dict[Tensor, int] = {}
    for unit in units:
        least = max((_after(o, t, group, level) for t in unit for o in operands(t)), default=0)
        level.update(dict.fromkeys(unit, least))
    return level


def _after(operand: Tensor, reader: Tensor, group: Group, level: Mapping[Tensor, int]) -> int:
    """The first loop that can make what reads an operand: another one, if it reads all of it."""
    along = group.rows.get(operand)
    same = operand not in group.rows or (along is not None and reader in group.rows)
    return level.get(operand, 0) + (not same)


def _rewritten(system: System, repeats: Repeats) -> System:
    """The system with copies, of which what is made in a loop reads those that are made there."""
    copies: dict[tuple[Tensor, int], Tensor] = {}

    def on_copies(equations: Iterable[Equation], loop: int) -> tuple[Equation, ...]:
        here = {made: copy for (made, at), copy in copies.items() if at == loop}
        return tuple(replace_operands(e, here) for e in equations)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        first, *others = repeats.loops.get(tensor, (repeats.level.get(tensor, 0),))
        own = on_copies(equations, first)
        if not others:
            return own
        made = replace(tensor, equations=own)
        for loop in others:
            again = (
                replace(e, recomputed=max(loop, e.recomputed)) for e in on_copies(equations, loop)
            )
            copies[made, loop] = replace(tensor, equations=tuple(again))
        return made

    return rewrite_system(system, visit)[0]
