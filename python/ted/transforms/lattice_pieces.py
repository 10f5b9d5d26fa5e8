"""Equations that give elements of a tensor a summand each, over the elements instead of the points.

Before: T[2*i + 5] += f(i)  for i < n
After:  over the lattice of every second element from 1 on:  q -> f(q - 2)  for 2 <= q < n + 2

Two pieces whose lattices are equal count the same elements, so that they can be one equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ted.domain import affine, conversion, sets
from ted.domain.affine import Aff
from ted.domain.budget import required
from ted.domain.counting import count_points
from ted.domain.sizes import is_symbolic
from ted.ir.affine import aff_to_expr
from ted.ir.affine_attributes import expr_to_aff
from ted.ir.equations import Equation
from ted.ir.expressions import Expr
from ted.ir.scalar import reads_data, substitute
from ted.records import dataclass

Range = tuple[int, int]
Lattice = tuple[tuple[int, int], ...]  # for each dim of the tensor: stride, and first element


@dataclass(frozen=True, eq=False)
class Piece:
    """An equation over a lattice of elements: where it is, the box around that, and its summand.

    `count` is the number of its points.
    """

    equation: Equation
    lattice: Lattice
    points: Any
    ranges: tuple[Range, ...]
    count: int
    body: Expr


def volume(ranges: Sequence[Range]) -> int:
    """The number of points of a box."""
    return prod(max(high - low + 1, 0) for low, high in ranges)


def piece_of(equation: Equation) -> Piece | None:
    """The equation over the elements that it writes; None where it is no such map.

    It is one if each of its dims is in one subscript, times a number, it has half of the points of
    the box around it, and it reads nothing at data: that costs more than another pass does.
    Raises: BudgetExhausted.
    """
    if not _is_map(equation):
        return None
    solved = _solved(equation)
    if solved is None:
        return None
    lattice, dims, pinned = solved
    points = required(_points, equation, len(lattice), dims, pinned)
    if points.is_empty() or points.n_basic_set() != 1:
        return None
    ranges = required(sets.dim_ranges, points)
    if ranges is None:
        return None
    count = _count(points, ranges)
    if 2 * count < volume(ranges):
        return None
    (body,) = substitute([equation.body], [aff_to_expr(d) for d in dims])
    return Piece(equation, lattice, points, tuple(ranges), count, body)


def _is_map(equation: Equation) -> bool:
    if equation.parallel != equation.rank or equation.wishes or is_symbolic(equation.extents):
        return False
    return not any(reads_data(*read.args) for read in equation.reads) and not equation.is_scatter


def _solved(equation: Equation) -> tuple[Lattice, list[Aff], dict[int, int]] | None:
    """The lattice, each dim in terms of its points, and the lattice's dims of one value alone."""
    lattice: list[tuple[int, int]] = []
    dims: dict[int, Aff] = {d: Aff() for d, n in enumerate(equation.extents) if n == 1}
    pinned: dict[int, int] = {}
    used: set[int] = set()
    for place, subscript in enumerate(map(expr_to_aff, equation.write)):
        match subscript:
            case Aff((), const):
                lattice.append((1, 0))
                pinned[place] = const
            case Aff(((factor, int(dim)),), const) if dim not in used:
                stride = abs(factor)
                first = const % stride
                steps, here = (const - first) // stride, affine.dim(place)
                dims[dim] = here - steps if factor > 0 else steps - here
                lattice.append((stride, first))
                used.add(dim)
            case _:
                return None
    if len(dims) < equation.rank:
        return None
    return tuple(lattice), [dims[d] for d in range(equation.rank)], pinned


def _points(equation: Equation, rank: int, dims: Sequence[Aff], pinned: dict[int, int]) -> Any:
    values = [conversion.to_isl(d, rank) for d in dims]
    points = sets.preimage(sets.anonymous(equation.domain), rank, values)
    for place, value in pinned.items():
        points = sets.within(points, place, value, value)
    return points.coalesce()


def _count(points: Any, ranges: Sequence[Range]) -> int:
    if required(sets.bounding_box(ranges).is_subset, points):
        return volume(ranges)
    return count_points(points)
