"""What an affine expression looks like to a lowering: its linear form, a dim alone, its dims."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ted.domain.linear import Form, term
from ted.mlir import ir

_LINEAR: dict[str, Callable[[Form[int], Form[int]], Form[int] | None]] = {
    "AffineAddExpr": Form.__add__,
    "AffineMulExpr": Form.times,
}


def linear(expr: ir.AffineExpr, rank: int | None = None) -> Form[int] | None:
    """The form in dims, and with a `rank` in symbols as the dims after so many; None without."""
    expr = down(expr)
    if isinstance(expr, ir.AffineConstantExpr):
        return Form(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return term(expr.position)
    if isinstance(expr, ir.AffineSymbolExpr):
        return None if rank is None else term(rank + expr.position)
    rule = _LINEAR.get(type(expr).__name__)
    left, right = (linear(e, rank) for e in operands_of(expr))
    return None if rule is None or left is None or right is None else rule(left, right)


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
    """Replace dim k by exprs[k], of any dims; the result is simplified."""
    composed = expr.compose(ir.AffineMap.get(len(exprs), 0, list(exprs)))
    counts = {"d": 0, "s": 0}  # dims and symbols beyond them would be dropped
    for kind, position in re.findall(r"\b([ds])(\d+)", str(composed)):
        counts[kind] = max(counts[kind], int(position) + 1)
    return down(ir.AffineExpr.simplify_affine_expr(composed, counts["d"], counts["s"]))


def symbols_used(expr: ir.AffineExpr) -> int:
    """One more than the largest symbol position in the expression."""
    return max((int(s) + 1 for s in re.findall(r"\bs(\d+)", str(expr))), default=0)


def dims_used(*exprs: ir.AffineExpr) -> set[int]:
    """Positions of the dims in the expressions."""
    return {int(d) for expr in exprs for d in re.findall(r"\bd(\d+)", str(expr))}


def single_dim(expr: ir.AffineExpr) -> tuple[int, int, int] | None:
    """(dim, factor, offset) of `factor * d + offset`; dim is -1 for a constant; None otherwise."""
    form = linear(expr)
    if form is None or len(form.terms) > 1:
        return None
    return (*(*form.terms, (-1, 0))[0], form.constant)
