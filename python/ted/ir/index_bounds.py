"""Where affine accesses of an equation leave their tensors: the check of what users write.

Before: `y[i] = x[i, 0] for i < 5`, x of shape (4, 5)
After:  "read of x uses index i in [0, 4], tensor x has extent 4 in dim 0, first at i=4"

Most subscripts are a dim by itself, or decided by intervals over the box and by the comparisons
around the read; what is left is asked of isl, as `ted-check-bounds` asks.  Subscripts that are data
are tested when the program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from ted.domain import bounds, intervals
from ted.domain.budget import BudgetExhausted, bounded
from ted.domain.intervals import Interval
from ted.domain.sizes import Extent
from ted.ir.affine import NotAffine, piecewise, where_possible
from ted.ir.equations import Equation
from ted.ir.expressions import Expr, format_expr, postorder
from ted.ir.index_ranges import ranges
from ted.ir.paths import certain_terms, conjuncts
from ted.ir.scalar import TRUE, as_extent, dim, is_trusted, reads_data

Row: TypeAlias = "tuple[int, Expr, Extent]"
"""A dim of a tensor, its subscript and its extent."""


_PROMISE = "; where no size is such, promise more by ted.size(..., min=)"


class _Access(NamedTuple):
    """An access, by its subscripts that the box alone does not decide; a write has no node."""

    label: str
    tensor: str
    rows: Sequence[Row]
    node: Expr | None


def out_of_bounds(
    equation: Equation, shape: Sequence[Extent], condition: Expr = TRUE
) -> str | None:
    """What is wrong with the first access that may leave its tensor, as the end of a message.

    `shape` is that of the tensor that is defined; `condition` is what the domain says.
    """
    found = [] if 0 in equation.extents else _accesses(equation, shape)
    if not found:
        return None
    holding, always = certain_terms(*equation.expressions), conjuncts(condition)
    for access in found:
        terms = always if access.node is None else [*always, *holding[access.node]]
        rows = [row for row in access.rows if not _is_compared(row, equation.extents, terms)]
        problem = _decided(access, rows, equation) if rows else None
        if problem is not None:
            return problem
    return None


def _accesses(equation: Equation, shape: Sequence[Extent]) -> list[_Access]:
    """The accesses that may leave their tensors, as far as the box says."""
    extents, found = equation.extents, []
    for read in equation.reads:
        rows = _open(read.args, read.attr.shape, extents)
        if rows:
            found.append(_Access(f"read of {read.attr.name}", read.attr.name, rows, read))
    rows = _open(equation.write, shape, extents)
    if rows:
        found.append(_Access("write", "of the result", rows, None))
    return found


# ------------------------------------------------------------------ by intervals


def _open(at: Sequence[Expr], shape: Sequence[Extent], extents: Sequence[Extent]) -> list[Row]:
    """The subscripts that leave the tensor somewhere in the box; those at data are not asked."""
    found: list[Row] = []
    for k, e in enumerate(at):
        extent = shape[k]
        if e.op == "dim" and extents[e.attr] == extent:
            continue  # most are
        if not (e.reads or _is_in_box(e, extent, extents) or is_trusted(e)):
            found.append((k, e, extent))
    return found


def _is_in_box(e: Expr, extent: Extent, extents: Sequence[Extent]) -> bool:
    if not isinstance(extent, int):
        return False
    if e.op == "const":
        return 0 <= e.attr < extent
    low, high = _range(e, extents)
    return low >= 0 and high < extent


def _are_numbers(*extents: Extent) -> bool:
    return all(isinstance(extent, int) for extent in extents)


def _range(e: Expr, extents: Sequence[Extent]) -> Interval:
    return ranges(postorder(e), [intervals.of_dim(n) for n in extents])[e]


def _is_compared(row: Row, extents: Sequence[Extent], terms: Sequence[Expr]) -> bool:
    """Whether comparisons of an index with numbers, beside the box, decide that it is inside."""
    _, e, extent = row
    low, high = _range(e, extents)
    below = isinstance(extent, int) and high < extent
    for term in terms:
        comparison, first, second = _compared(term)
        least = as_extent(first) if first is not None and second is e else None
        if isinstance(least, int):
            low = max(low, least + (comparison == "lt"))
        end = as_extent(second) if second is not None and first is e else None
        if end is not None:
            end = end + (comparison == "le")
            below = below or end == extent or (_are_numbers(end, extent) and end < extent)
    return low >= 0 and below


def _compared(term: Expr) -> tuple[str, Expr | None, Expr | None]:
    """A comparison by `lt` or `le` with its operands."""
    if term.op in ("lt", "le"):
        return term.op, term.args[0], term.args[1]
    if term.op == "not" and term.args[0].op in ("lt", "le"):
        (inner,) = term.args
        return ("le" if inner.op == "lt" else "lt"), inner.args[1], inner.args[0]
    return "", None, None


# ------------------------------------------------------------------ by integer sets


def _decided(access: _Access, rows: Sequence[Row], equation: Equation) -> str | None:
    """What isl says of the subscripts that are left; what it cannot say is left to lowering."""
    path = TRUE if access.node is None else equation.paths[access.node]
    if access.node is not None and path.reads and reads_data(*access.node.args):
        return None  # data say where it is made, and it is tested there
    points = where_possible(path, equation.domain)
    affine = [row for row in rows if _value(row[1], points) is not None]
    values = [_value(e, points) for _, e, _ in affine]
    try:
        witness = bounds.out_of_bounds_witness(points, values, [n for *_, n in affine])
    except BudgetExhausted:
        return None
    if witness is None:
        return None
    number, e, extent = affine[witness.dim]
    names = equation.dim_names or tuple(format_expr(dim(k)) for k in range(equation.rank))
    at = ", ".join(f"{n}={v}" for n, v in zip(names, witness.point, strict=True))
    span = _span(points, values[witness.dim]) if not witness.sizes else None
    return (
        f"{access.label} uses index {format_expr(e, names)}"
        + ("" if span is None else f" in [{span[0]}, {span[1]}]")
        + f", tensor {access.tensor} has extent {extent} in dim {number}, "
        + f"first at {at or 'the only point'}"
        + "".join(f" for {size} = {value}" for size, value in witness.sizes)
        + (_PROMISE if witness.sizes else "")
    )


def _value(e: Expr, points: Any) -> Any:
    try:
        return piecewise(e, points)
    except NotAffine:
        return None


def _span(points: Any, value: Any) -> Interval | None:
    return bounded(lambda: bounds.index_range(points, value))
