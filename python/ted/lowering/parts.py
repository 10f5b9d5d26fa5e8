"""A piece with guards or a domain -> pieces over disjoint points, on which guards are decided.

Before: one piece, `guard(read) = (i - 1 >= 0)`.  After: a piece on i >= 1 that reads freely and one
on i == 0 whose read is 0.  A part that is a box becomes a piece over that box; any other part keeps
its set, and becomes a loop nest with exact bounds.  When this needs too many parts, the piece stays
whole and its guards are tested at each point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, total_budget
from ted.lowering.cells import cells_of
from ted.lowering.domain_forms import points
from ted.lowering.piece import Constraint, Piece
from ted.lowering.zero_bodies import is_zero_without

MOST_PARTS = 24


@dataclass(frozen=True)
class Part:
    """A piece, and its points when they are not the whole box."""

    piece: Piece
    points: Any = None


def parts_of(piece: Piece) -> list[Part]:
    """Split the piece; the order of the parts does not matter, they are disjoint."""
    found = [p for cell in cells_of(piece, MOST_PARTS) for p in _parts_of_cell(cell)]
    return found if len(found) <= MOST_PARTS else _parts_of_cell(piece)


def _parts_of_cell(piece: Piece) -> list[Part]:
    guards = list(dict.fromkeys(r.guard for r in piece.reads if r is not None and r.guard))
    if is_zero_without(piece):
        return []
    if not guards and not piece.domain:
        return [Part(piece)]
    if piece.writes_at_data:
        return [Part(piece, points(piece.extents, piece.domain))] if piece.domain else [Part(piece)]
    try:
        with total_budget():
            found = [p for q, s in _decided(piece, guards) for p in _boxes(q, s)]
    except BudgetExhausted:
        return _whole(piece)
    if len(found) > MOST_PARTS:
        return _whole(piece)
    if len(found) <= 1:
        return found
    return [Part(replace(part.piece, unordered=True), part.points) for part in found]


def _whole(piece: Piece) -> list[Part]:
    """The piece with its guards tested at each point."""
    where = points(piece.extents, piece.domain)
    return [] if where.is_empty() else [Part(piece, where)]


def _decided(piece: Piece, guards: list[tuple[Constraint, ...]]) -> Iterator[tuple[Piece, Any]]:
    """Split the points by each guard in turn; reads outside their guard become None."""
    states = [(piece, points(piece.extents, piece.domain))]
    for guard in guards:
        inside = points(piece.extents, guard)
        split = []
        for part, where in states:
            split.append((_with_guard(part, guard, holds=True), where.intersect(inside)))
            split.append((_with_guard(part, guard, holds=False), where.subtract(inside)))
        states = [(p, s) for p, s in split if not s.is_empty()]
    for part, where in states:
        if not is_zero_without(part):
            yield part, where


def _with_guard(piece: Piece, guard: tuple[Constraint, ...], *, holds: bool) -> Piece:
    reads = [
        (replace(r, guard=()) if holds else None) if r is not None and r.guard == guard else r
        for r in piece.reads
    ]
    return replace(piece, reads=tuple(reads))


def _boxes(piece: Piece, where: Any) -> Iterator[Part]:
    """Disjoint parts of the set of points, each cut to its bounding box."""
    whole = where.coalesce()
    parts = [whole] if whole.n_basic_set() == 1 else [
        type(whole).from_basic_set(b) for b in sets.disjoint_parts(whole)
    ]  # fmt: skip
    for part in parts:
        ranges = sets.dim_ranges(part)
        assert ranges is not None, "a piece has a bounded box"
        lower = tuple(low for low, _ in ranges)
        extents = tuple(high - low + 1 for low, high in ranges)
        free = replace(piece, domain=())
        if sets.bounding_box(ranges).is_subset(part):
            yield Part(free.cut(lower, extents))
            continue
        shifted = [sets.dim_aff(piece.rank, k).add_constant_val(_value(part, low))
                   for k, low in enumerate(lower)]  # fmt: skip
        yield Part(free.cut(lower, extents), sets.preimage(part, piece.rank, shifted))


def _value(part: Any, number: int) -> Any:
    return sets.constant_aff(0, number).get_constant_val()
