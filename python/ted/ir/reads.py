"""How each read of an equation is made: as an affine operand with a guard, or as data.

A read is made wherever its path condition may hold.  It needs a guard only where it would leave
its tensor otherwise; a guard must be one conjunction for MLIR, so a union of several becomes
several operands with disjoint guards.  A read whose index is data, or has several affine pieces
(a clamp), is a `ted.load` under its path condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ted.domain import conversion, sets
from ted.domain.affine import Aff, Constraint
from ted.domain.bounds import out_of_bounds_witness
from ted.ir.affine import NotAffine, condition_bounds, piecewise, single_piece
from ted.ir.equations import Equation
from ted.ir.paths import path_conditions
from ted.ir.scalar import TRUE, Expr, is_const, loads, rewrite, select

MAX_GUARDS = 4  # a read in more disjoint guards than this becomes a ted.load


@dataclass(frozen=True)
class AffineRead:
    """One operand: where it reads, and the conjunction under which it does."""

    read: Expr
    index: tuple[Aff, ...]
    guard: tuple[Constraint, ...]


@dataclass(frozen=True)
class Access:
    """A read of the body: its affine operands, or none and the condition of a `ted.load`."""

    read: Expr
    operands: tuple[AffineRead, ...]
    condition: Expr
    guard: Any | None  # the isl set outside of which the read gives 0; None when never


def accesses(equation: Equation) -> dict[Expr, Access]:
    """How each distinct read of the equation is made, in order of first use."""
    roots = (equation.body, *equation.write)
    conditions = path_conditions(*roots)
    return {r: _access(r, conditions[r], equation) for r in loads(*roots)}


def _access(read: Expr, condition: Expr, equation: Equation) -> Access:
    by_condition = Access(read, (), condition, None)
    domain = equation.domain
    try:
        whole = [piecewise(a, domain) for a in read.args]
    except NotAffine:
        return by_condition
    guard = None
    made = domain
    if condition is not TRUE and out_of_bounds_witness(domain, whole, read.attr.shape):
        made = domain.intersect(condition_bounds(condition, domain)[0]).coalesce()
        guard = made
    index = [single_piece(a, made) for a in read.args]
    if any(a is None for a in index):
        return by_condition
    found = tuple(a for a in index if a is not None)
    parts = ((),) if guard is None else _conjunctions(guard, domain)
    if parts is None:
        return by_condition
    return Access(read, tuple(AffineRead(read, found, p) for p in parts), TRUE, guard)


def _conjunctions(guard: Any, domain: Any) -> tuple[tuple[Constraint, ...], ...] | None:
    """The guard as disjoint conjunctions, given the domain; None when there are too many."""
    parts = conversion.conjunctions(guard.gist(domain).coalesce())
    if len(parts) > 1:
        parts = conversion.conjunctions(guard, disjoint=True)
    return parts if len(parts) <= MAX_GUARDS else None


def without_guarded_selects(equation: Equation, found: dict[Expr, Access]) -> Expr:
    """The body with select(guard, read, 0) written as the read, which is 0 outside its guard."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "select":
            return None
        for value, other, holds in ((1, 2, True), (2, 1, False)):
            access = found.get(node.args[value])
            if access is None or access.guard is None or not is_const(node.args[other], 0):
                continue
            over, under = condition_bounds(node.args[0], equation.domain)
            inside = over if holds else equation.domain.subtract(under)
            if inside.intersect(equation.domain).is_equal(access.guard) and over.is_equal(under):
                return args[value]
        return select(*args)

    return rewrite([equation.body], visit)[0]


def guard_points(read: AffineRead, rank: int) -> Any:
    """The guard of an operand as a set."""
    if not read.guard:
        return sets.universe(rank)
    return conversion.from_conjunctions(rank, [read.guard])
