"""Elements of tensors that somebody reads, and the points of equations that write them, as sets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ted.domain import bounds, sets
from ted.domain.budget import BudgetExhausted
from ted.ir.affine import NotAffine, piecewise, where_possible
from ted.ir.equations import Equation, Tensor, reads
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, dim
from ted.records import dataclass


@dataclass(frozen=True)
class Box:
    """The subscripts of each dim, and the points of each equation that count."""

    sides: tuple[range, ...]
    points: tuple[Any, ...]


def points_writing(equation: Equation, part: Any) -> Any:
    """The points of an equation that write some elements of its tensor.

    Raises: NotAffine, BudgetExhausted.
    """
    write = [piecewise(w, equation.domain) for w in equation.write]
    return bounds.writing(equation.domain, write, part)


def note_reads(
    equation: Equation,
    points: Any,
    read: dict[Tensor, Any],
    among: Collection[Tensor] | None = None,
) -> None:
    """Add what an equation reads at some points, of all that is computed or `among` some.

    None stands for all elements, and for such as are not known.
    """
    conditions = equation.paths
    everywhere = points is equation.domain and equation.is_box and 0 not in equation.extents
    for one in reads(equation):
        if one.attr.is_input or (among is not None and one.attr not in among):
            continue
        if one.attr in read and read[one.attr] is None:
            continue
        if everywhere and conditions[one] is TRUE and _is_of_all(one, equation):
            read[one.attr] = None
            continue
        elements = elements_read(one, conditions[one], points)
        if one.attr in read and elements is not None:
            elements = read[one.attr].union(elements).coalesce()
        read[one.attr] = elements


def _is_of_all(read: Expr, equation: Equation) -> bool:
    """Whether each subscript is a dim of its own, as long as the tensor there."""
    dims = [a.attr for a in read.args if a.op == "dim"]
    extents = tuple(equation.extents[d] for d in dims)
    return len(set(dims)) == len(read.args) and extents == read.attr.shape


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
