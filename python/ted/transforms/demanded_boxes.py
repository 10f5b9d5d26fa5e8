"""Compute of a tensor only the box of elements that someone reads.

Before: C[i, j] += A[i, r] * B[r, j]  for i < 40, j < 40       S[i, j] = C[i, j]  for i < 2, j < 40
After:  C[i, j] += A[i, r] * B[r, j]  for i < 2, j < 40        S[i, j] = C[i, j]  for i < 2, j < 40

From the outputs back, every equation keeps the points that write into the box around what is read
of its tensor, and the tensor becomes as small as that box.  Whole stays what is an output, part of
a recurrence, of symbolic shape, read or written at data, or takes too much integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ted.domain import bounds, sets
from ted.domain.budget import BudgetExhausted, bounded, required
from ted.domain.sizes import is_symbolic
from ted.ir.affine import (
    NotAffine,
    canonical_index,
    canonical_indices,
    piecewise,
    where_possible,
)
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    reads,
    recurrent_tensors,
    rewrite_system,
)
from ted.ir.expressions import Expr
from ted.ir.paths import path_conditions
from ted.ir.scalar import add, dim, index, load, rewrite, sub, substitute


@dataclass(frozen=True)
class _Box:
    """The least and greatest subscript of each dim, and the points of each equation that count."""

    ranges: tuple[tuple[int, int], ...]
    points: tuple[Any, ...]

    @property
    def corner(self) -> list[Expr]:
        """The least subscripts."""
        return [index(lower) for lower, _ in self.ranges]


def shrink_to_demand(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """The system without elements that nobody reads; also old tensor -> new tensor."""
    boxes = _demanded(system)
    corners: dict[Tensor, list[Expr]] = {}

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        moved = tuple(_reading(e, corners) for e in equations)
        box = boxes.get(tensor)
        if box is None:
            return moved
        made = tuple(_within(e, p, box) for e, p in zip(moved, box.points, strict=True))
        shape = tuple(upper - lower + 1 for lower, upper in box.ranges)
        new = replace(tensor, shape=shape, equations=made)
        corners[new] = box.corner
        return new

    return rewrite_system(system, visit) if boxes else (system, {t: t for t in system.tensors()})


def _demanded(system: System) -> dict[Tensor, _Box]:
    """The boxes of tensors of which only a part is read."""
    whole = {*system.outputs, *recurrent_tensors(system.outputs)}
    read: dict[Tensor, Any] = {}  # the elements that are read; None where they are not known
    found: dict[Tensor, _Box] = {}
    for tensor in reversed(system.tensors()):
        points = [e.domain for e in tensor.equations]
        if tensor not in whole and tensor.equations and not is_symbolic(tensor.shape):
            box = _box_of(tensor, read.get(tensor))
            if box is not None:
                found[tensor] = box
                points = list(box.points)
        for equation, made in zip(tensor.equations, points, strict=True):
            _note_reads(equation, made, read)
    return found


def _box_of(tensor: Tensor, elements: Any | None) -> _Box | None:
    """The box around the elements, if it is smaller than the tensor and all writes are known."""
    if elements is None or elements.is_empty():
        return None
    try:
        ranges = required(sets.dim_ranges, elements)
        if ranges is None or ranges == [(0, extent - 1) for extent in tensor.static_shape]:
            return None
        points = tuple(points_writing(e, sets.bounding_box(ranges)) for e in tensor.equations)
    except (BudgetExhausted, NotAffine):
        return None
    return _Box(tuple(ranges), points)


def points_writing(equation: Equation, part: Any) -> Any:
    """The points of an equation that write some elements of its tensor.

    Raises: NotAffine, BudgetExhausted.
    """
    write = [piecewise(w, equation.domain) for w in equation.write]
    return bounds.writing(equation.domain, write, part)


def written_elements(equation: Equation) -> Any:
    """The elements that an equation writes.

    Raises: NotAffine, BudgetExhausted.
    """
    return bounds.image(equation.domain, [piecewise(w, equation.domain) for w in equation.write])


def _note_reads(equation: Equation, points: Any, read: dict[Tensor, Any]) -> None:
    """Add what an equation reads at some points."""
    conditions = path_conditions(equation.body, *equation.write)
    for one in reads(equation):
        if one.attr.is_input or (one.attr in read and read[one.attr] is None):
            continue
        elements = elements_read(one, conditions[one], points)
        if one.attr in read and elements is not None:
            elements = read[one.attr].union(elements).coalesce()
        read[one.attr] = elements


def elements_read(read: Expr, condition: Expr, points: Any) -> Any | None:
    """The elements that a read may meet at some points, where its condition may hold.

    None where data or too much work are between.
    """
    try:
        made = where_possible(condition, points)
        if read.args == tuple(dim(k) for k in range(sets.rank_of(points))):
            return sets.anonymous(made)  # most reads are at the point itself
        return bounds.image(made, [piecewise(a, made) for a in read.args])
    except (NotAffine, BudgetExhausted):
        return None


def _reading(equation: Equation, corners: dict[Tensor, list[Expr]]) -> Equation:
    """The equation with subscripts that count from the corners of the boxes."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        corner = corners.get(node.attr) if node.op == "load" else None
        if corner is None:
            return None
        moved = [sub(a, lower) for a, lower in zip(args, corner, strict=True)]
        return load(node.attr, [canonical_index(m, equation.domain) for m in moved])

    body, *write = rewrite([equation.body, *equation.write], visit)
    if body is equation.body and tuple(write) == equation.write:
        return equation
    return replace(equation, body=body, write=tuple(write))


def _within(equation: Equation, points: Any, box: _Box) -> Equation:
    """Some points of an equation, which write into a box; its parallel dims get as short."""
    rank, shifts, extents = equation.rank, [0] * equation.rank, list(equation.extents)
    ranges = None if points.is_empty() else bounded(sets.dim_ranges, points)
    for d, (lower, upper) in enumerate((ranges or [])[: equation.parallel]):
        shifts[d], extents[d] = lower, upper + 1 - lower
    affs = [sets.linear(rank, _unit(rank, d), shift) for d, shift in enumerate(shifts)]
    domain = sets.preimage(points, rank, affs).coalesce()
    write = [sub(w, lower) for w, lower in zip(equation.write, box.corner, strict=True)]
    moved = [add(dim(d), index(shift)) for d, shift in enumerate(shifts)]
    body, *write = canonical_indices(substitute([equation.body, *write], moved), domain)
    return replace(
        equation, extents=tuple(extents), domain=domain, body=body,
        write=tuple(canonical_index(w, domain) for w in write),
    )  # fmt: skip


def _unit(rank: int, d: int) -> Sequence[int]:
    return [int(k == d) for k in range(rank)]
