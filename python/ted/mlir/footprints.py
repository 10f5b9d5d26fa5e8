"""Which elements of memory the points of a box meet: two boxes may share memory and no element.

Before: `%m[0::2]` and `%m[1::2]` of eight elements
After: the first element, and the steps from a point to the next ones: 0 and 1, four times 2
"""

from __future__ import annotations

from math import prod

from ted.domain.linear import Form
from ted.mlir import ir
from ted.records import dataclass

Sides = tuple[tuple[int, int], ...]  # extent and step, the slowest first, no two of which are one


@dataclass(frozen=True)
class Footprint:
    """The element at `start`, and those along the sides from there."""

    memory: ir.Value
    start: Form[ir.Value]
    sides: Sides

    @property
    def size(self) -> int:
        """Number of points."""
        return prod(extent for extent, _ in self.sides)

    def keeps_apart(self, other: Footprint) -> bool:
        """Whether two different points of one box never meet an element, each at its element.

        The memory of both may be the same, even where it has two names.
        """
        if self.sides != other.sides or not _is_spread(self.sides):
            return False
        return self.start == other.start or self.is_beside(other)

    def is_beside(self, other: Footprint) -> bool:
        """Whether the elements of both, if in one memory, are surely other ones."""
        steps, distance = [step for _, step in self.sides], other.start - self.start
        if distance.terms or steps != [step for _, step in other.sides]:
            return False
        pairs = zip(self.sides, other.sides, strict=True)
        both = [(mine, others, step) for (mine, step), (others, _) in pairs]
        spread = _is_spread(tuple((max(mine, others), step) for mine, others, step in both))
        both.sort(key=lambda side: -abs(side[2]))
        return spread and not _is_reached(distance.constant, both)


def _is_spread(sides: Sides) -> bool:
    """Whether no two points meet one element: a step goes further than all smaller ones reach."""
    reach = 0
    for step, extent in sorted((abs(step), extent) for extent, step in sides):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True


def _is_reached(distance: int, sides: list[tuple[int, int, int]]) -> bool:
    """Whether steps forward, below the first extents, and back, below the second, get there."""
    if not sides:
        return distance == 0
    (forward, back, step), *rest = sides
    near = {distance // step, -(-distance // step)}
    return any(-back < k < forward and _is_reached(distance - k * step, rest) for k in near)
