"""Decide how an equation's reads become ops: affine reads with guards, or computed indices.

A read is affine when its subscripts are quasi-affine on the points that use it. Its guard is the
set of those points, if it is smaller than the domain: the conditions of the selects above the read,
where they compare indices. A guard that is a union of several convex sets is widened to its hull
when the read stays inside the tensor there. Everything else is a `ted.load` under its path
condition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from ted.domain import bounds, conversion, sets
from ted.domain.affine import Aff, Constraint
from ted.domain.budget import BudgetExhausted, bounded
from ted.domain.sizes import Extent
from ted.ir.affine import NotAffine, condition_set, piecewise, single_piece, where_possible
from ted.ir.affine_attributes import NEVER, expr_to_aff
from ted.ir.equations import Equation
from ted.ir.expressions import Expr
from ted.ir.graphs import finished
from ted.ir.paths import conjuncts
from ted.ir.predicate_cycles import without_cycles
from ted.ir.scalar import TRUE, is_const, is_trusted, land, rewrite
from ted.ir.unknowns import is_inside
from ted.records import dataclass


@dataclass(frozen=True)
class AffineRead:
    """A read by an affine map; `points` is the isl set of its guard, None for everywhere."""

    node: Expr
    subscripts: tuple[Aff, ...]
    guard: tuple[Constraint, ...]
    points: Any


@dataclass(frozen=True)
class DataRead:
    """A read at computed indices, made where the predicate holds.

    `checked` are the dims whose index is neither the user's responsibility nor proved to be inside.
    """

    node: Expr
    predicate: Expr
    checked: tuple[int, ...]


@dataclass(frozen=True)
class Accesses:
    """The reads of an equation, and its expressions without the selects that guards replace."""

    body: Expr
    write: tuple[Expr, ...]
    affine: dict[Expr, AffineRead]
    data: dict[Expr, DataRead]


def plan_accesses(equation: Equation) -> Accesses:
    """Plan every read of the body and of the write's subscripts."""
    roots = equation.expressions
    planned = {node: _plan(node, equation.paths[node], equation.domain) for node in equation.reads}
    predicates = {n: p.predicate for n, p in planned.items() if isinstance(p, DataRead)}
    for node, predicate in without_cycles(predicates).items():
        if predicate is not predicates[node]:  # weaker, so that it proves less
            checked = checked_dims(node.args, node.attr.shape, predicate, equation.domain)
            planned[node] = DataRead(node, predicate, checked)
    body, *write = _without_guard_selects(roots, planned, equation.domain)
    live = set(_live([body, *write], planned))
    affine = {n: p for n, p in planned.items() if isinstance(p, AffineRead) and n in live}
    data = {n: p for n, p in planned.items() if isinstance(p, DataRead) and n in live}
    return Accesses(body, tuple(write), affine, data)


def _live(roots: Sequence[Expr], planned: dict[Expr, AffineRead | DataRead]) -> list[Expr]:
    """The reads that the roots need, those in predicates and computed indices included."""
    found: dict[Expr, None] = {}
    waiting = list(roots)
    while waiting:
        for node in emission_order([waiting.pop()], planned):
            if node.op == "load" and node not in found:
                found[node] = None
    return list(found)


def emission_order(roots: Sequence[Expr], planned: dict[Expr, AffineRead | DataRead]) -> list[Expr]:
    """The nodes to emit, operands first: affine reads are leaves, predicates come before reads."""
    return finished(roots, lambda node: _operands(node, planned))


def _operands(node: Expr, planned: dict[Expr, AffineRead | DataRead]) -> tuple[Expr, ...]:
    plan = planned.get(node)
    if isinstance(plan, AffineRead):
        return ()
    return node.args if plan is None else (plan.predicate, *node.args)


# ------------------------------------------------------------------ one read


def _plan(node: Expr, path: Expr, domain: Any) -> AffineRead | DataRead:
    used = None if path is TRUE else where_possible(path, domain)
    if used is not None and bounded(lambda: domain.is_subset(used)):
        used = None
    subscripts = affine_subscripts(node.args, domain if used is None else used)
    if subscripts is not None:
        if used is None:
            return AffineRead(node, subscripts, (), None)
        guard = _guard(node, used, domain)
        if guard is not None:
            return AffineRead(node, subscripts, *guard)
    predicate = conjunction(path)
    return DataRead(node, predicate, checked_dims(node.args, node.attr.shape, predicate, domain))


