"""Quasi-affine functions and sets <-> MLIR affine maps and integer sets.

MLIR says a set as one conjunction; a union of conjunctions has no attribute, and `as_integer_set`
gives None for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.domain import affine, conversion, sets
from ted.domain.affine import Aff, Constraint, Floor
from ted.mlir import ir


def affine_expr(aff: Aff) -> ir.AffineExpr:
    """A quasi-affine function as an MLIR expression over dims."""
    total: ir.AffineExpr | None = None
    for coefficient, term in aff.terms:
        if isinstance(term, Floor):
            atom = ir.AffineExpr.get_floor_div(
                affine_expr(term.inner), ir.AffineExpr.get_constant(term.divisor)
            )
        else:
            atom = ir.AffineDimExpr.get(term)
        if coefficient != 1:
            atom = ir.AffineExpr.get_mul(atom, ir.AffineExpr.get_constant(coefficient))
        total = atom if total is None else ir.AffineExpr.get_add(total, atom)
    constant = ir.AffineExpr.get_constant(aff.const)
    if total is None:
        return constant
    return total if aff.const == 0 else ir.AffineExpr.get_add(total, constant)


def affine_map(rank: int, results: Sequence[Aff]) -> ir.AffineMap:
    """The map from `rank` dims to the results."""
    return ir.AffineMap.get(rank, 0, [affine_expr(a) for a in results])


def aff_of(expr: ir.AffineExpr, symbols: int | None = None) -> Aff:
    """An MLIR expression as a quasi-affine function; symbol k is dim `symbols + k`."""
    if isinstance(expr, ir.AffineDimExpr):
        return affine.dim(expr.position)
    if isinstance(expr, ir.AffineSymbolExpr):
        assert symbols is not None, f"a symbol is not expected in {expr}"
        return affine.dim(symbols + expr.position)
    if isinstance(expr, ir.AffineConstantExpr):
        return affine.constant(expr.value)
    left, right = aff_of(expr.lhs, symbols), aff_of(expr.rhs, symbols)
    if isinstance(expr, ir.AffineAddExpr):
        return left + right
    if isinstance(expr, ir.AffineMulExpr):
        return right * left.const if left.is_constant else left * right.const
    assert right.is_constant, f"division by a constant expected in {expr}"
    if isinstance(expr, ir.AffineModExpr):
        return left % right.const
    if isinstance(expr, ir.AffineFloorDivExpr):
        return left // right.const
    assert isinstance(expr, ir.AffineCeilDivExpr), f"not an affine expression: {expr}"
    return -((-left) // right.const)


def as_integer_set(points: Any, rank: int) -> ir.IntegerSet | None:
    """An isl set as an MLIR one; None when it is a union of conjunctions."""
    parts = conversion.conjunctions(points)
    if len(parts) > 1:
        return None
    if not parts:
        never = ir.AffineExpr.get_constant(1)
        return ir.IntegerSet.get(rank, 0, [never], [True])
    return conjunction_set(parts[0], rank)


def conjunction_set(constraints: Sequence[Constraint], rank: int) -> ir.IntegerSet:
    """A conjunction as an MLIR set; the empty one is `0 == 0`."""
    if not constraints:
        return ir.IntegerSet.get(rank, 0, [ir.AffineExpr.get_constant(0)], [True])
    values = [affine_expr(c.expression) for c in constraints]
    return ir.IntegerSet.get(rank, 0, values, [c.equality for c in constraints])


def points_of(integer_set: ir.IntegerSet) -> Any:
    """An MLIR set as an isl one."""
    constraints = [Constraint(aff_of(c.expr), c.is_eq) for c in integer_set.constraints]
    return conversion.from_conjunctions(integer_set.n_dims, [constraints])


def is_everywhere(integer_set: ir.IntegerSet) -> bool:
    """Whether the set is written without a real constraint."""
    return all(
        aff_of(c.expr) == affine.constant(0) and c.is_eq for c in integer_set.constraints
    )


def box_with(extents: Sequence[int], integer_set: ir.IntegerSet) -> Any:
    """The points of a box that are in an MLIR set."""
    return sets.box(extents).intersect(points_of(integer_set)).coalesce()
