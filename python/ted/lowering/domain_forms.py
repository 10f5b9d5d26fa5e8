"""Between MLIR's affine expressions and those of `ted.domain`: constraints, sets, loop bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ted.domain import affine as plain
from ted.domain import conversion, sets
from ted.lowering.affine_forms import down, operands_of
from ted.lowering.piece import Constraint
from ted.mlir import ir


def to_plain(expr: ir.AffineExpr) -> plain.Aff:
    """An affine expression over dims as a plain value."""
    expr = down(expr)
    if isinstance(expr, ir.AffineConstantExpr):
        return plain.constant(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return plain.dim(expr.position)
    left, right = map(to_plain, operands_of(expr))
    if isinstance(expr, ir.AffineAddExpr):
        return left + right
    if isinstance(expr, ir.AffineMulExpr):
        return left * right.const if right.is_constant else right * left.const
    if isinstance(expr, ir.AffineFloorDivExpr):
        return left // right.const
    if isinstance(expr, ir.AffineCeilDivExpr):
        return -((-left) // right.const)
    return left % right.const


def from_plain(value: plain.Aff) -> ir.AffineExpr:
    """A plain value as an affine expression; remainders become `mod` again."""
    found = plain.remainder(value)
    if found is not None:
        rest = from_plain(found.rest)
        remainder = ir.AffineExpr.get_mod(from_plain(found.argument), found.divisor)
        return rest + remainder * found.factor
    total = ir.AffineExpr.get_constant(value.const)
    for factor, term in value.terms:
        if isinstance(term, plain.Floor):
            atom = ir.AffineExpr.get_floor_div(from_plain(term.inner), term.divisor)
        else:
            atom = ir.AffineExpr.get_dim(term)
        total = total + atom * factor
    return down(total)


def points(extents: tuple[int, ...], constraints: Iterable[Constraint] = ()) -> Any:
    """The isl set of the points of a box that satisfy the constraints."""
    rank = len(extents)
    conjunction = [plain.Constraint(to_plain(c.expr), c.is_equality) for c in constraints]
    box = sets.box(extents)
    return box.intersect(conversion.from_conjunctions(rank, [conjunction])) if conjunction else box


def constraints_from(conjunction: Iterable[plain.Constraint]) -> tuple[Constraint, ...]:
    """Constraints of the domain package as constraints of a piece."""
    return tuple(Constraint(from_plain(c.expression), c.equality) for c in conjunction)
