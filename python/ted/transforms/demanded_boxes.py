"""Compute of a tensor only the box of elements that someone reads, or of every few of them.

Before: C[i, j] += A[i, r] * B[r, j]  for i < 40, j < 40    S[i, j] = C[8*i, j]  for i < 2, j < 40
After:  C[i, j] += A[8*i, r] * B[r, j]  for i < 2, j < 40   S[i, j] = C[i, j]    for i < 2, j < 40

From the outputs back, every equation keeps the points that write into the box around what is read
of its tensor, at the steps at which that is read, and the tensor becomes as small.  Whole stays
what is an output, part of a recurrence, of symbolic shape, read or written at data, or takes too
much integer arithmetic.
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
from ted.ir.scalar import add, dim, floordiv, index, load, mul, rewrite, sub, substitute


@dataclass(frozen=True)
class _Box:
    """The subscripts of each dim, and the points of each equation that count."""

    sides: tuple[range, ...]
    points: tuple[Any, ...]


def shrink_to_demand(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """The system without elements that nobody reads; also old tensor -> new tensor."""
    boxes = _demanded(system)
    kept: dict[Tensor, tuple[range, ...]] = {}

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        moved = tuple(_reading(e, kept) for e in equations)
        box = boxes.get(tensor)
        if box is None:
            return moved
        made = tuple(_within(e, p, box) for e, p in zip(moved, box.points, strict=True))
        new = replace(tensor, shape=tuple(map(len, box.sides)), equations=made)
        kept[new] = box.sides
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
        sides = required(sets.dim_steps, elements)
        if sides is None or sides == [range(extent) for extent in tensor.static_shape]:
            return None
        points = tuple(points_writing(e, sets.lattice(sides)) for e in tensor.equations)
    except (BudgetExhausted, NotAffine):
        return None
    return _Box(tuple(sides), points)


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


def _reading(equation: Equation, kept: dict[Tensor, tuple[range, ...]]) -> Equation:
    """The equation with subscripts that count what is kept."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        sides = kept.get(node.attr) if node.op == "load" else None
        if sides is None:
            return None
        moved = map(_place, args, sides)
        return load(node.attr, [canonical_index(m, equation.domain) for m in moved])

    body, *write = rewrite([equation.body, *equation.write], visit)
    if body is equation.body and tuple(write) == equation.write:
        return equation
    return replace(equation, body=body, write=tuple(write))


def _place(subscript: Expr, side: range) -> Expr:
    """The position of a subscript among those that are kept."""
    return floordiv(sub(subscript, index(side.start)), index(side.step))


def _within(equation: Equation, points: Any, box: _Box) -> Equation:
    """Some points of an equation, which write into a box; its parallel dims get as short."""
    rank, sides = equation.rank, [range(extent) for extent in equation.extents]
    if not points.is_empty():
        found = bounded(lambda: sets.dim_steps(points)) or []
        sides[: equation.parallel] = found[: equation.parallel]
    affs = [sets.linear(rank, _unit(rank, d, s.step), s.start) for d, s in enumerate(sides)]
    domain = sets.preimage(points, rank, affs).coalesce()
    moved = [add(mul(dim(d), index(s.step)), index(s.start)) for d, s in enumerate(sides)]
    body, *write = canonical_indices(substitute([equation.body, *equation.write], moved), domain)
    return replace(
        equation, extents=tuple(map(len, sides)), domain=domain, body=body,
        write=tuple(canonical_index(w, domain) for w in map(_place, write, box.sides)),
    )  # fmt: skip


def _unit(rank: int, d: int, step: int) -> Sequence[int]:
    return [step * (k == d) for k in range(rank)]