def affine_subscripts(indices: Sequence[Expr], points: Any) -> tuple[Aff, ...] | None:
    """The indices as quasi-affine functions on a set of points, if all of them are."""
    found: list[Aff] = []
    for e in indices:
        value = expr_to_aff(e)
        if value is None:
            try:
                value = single_piece(e, points)
            except NotAffine:
                value = None
        if value is None:
            return None
        found.append(value)
    return tuple(found)


def _guard(node: Expr, used: Any, domain: Any) -> tuple[tuple[Constraint, ...], Any] | None:
    """Where a read is made, as constraints and as a set; None when no conjunction will do."""
    parts = conversion.conjunctions(used.gist(domain))
    if not parts:
        return (NEVER, used) if used.is_empty() else None
    if len(parts) == 1:
        return _needed(parts[0], used, domain), used
    hull = used.gist(domain).simple_hull().to_set()
    wide = domain.intersect(hull)
    if not _stays_inside(node, wide):
        return None
    if wide.is_equal(domain):
        return (), None
    (constraints,) = conversion.conjunctions(hull)
    return constraints, wide


def _needed(constraints: tuple[Constraint, ...], used: Any, domain: Any) -> tuple[Constraint, ...]:
    """The constraints without those that the domain and the others imply; isl leaves some."""
    kept = list(constraints)
    for constraint in constraints:
        others = [c for c in kept if c != constraint]
        wide = conversion.from_conjunctions(sets.rank_of(domain), [others]).intersect(domain)
        if bounded(partial(wide.is_subset, used)):
            kept = others
    return tuple(kept)


def checked_dims(
    indices: Sequence[Expr], shape: Sequence[Extent], condition: Expr, domain: Any
) -> tuple[int, ...]:
    """The dims in which an access under a condition may leave its tensor, against all promises."""
    return tuple(
        k
        for k, (e, extent) in enumerate(zip(indices, shape, strict=True))
        if not is_trusted(e) and not is_inside(e, extent, condition, domain)
    )


def _stays_inside(node: Expr, points: Any) -> bool:
    """Whether an affine read is proved to lie inside its tensor at every point of a set."""
    try:
        values = [piecewise(e, points) for e in node.args]
        return bounds.out_of_bounds_witness(points, values, node.attr.shape) is None
    except (NotAffine, BudgetExhausted):
        return False


def conjunction(condition: Expr) -> Expr:
    """The same condition with every term of the conjunction once."""
    result = TRUE
    for term in dict.fromkeys(conjuncts(condition)):
        result = land(result, term)
    return result


# ------------------------------------------------------------------ selects that guards replace


def _without_guard_selects(
    roots: Sequence[Expr], planned: dict[Expr, AffineRead | DataRead], domain: Any
) -> list[Expr]:
    """Replace `select(c, read, 0)` by the read where the read's guard lies inside c."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "select" or node.args[1] not in planned or not _is_zero(node.args[2]):
            return None
        plan = planned[node.args[1]]
        return node.args[1] if _implies(plan, node.args[0], domain) else None

    return rewrite_keeping_reads(roots, visit)


def rewrite_keeping_reads(roots: Sequence[Expr], visit: Any) -> list[Expr]:
    """Rewrite everything but the insides of reads, so that planned reads stay the same nodes."""
    return rewrite(roots, lambda n, args: n if n.op == "load" else visit(n, args))


def _is_zero(e: Expr) -> bool:
    return is_const(e, 0) and math.copysign(1.0, e.attr) > 0


def _implies(plan: AffineRead | DataRead, condition: Expr, domain: Any) -> bool:
    if isinstance(plan, DataRead):
        return set(conjuncts(condition)) <= set(conjuncts(plan.predicate))
    made = domain if plan.points is None else plan.points
    try:
        holds = condition_set(condition, domain)
    except NotAffine:
        return False
    return bounded(lambda: made.is_subset(holds)) is True
