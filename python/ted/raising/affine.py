"""Affine values of indices -> index expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ted.ir import scalar
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.raising.values import unraisable


def results_of(op: ir.Operation, operands: Sequence[Expr]) -> list[Expr]:
    """The values of the map of an op at its operands: those of its dims, then of its symbols.

    Raises: VerifyError for an expression that is not affine.
    """
    access = ir.AffineMapAttr(op.attributes["map"]).value
    return [_value(op, e, operands, access.n_dims) for e in access.results]


def number(op: ir.Operation, operands: Sequence[Expr]) -> Expr:
    """The value of `affine.apply`, or the greatest or least one of several."""
    found = results_of(op, operands)
    return functools.reduce(_EXTREMA.get(op.name, _first), found)


def _first(a: Expr, b: Expr) -> Expr:
    del b
    return a


_EXTREMA: dict[str, Callable[[Expr, Expr], Expr]] = {
    "affine.max": functools.partial(scalar.extremum, "maximum"),
    "affine.min": functools.partial(scalar.extremum, "minimum"),
}
NUMBERS = ("affine.apply", *_EXTREMA)


def _value(op: ir.Operation, expression: Any, operands: Sequence[Expr], dims: int) -> Expr:
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return scalar.index(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return operands[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return operands[dims + expression.position]
    kind = type(expression).__name__
    if kind not in _ARITHMETIC:
        raise unraisable(op, f"an expression must be affine, got {expression}")
    sides = (_value(op, e, operands, dims) for e in (expression.lhs, expression.rhs))
    return _ARITHMETIC[kind](*sides)


def _above(a: Expr, b: Expr) -> Expr:
    return scalar.neg(scalar.floordiv(scalar.neg(a), b))


_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "AffineAddExpr": scalar.add,
    "AffineMulExpr": scalar.mul,
    "AffineModExpr": scalar.mod,
    "AffineFloorDivExpr": scalar.floordiv,
    "AffineCeilDivExpr": _above,
}
