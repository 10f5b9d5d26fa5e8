"""Between which values index expressions are, and which of them 64 bits do not hold.

Intervals over the box first, which decide almost every expression; what they refuse is asked again
over the points where its value is used, under the conditions around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.domain import intervals, parameters, sets
from ted.domain.budget import bounded
from ted.domain.intervals import UNKNOWN, Interval
from ted.domain.sizes import Extent
from ted.ir.affine import where_possible
from ted.ir.expressions import Expr, format_expr, postorder
from ted.ir.paths import path_conditions
from ted.ir.scalar import as_extent

WAY_OUT = 'cast before it grows: ted.cast(i, "float64"), or to "int64", which wraps'
_NARROW = 'take a wider type, or cast to "int64" on the way, which wraps'


def ranges(order: Sequence[Expr], dims: Sequence[Interval]) -> dict[Expr, Interval]:
    """The interval of every index expression of a postorder; what depends on data is unknown."""
    known: dict[Expr, Interval] = {}
    for node in order:
        if node.dtype.is_index:
            known[node] = _range(node, dims, known)
    return known


def _range(node: Expr, dims: Sequence[Interval], known: dict[Expr, Interval]) -> Interval:
    if node.op == "dim":
        return dims[node.attr]
    extent = as_extent(node) if node.op in ("const", "size") else None
    if extent is not None:
        return intervals.of_extent(extent)
    rule = intervals.OPERATIONS.get(node.op)
    return UNKNOWN if rule is None else rule(*(known.get(a, UNKNOWN) for a in node.args))


def overflow(
    roots: Sequence[Expr], extents: Sequence[Extent], domain: Any, names: Sequence[str] = ()
) -> str | None:
    """What leaves 64 bits, as the end of a message; None where nothing does.

    `domain` are the points of the box at which the roots are used; None is the whole of it.
    """
    order = postorder(*roots)
    box = [intervals.of_dim(extent) for extent in extents]
    known: dict[Expr, Interval] = {}
    paths: dict[Expr, Expr] = {}
    for node in order:
        value = _index_of(node)
        if value is None:
            continue
        known[value] = known[value] if value in known else _range(value, box, known)
        if intervals.fits(known[value], node.dtype.range):
            continue
        paths = paths or path_conditions(*roots)
        points = parameters.box(extents) if domain is None else domain
        used = _where_used(value, where_possible(paths[node], points), box)
        if not intervals.fits(used, node.dtype.range):
            got = f"{format_expr(value, names)} in {list(used)}"
            advice = WAY_OUT if node is value else _NARROW
            room = str(node.dtype) if node.dtype.is_unsigned else f"{node.dtype.bits} bits"
            return f"an index fits into {room}, got {got}; {advice}"
        if value is node:
            known[node] = used
    return None


def _index_of(node: Expr) -> Expr | None:
    """The index that a node is, or that it makes an integer of."""
    if node.dtype.is_index:
        return node
    is_cast = node.op == "cast" and node.dtype.kind == "int" and node.args[0].dtype.is_index
    return node.args[0] if is_cast else None


def _where_used(node: Expr, points: Any, box: Sequence[Interval]) -> Interval:
    """The interval of an index over some points."""
    if bounded(points.is_empty):
        return 0, 0
    dims = bounded(lambda: sets.dim_ranges(points)) or box
    return ranges(postorder(node), dims)[node]
