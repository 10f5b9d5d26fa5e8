"""What an affine expression looks like to a lowering: coefficients, range over a box, a dim alone.

Expressions with `floordiv`, `mod` or products of dims have no linear form (None); their range over
a box is still bounded by interval arithmetic, which is exact when every dim occurs once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ted.mlir import ir
from ted.mlir.affine_ranges import RULES


def linear(expr: ir.AffineExpr, rank: int) -> tuple[tuple[int, ...], int] | None:
    """Coefficients of dims 0..rank-1 and the constant; None when not linear or with symbols."""
    expr = down(expr)
    if isinstance(expr, ir.AffineConstantExpr):
        return (0,) * rank, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        if expr.position >= rank:
            return None
        return tuple(int(k == expr.position) for k in range(rank)), 0
    if isinstance(expr, ir.AffineAddExpr):
        left, right = linear(expr.lhs, rank), linear(expr.rhs, rank)
        if left is None or right is None:
            return None
        return tuple(a + b for a, b in zip(left[0], right[0], strict=True)), left[1] + right[1]
    if isinstance(expr, ir.AffineMulExpr):
        left, right = linear(expr.lhs, rank), linear(expr.rhs, rank)
        if left is None or right is None or (any(left[0]) and any(right[0])):
            return None
        (coefficients, constant), factor = (left, right[1]) if any(left[0]) else (right, left[1])
        return tuple(c * factor for c in coefficients), constant * factor
    return None


def down(expr: ir.AffineExpr) -> ir.AffineExpr:
    """The expression as the class that it is.

    Sub-expressions come as the base class, and a sum that simplified to a dim comes as a sum, whose
    operands are then no memory of ours.
    """
    return expr.maybe_downcast()


def operands_of(expr: ir.AffineExpr) -> tuple[ir.AffineExpr, ir.AffineExpr]:
    """The two operands of a sum, product, quotient or remainder."""
    binary = ir.AffineBinaryExpr(expr)
    return down(binary.lhs), down(binary.rhs)


def substitute(exprs: Sequence[ir.AffineExpr], expr: ir.AffineExpr) -> ir.AffineExpr:
    """Replace dim k by exprs[k]; the result is simplified."""
    rank = len(exprs)
    composed = expr.compose(ir.AffineMap.get(rank, 0, list(exprs)))
    return down(ir.AffineExpr.simplify_affine_expr(composed, rank, symbols_used(expr)))


def symbols_used(expr: ir.AffineExpr) -> int:
    """One more than the largest symbol position in the expression."""
    return max((int(s) + 1 for s in re.findall(r"\bs(\d+)", str(expr))), default=0)


def dims_used(*exprs: ir.AffineExpr) -> set[int]:
    """Positions of the dims in the expressions."""
    return {int(d) for expr in exprs for d in re.findall(r"\bd(\d+)", str(expr))}


def value_range(expr: ir.AffineExpr, extents: tuple[int, ...]) -> tuple[int, int]:
    """Least and largest value over the box 0 <= d < extents (bounds, if dims repeat)."""
    form = linear(expr, len(extents))
    if form is not None:
        coefficients, constant = form
        ends = [c * (e - 1) for c, e in zip(coefficients, extents, strict=True)]
        return constant + sum(min(0, e) for e in ends), constant + sum(max(0, e) for e in ends)
    expr = down(expr)
    left, right = operands_of(expr)
    rule = RULES[type(expr).__name__]
    low, high = rule(value_range(left, extents), value_range(right, extents))
    return int(low), int(high)


def single_dim(expr: ir.AffineExpr, rank: int) -> tuple[int, int, int] | None:
    """(dim, factor, offset) of `factor * d + offset`; dim is -1 for a constant; None otherwise."""
    form = linear(expr, rank)
    if form is None:
        return None
    used = [k for k, c in enumerate(form[0]) if c]
    if len(used) > 1:
        return None
    return (used[0], form[0][used[0]], form[1]) if used else (-1, 0, form[1])


def element_strides(shape: tuple[int, ...]) -> list[int]:
    """Row-major strides of a shape, in elements."""
    strides = [1] * len(shape)
    for k in reversed(range(len(shape) - 1)):
        strides[k] = strides[k + 1] * shape[k + 1]
    return strides
