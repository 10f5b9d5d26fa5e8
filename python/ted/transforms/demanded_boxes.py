"""Compute of a tensor only the box of elements that someone reads, or of every few of them.

Before: C[i, j] += A[i, r] * B[r, j]  for i < 40, j < 40    S[i, j] = C[8*i, j]  for i < 2, j < 40
After:  C[i, j] += A[8*i, r] * B[r, j]  for i < 2, j < 40   S[i, j] = C[i, j]    for i < 2, j < 40

From the outputs back, every equation keeps the points that write into the box around what is read
of its tensor, at the steps at which that is read, and the tensor becomes as small; so does a
recurrence (`demanded_recurrences.py`).  Whole stays what is an output, of symbolic shape, read or
written at data, or takes too much integer arithmetic, and what reads a history whose equations are
not known yet: it becomes a part of that recurrence, of which every tensor has the same steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ted.domain import sets
from ted.domain.boxes import whole_box
from ted.domain.budget import BudgetExhausted, bounded, required
from ted.domain.sizes import is_symbolic
from ted.ir.affine import NotAffine, canonical_index
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    is_recurrence,
    operands,
    rewrite_system,
    with_expressions,
)
from ted.ir.expressions import Expr
from ted.ir.scalar import floordiv, index, load, rewrite, sub
from ted.transforms.demanded_elements import Box, note_reads, points_writing
from ted.transforms.demanded_recurrences import recurrence_boxes
from ted.transforms.part_of_box import part_of_box


def shrink_to_demand(
    system: System, keep: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """The system without elements that nobody reads; also old tensor -> new tensor.

    Tensors in `keep` stay whole.
    """
    boxes = _demanded(system, {*system.outputs, *keep})
    became: dict[Tensor, Tensor] = {}

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        kept = {became.get(o, o): boxes[o].sides for o in operands(tensor) if o in boxes}
        moved = tuple(_reading(e, kept) for e in equations)
        box = boxes.get(tensor)
        if box is None:
            return moved
        pairs = zip(moved, box.points, strict=True)
        made = tuple(_within(e, points, box) for e, points in pairs if not points.is_empty())
        fill = tensor.fill if made or tensor.fill is not None else 0  # no element: any value does
        return replace(tensor, shape=tuple(map(len, box.sides)), equations=made, fill=fill)

    if not boxes:
        return system, {t: t for t in system.tensors()}
    return rewrite_system(system, visit, became)


def _demanded(system: System, whole: Collection[Tensor]) -> dict[Tensor, Box]:
    """The boxes of tensors of which only a part is read."""
    read: dict[Tensor, Any] = {}  # the elements that are read; None for all, or unknown
    found: dict[Tensor, Box] = {}
    if any(map(_is_symbolic, system.tensors())):
        return {}  # what is read depends on the sizes
    groups = components(system.outputs)
    whole = {*whole, *_in_unknown_recurrences(groups)}
    for group in reversed(groups):
        if not whole.isdisjoint(group):
            boxes = {}
        elif is_recurrence(group):
            boxes = recurrence_boxes(group, read)
        else:
            boxes = _boxes_of(group[0], read.get(group[0]))
        found |= boxes
        for tensor in group:
            everywhere = tuple(e.domain for e in tensor.equations)
            points = boxes[tensor].points if tensor in boxes else everywhere
            for equation, made in zip(tensor.equations, points, strict=True):
                note_reads(equation, made, read)
    return found


def _in_unknown_recurrences(groups: Sequence[Sequence[Tensor]]) -> set[Tensor]:
    """Histories whose equations are not known yet, and what is computed from them."""
    found: set[Tensor] = set()
    for group in groups:
        unknown = group[0].is_input and group[0].time is not None
        if unknown or any(o in found for t in group for o in operands(t)):
            found.update(group)
    return found


def _is_symbolic(tensor: Tensor) -> bool:
    return is_symbolic(tensor.shape) or any(is_symbolic(e.extents) for e in tensor.equations)


def _boxes_of(tensor: Tensor, elements: Any | None) -> dict[Tensor, Box]:
    """The box around the elements, if it is smaller than the tensor and all writes are known."""
    if not tensor.equations or elements is None or elements.is_empty():
        return {}
    try:
        sides = required(sets.dim_steps, elements)
        if sides is None or sides == whole_box(tensor.static_shape):
            return {}
        points = tuple(points_writing(e, sets.lattice(sides)) for e in tensor.equations)
    except (BudgetExhausted, NotAffine):
        return {}
    return {tensor: Box(tuple(sides), points)}


def _reading(equation: Equation, kept: dict[Tensor, tuple[range, ...]]) -> Equation:
    """The equation with subscripts that count what is kept."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        sides = kept.get(node.attr) if node.op == "load" else None
        if sides is None:
            return None
        moved = map(_place, args, sides)
        return load(node.attr, [canonical_index(m, equation.domain) for m in moved])

    return with_expressions(equation, rewrite(equation.expressions, visit))


def _place(subscript: Expr, side: range) -> Expr:
    """The position of a subscript among those that are kept."""
    return floordiv(sub(subscript, index(side.start)), index(side.step))


def _within(equation: Equation, points: Any, box: Box) -> Equation:
    """Some points of an equation, which write into a box; its parallel dims get as short."""
    sides = bounded(sets.dim_steps, points) or []
    made = part_of_box(equation, points, dict(enumerate(sides[: equation.parallel])))
    write = (canonical_index(w, made.domain) for w in map(_place, made.write, box.sides))
    return replace(made, write=tuple(write))
