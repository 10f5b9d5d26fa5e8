"""Boxes of points, by the range of each coordinate, that grow until they stay.

A range of one step holds what two ranges hold: 0, 2 and 5, 8 are in 0, 1, ..., 8, while 0, 2 and 6
are in 0, 2, 4, 6.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from math import gcd
from typing import TypeVar

Sides = list[range]
Key = TypeVar("Key", bound=Hashable)
ROUNDS = 4  # in which an end settles, or becomes that of the whole


def settled(
    boxes: dict[Key, Sides],
    grown: Callable[[dict[Key, Sides]], dict[Key, Sides]],
    whole: Callable[[Key], Sides],
) -> dict[Key, Sides]:
    """The boxes that `grown` leaves as they are; it only adds to boxes, and boxes.

    An end that moves on after a few rounds becomes that of the whole.
    """
    rounds = 0
    while (more := grown(boxes)) != boxes:
        rounds += 1
        if rounds > ROUNDS:
            more = {k: _whole_where_moved(boxes.get(k), s, whole(k)) for k, s in more.items()}
        boxes = more
    return boxes


def joined(one: Sides | None, other: Sides | None) -> Sides:
    """The sides of the box around two boxes, or around the one that there is."""
    if one is None or other is None:
        return one or other or []
    return [_hull(a, b) for a, b in zip(one, other, strict=True)]


def _hull(a: range, b: range) -> range:
    steps = [r.step for r in (a, b) if len(r) > 1]
    step = gcd(*steps, a.start - b.start) or 1
    return range(min(a.start, b.start), max(a[-1], b[-1]) + 1, step)


def _whole_where_moved(before: Sides | None, after: Sides, whole: Sides) -> Sides:
    if before is None:
        return after
    return [_moved(old, new, end) for old, new, end in zip(before, after, whole, strict=True)]


def _moved(old: range, new: range, whole: range) -> range:
    """A side with the ends of the whole where it has others than before."""
    ends = [whole[k] for k in (0, -1) if new[k] != old[k]]
    return functools.reduce(_hull, (range(end, end + 1) for end in ends), new)


def whole_box(shape: Sequence[int]) -> Sides:
    """All elements of a tensor."""
    return [range(extent) for extent in shape]
