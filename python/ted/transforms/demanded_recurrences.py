"""The box of elements of a recurrence that somebody reads, and that the recurrence reads of itself.

Before: 512 steps on 512 columns, of which the first 8 steps are read, and 3 columns
After: 8 steps on 3 columns

What the steps read of each other is added until nothing new comes; a bound that moves on and on is
that of the tensor.  All tensors of a recurrence keep the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, required
from ted.ir.affine import NotAffine
from ted.ir.equations import Equation, Tensor, reads
from ted.ir.paths import path_conditions
from ted.transforms.demanded_elements import Box, elements_read, points_writing

ROUNDS = 12  # after which a recurrence stays whole
PATIENCE = 2  # rounds in which a bound may move
Sides = dict[Tensor, tuple[range, ...]]


def recurrence_boxes(group: Sequence[Tensor], read: Mapping[Tensor, Any]) -> dict[Tensor, Box]:
    """The boxes of tensors that read each other, from what others read; none if they stay whole."""
    wanted = {t: read[t] for t in group if t in read}
    unknown = any(elements is None for elements in wanted.values())
    if unknown or any(t.time is None for t in group):
        return {}
    try:
        sides = _closed(group, wanted)
        if sides is None or all(_is_whole(t, s) for t, s in sides.items()):
            return {}
        return {
            t: Box(s, tuple(points_writing(e, sets.lattice(s)) for e in t.equations))
            for t, s in sides.items()
        }
    except (BudgetExhausted, NotAffine):
        return {}


def _closed(group: Sequence[Tensor], wanted: Mapping[Tensor, Any]) -> Sides | None:
    """Boxes around what is wanted that hold all that they are computed from; None if unknown."""
    sides: Sides = {}
    for tensor, elements in wanted.items():
        _add(sides, tensor, elements)
    for number in range(ROUNDS):
        grown = dict(sides)
        for tensor in sides:
            for equation in tensor.equations:
                if not _add_reads(grown, equation, sides[tensor], group):
                    return None
        _share_steps(grown)
        unread = [t for t in group if t not in sides]
        if grown == sides and not unread:
            return sides
        if grown == sides:  # a tensor is never empty: it keeps an element
            grown |= {t: tuple(range(1) for _ in t.shape) for t in unread}
            _share_steps(grown)
        elif number >= PATIENCE:
            grown = {t: _widened(t, s, sides.get(t, s)) for t, s in grown.items()}
        sides = grown
    return None


def _add_reads(
    grown: Sides, equation: Equation, sides: tuple[range, ...], group: Sequence[Tensor]
) -> bool:
    """Add what the points that write into a box read of the group; whether that is known."""
    points = points_writing(equation, sets.lattice(sides))
    conditions = path_conditions(equation.body, *equation.write)
    for one in reads(equation):
        if one.attr in group:
            elements = elements_read(one, conditions[one], points)
            if elements is None:
                return False
            _add(grown, one.attr, elements)
    return True


def _add(sides: Sides, tensor: Tensor, elements: Any) -> None:
    """Let the box of a tensor hold some elements, too."""
    if elements.is_empty():
        return
    found = required(sets.dim_ranges, elements)
    assert found is not None, "a tensor of known extents has bounds"
    more = tuple(range(lower, upper + 1) for lower, upper in found)
    sides[tensor] = tuple(map(_hull, sides.get(tensor, more), more))


def _hull(one: range, other: range) -> range:
    return range(min(one.start, other.start), max(one.stop, other.stop))


def _share_steps(sides: Sides) -> None:
    """Give all boxes the same steps."""
    steps = [s[t.time] for t, s in sides.items() if t.time is not None]
    if not steps:
        return
    common = range(min(s.start for s in steps), max(s.stop for s in steps))
    for tensor, side in sides.items():
        sides[tensor] = tuple(common if k == tensor.time else s for k, s in enumerate(side))


def _widened(
    tensor: Tensor, now: tuple[range, ...], before: tuple[range, ...]
) -> tuple[range, ...]:
    """The box with bounds that moved as far as they may."""
    return tuple(
        range(
            s.start if s.start == old.start else 0,
            s.stop if s.stop == old.stop else extent,
        )
        for s, old, extent in zip(now, before, tensor.static_shape, strict=True)
    )


def _is_whole(tensor: Tensor, sides: tuple[range, ...]) -> bool:
    return list(sides) == [range(extent) for extent in tensor.static_shape]
