"""The box of elements of a recurrence that somebody reads, and that the recurrence reads of itself.

Before: 512 steps on 512 columns, of which the first 8 steps are read, and 3 columns
After: 8 steps on 3 columns

What the steps read of each other is added until nothing new comes; a bound that moves on and on is
that of the tensor.  All tensors of a recurrence keep the same steps.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ted.domain import sets
from ted.domain.boxes import Sides, joined, settled, whole_box
from ted.domain.budget import BudgetExhausted, required
from ted.ir.affine import NotAffine
from ted.ir.equations import Tensor
from ted.transforms.demanded_elements import Box, note_reads, points_writing

Boxes = dict[Tensor, Sides]


def recurrence_boxes(group: Sequence[Tensor], read: Mapping[Tensor, Any]) -> dict[Tensor, Box]:
    """The boxes of tensors that read each other, from what others read; none if they stay whole."""
    if any(t.time is None for t in group):
        return {}
    try:
        boxes = _closed(group, _around({t: read[t] for t in group if t in read}))
        if boxes == {t: whole_box(t.static_shape) for t in group}:
            return {}
        return {
            t: Box(tuple(s), tuple(points_writing(e, sets.lattice(s)) for e in t.equations))
            for t, s in boxes.items()
        }
    except (BudgetExhausted, NotAffine):
        return {}


def _closed(group: Sequence[Tensor], wanted: Boxes) -> Boxes:
    """Boxes that hold what is wanted, and all that they are computed from.

    Raises: NotAffine, BudgetExhausted.
    """
    grown = partial(_with_reads, group)
    boxes = settled(wanted, grown, lambda t: whole_box(t.static_shape))
    unread = [t for t in group if t not in boxes]
    if not boxes or not unread:
        return boxes
    kept = {t: [range(1) for _ in t.shape] for t in unread}  # a tensor is never empty
    return settled(_same_steps(boxes | kept), grown, lambda t: whole_box(t.static_shape))


def _with_reads(group: Sequence[Tensor], boxes: Boxes) -> Boxes:
    """The boxes that hold what is read at the points of some boxes, too.

    Raises: NotAffine, BudgetExhausted.
    """
    inside: dict[Tensor, Any] = {}
    for tensor, sides in boxes.items():
        for equation in tensor.equations:
            note_reads(equation, points_writing(equation, sets.lattice(sides)), inside, group)
    more = _around(inside)
    reached = [t for t in group if t in boxes or t in more]
    return _same_steps({t: joined(boxes.get(t), more.get(t)) for t in reached})


def _around(elements: Mapping[Tensor, Any]) -> Boxes:
    """The boxes around some elements, of all where they are not known.

    Raises: BudgetExhausted.
    """
    found: Boxes = {}
    for tensor, some in elements.items():
        if some is None:
            found[tensor] = whole_box(tensor.static_shape)
        elif not some.is_empty():
            ranges = required(sets.dim_ranges, some)
            assert ranges is not None, "a tensor of known extents has bounds"
            found[tensor] = [range(lower, upper + 1) for lower, upper in ranges]
    return found


def _same_steps(boxes: Boxes) -> Boxes:
    """The boxes with the steps of all of them."""
    steps = [[s[t.time]] for t, s in boxes.items() if t.time is not None]
    if not steps:
        return boxes
    (common,) = functools.reduce(joined, steps)
    return {
        t: [common if k == t.time else side for k, side in enumerate(_whole_steps(t, sides))]
        for t, sides in boxes.items()
    }


def _whole_steps(tensor: Tensor, sides: Sides) -> Sides:
    """The box with all steps of the recurrences inside of a step."""
    inner = {clock.dim for clock in tensor.inner}
    return [range(tensor.static_shape[k]) if k in inner else side for k, side in enumerate(sides)]
