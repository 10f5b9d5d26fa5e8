"""A subdomain with guards or a domain -> disjoint ones, on which guards are decided.

Before: one subdomain, `guard(read) = (i - 1 >= 0)`.  After: a subdomain on i >= 1 that reads freely
and one on i == 0 whose read is 0.  A part that is a box becomes a subdomain over that box; any
other part keeps its set, and becomes a loop nest with exact bounds.  What is around the interior
becomes two slabs for each dim, in which guards are tested at each point, if these are half as many
parts and have few points, or there would be too many parts.  When the interior is too small for
that, guards are tested at each point of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, total_budget
from ted.linalg.constraint_splitting import MOST_PARTS, cells_of, interior_and_slabs
from ted.linalg.domain_forms import points
from ted.linalg.subdomain import Constraint, Subdomain
from ted.mlir import ir
from ted.records import dataclass

THIN_SHARE = 1 / 32  # of the points: testing guards takes four times as long at a point
LARGEST_SHARE = 1 / 2  # where there would be too many parts without guards


@dataclass(frozen=True)
class Part:
    """A subdomain, and its points when they are not the whole box."""

    subdomain: Subdomain
    points: Any = None


def parts_of(subdomain: Subdomain, most: int = MOST_PARTS) -> list[Part]:
    """Split the subdomain; the order of the parts does not matter, they are disjoint."""
    found = [p for cell in cells_of(subdomain, most) for p in _parts_of_cell(cell, most)]
    if 1 < len(found) <= most and not any(map(_tests_guards, found)):
        slabs = _inside_of_slabs(subdomain, len(found) // 2, THIN_SHARE)
        return slabs or found
    slabs = _inside_of_slabs(subdomain, most, LARGEST_SHARE)
    return slabs or (found if len(found) <= most else _parts_of_cell(subdomain, most))


def _tests_guards(part: Part) -> bool:
    return any(r is not None and r.guard for r in part.subdomain.reads)


def _inside_of_slabs(subdomain: Subdomain, most: int, share: float) -> list[Part]:
    """The parts of the interior, and slabs that test their guards; none where these are too large.

    There are two slabs for each dim at most, so that code stays short where there are many guards.
    """
    inside, slabs = interior_and_slabs(subdomain)
    points = prod(subdomain.extents)
    if not slabs or points - prod(inside.extents) > share * points:
        return []
    tested = [p for slab in slabs if not is_zero_without(slab) for p in whole(slab)]
    found = [*_parts_of_cell(inside, most), *tested]
    return found if len(found) <= most else []


def whole(subdomain: Subdomain) -> list[Part]:
    """The subdomain with its guards tested at each point."""
    if not subdomain.domain and not any(r is not None and r.guard for r in subdomain.reads):
        return [Part(subdomain)]
    where = points(subdomain.extents, subdomain.domain)
    return [] if where.is_empty() else [Part(subdomain, where)]


def _parts_of_cell(subdomain: Subdomain, most: int) -> list[Part]:
    guards = list(dict.fromkeys(r.guard for r in subdomain.reads if r is not None and r.guard))
    if is_zero_without(subdomain):
        return []
    if not guards and not subdomain.domain:
        return [Part(subdomain)]
    if subdomain.writes_at_data:
        return (
            [Part(subdomain, points(subdomain.extents, subdomain.domain))]
            if subdomain.domain
            else [Part(subdomain)]
        )
    try:
        with total_budget():
            found = [p for q, s in _decided(subdomain, guards) for p in _boxes(q, s)]
    except BudgetExhausted:
        return whole(subdomain)
    if len(found) > most:
        return whole(subdomain)
    if len(found) <= 1:
        return found
    return [Part(replace(part.subdomain, unordered=True), part.points) for part in found]


def _decided(
    subdomain: Subdomain, guards: list[tuple[Constraint, ...]]
) -> Iterator[tuple[Subdomain, Any]]:
    """Split the points by each guard in turn; reads outside their guard become None."""
    whole = points(subdomain.extents, subdomain.domain)
    states = [] if whole.is_empty() else [(subdomain, whole)]
    for guard in guards:
        inside = points(subdomain.extents, guard)
        split = []
        for part, where in states:
            split.append((_with_guard(part, guard, holds=True), where.intersect(inside)))
            split.append((_with_guard(part, guard, holds=False), where.subtract(inside)))
        states = [(p, s) for p, s in split if not s.is_empty()]
    for part, where in states:
        if not is_zero_without(part):
            yield part, where


def _with_guard(subdomain: Subdomain, guard: tuple[Constraint, ...], *, holds: bool) -> Subdomain:
    reads = [
        (replace(r, guard=()) if holds else None) if r is not None and r.guard == guard else r
        for r in subdomain.reads
    ]
    return replace(subdomain, reads=tuple(reads))


def _boxes(subdomain: Subdomain, where: Any) -> Iterator[Part]:
    """Disjoint parts of the set of points, each cut to its bounding box."""
    whole = where.coalesce()
    parts = [whole] if whole.n_basic_set() == 1 else [
        type(whole).from_basic_set(b) for b in sets.disjoint_parts(whole)
    ]  # fmt: skip
    for part in parts:
        ranges = sets.dim_ranges(part)
        assert ranges is not None, "a subdomain has a bounded box"
        lower = tuple(low for low, _ in ranges)
        extents = tuple(high - low + 1 for low, high in ranges)
        free = replace(subdomain, domain=())
        if sets.bounding_box(ranges).is_subset(part):
            yield Part(free.cut(lower, extents))
            continue
        shifted = [sets.dim_aff(subdomain.rank, k).add_constant_val(_value(part, low))
                   for k, low in enumerate(lower)]  # fmt: skip
        yield Part(free.cut(lower, extents), sets.preimage(part, subdomain.rank, shifted))


def _value(part: Any, number: int) -> Any:
    return sets.constant_aff(0, number).get_constant_val()


# ------------------------------------------------------------------ dead bodies

# Operation -> how the zeros of its operands decide the result.
_RULES = {
    "arith.mulf": any, "arith.muli": any, "arith.andi": any,
    "arith.addf": all, "arith.addi": all, "arith.subf": all, "arith.subi": all,
    "arith.negf": all, "arith.extf": all, "arith.truncf": all, "arith.extsi": all,
    "arith.extui": all, "arith.trunci": all, "ted.stop_gradient": all,
}  # fmt: skip


def is_zero_without(subdomain: Subdomain) -> bool:
    """Whether a subdomain adds nothing: its body is 0 as reads outside their guard are."""
    if subdomain.combiner != "add" or len(subdomain.inits) != 1:
        return False
    zeros: set[ir.Value] = set()
    zeros.update(
        a for a, r in zip(subdomain.body.arguments, subdomain.reads, strict=True) if r is None
    )
    if not zeros:
        return False
    *operations, terminator = list(subdomain.body.operations)
    for op in operations:
        if _is_zero(op.operation, zeros):
            zeros.add(op.operation.results[0])
    return terminator.operation.operands[0] in zeros


def _is_zero(op: ir.Operation, zeros: set[ir.Value]) -> bool:
    if op.name == "arith.select":
        return op.operands[1] in zeros and op.operands[2] in zeros
    if op.name == "arith.constant":
        return str(op.attributes["value"]).split(" ")[0] in ("0", "0.000000e+00", "false")
    if op.name in ("arith.divf",):
        return op.operands[0] in zeros
    rule = _RULES.get(op.name)
    return rule is not None and rule(v in zeros for v in op.operands)
