"""MLIR affine maps and sets <-> quasi-affine values (`ted.domain.affine`) and index expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.domain import affine, conversion
from ted.domain.affine import Aff, Constraint, Floor
from ted.ir.affine import aff_to_expr
from ted.ir.scalar import TRUE, Expr, apply, compare, index, land
from ted.mlir import ir

# ------------------------------------------------------------------ plain values -> MLIR


def aff_to_mlir(value: Aff) -> ir.AffineExpr:
    """A quasi-affine value as an MLIR expression; a remainder is written with `mod`."""
    parts: list[tuple[int, ir.AffineExpr]] = []
    while (found := affine.remainder(value)) is not None:
        parts.append((found.factor, aff_to_mlir(found.argument) % found.divisor))
        value = found.rest
    total = ir.AffineExpr.get_constant(value.const)
    for factor, term in value.terms:
        total = total + _atom(term) * factor
    for factor, part in parts:
        total = total + part * factor
    return total


def _atom(term: int | Floor) -> ir.AffineExpr:
    if isinstance(term, Floor):
        return ir.AffineExpr.get_floor_div(aff_to_mlir(term.inner), term.divisor)
    return ir.AffineExpr.get_dim(term)


def constraints_to_mlir(rank: int, constraints: Sequence[Constraint]) -> ir.IntegerSet:
    """A conjunction as a set; the empty conjunction is everything, written `0 == 0`."""
    rows = [(aff_to_mlir(c.expression), c.equality) for c in constraints]
    rows = rows or [(ir.AffineExpr.get_constant(0), True)]
    return ir.IntegerSet.get(rank, 0, [e for e, _ in rows], [flag for _, flag in rows])


NEVER = (Constraint(affine.constant(1), equality=True),)


# ------------------------------------------------------------------ MLIR -> plain values


_COMBINE: dict[str, Callable[[Aff, Aff], Aff]] = {
    "AffineAddExpr": lambda a, b: a + b,
    "AffineMulExpr": lambda a, b: a * b.const if b.is_constant else b * a.const,
    "AffineFloorDivExpr": lambda a, b: a // b.const,
    "AffineCeilDivExpr": lambda a, b: -(-a // b.const),
    "AffineModExpr": lambda a, b: a % b.const,
}


def aff_from_mlir(expression: Any) -> Aff | None:
    """An MLIR expression as a quasi-affine value; None when it contains a symbol."""
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return affine.constant(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return affine.dim(expression.position)
    if isinstance(expression, ir.AffineSymbolExpr):
        return None
    left, right = aff_from_mlir(expression.lhs), aff_from_mlir(expression.rhs)
    if left is None or right is None:
        return None
    return _COMBINE[type(expression).__name__](left, right)


def constraints_from_mlir(points: ir.IntegerSet) -> list[Constraint]:
    """The constraints of a set without symbols; those that always hold are left out."""
    found = []
    for row in points.constraints:
        value = aff_from_mlir(row.expr)
        assert value is not None, f"sets of ted.compute have no symbols, got {points}"
        constraint = Constraint(value, row.is_eq)
        if not (value.is_constant and constraint.holds(())):
            found.append(constraint)
    return found


def set_from_mlir(points: ir.IntegerSet) -> Any:
    """An MLIR set as an isl set over its dims."""
    return conversion.from_conjunctions(points.n_dims, [constraints_from_mlir(points)])


# ------------------------------------------------------------------ index expressions


_SCALAR = {
    "AffineAddExpr": "add",
    "AffineMulExpr": "mul",
    "AffineFloorDivExpr": "floordiv",
    "AffineModExpr": "mod",
}


def mlir_to_expr(expression: Any, symbols: Sequence[Expr] = ()) -> Expr:
    """An MLIR expression as an index expression; symbol k becomes `symbols[k]`."""
    value = aff_from_mlir(expression)
    if value is not None:
        return _with_remainders(value)
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[expression.position]
    operation = _SCALAR[type(expression).__name__]
    arguments = (mlir_to_expr(e, symbols) for e in (expression.lhs, expression.rhs))
    return apply(operation, *arguments)


def _with_remainders(value: Aff) -> Expr:
    """A quasi-affine value as an index expression, remainders written with `mod`."""
    found = affine.remainder(value)
    if found is None:
        return aff_to_expr(value)
    part = apply("mod", _with_remainders(found.argument), index(found.divisor))
    scaled = apply("mul", part, index(abs(found.factor)))
    rest = _with_remainders(found.rest)
    return apply("add" if found.factor > 0 else "sub", rest, scaled)


def conjunction_to_expr(constraints: Sequence[Constraint]) -> Expr:
    """A conjunction as a condition: `e >= 0` is written `0 <= e`."""
    result = TRUE
    for constraint in constraints:
        value = _with_remainders(constraint.expression)
        relation = "eq" if constraint.equality else "le"
        result = land(result, compare(relation, index(0), value))
    return result


def expr_to_aff(e: Expr) -> Aff | None:
    """An index expression that is quasi-affine by its form; None for min, max, select and data."""
    if e.op == "const":
        return affine.constant(e.attr)
    if e.op == "dim":
        return affine.dim(e.attr)
    if e.op not in _BY_FORM or not e.dtype.is_index:
        return None
    values = [expr_to_aff(a) for a in e.args]
    if any(v is None for v in values):
        return None
    return _BY_FORM[e.op](*values)


def _product(a: Aff, b: Aff) -> Aff | None:
    if b.is_constant:
        return a * b.const
    return b * a.const if a.is_constant else None


def _quotient(a: Aff, b: Aff) -> Aff | None:
    return a // b.const if b.is_constant and b.const > 0 else None


def _remainder(a: Aff, b: Aff) -> Aff | None:
    return a % b.const if b.is_constant and b.const > 0 else None


_BY_FORM: dict[str, Callable[..., Aff | None]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "unchecked": lambda a: a,
    "mul": _product,
    "floordiv": _quotient,
    "mod": _remainder,
}
