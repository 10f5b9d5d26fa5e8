"""MLIR affine maps and sets <-> quasi-affine values (`ted.domain.affine`) and index expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.domain import affine, conversion, parameters
from ted.domain.affine import Aff, Constraint, Floor
from ted.domain.sizes import Symbol
from ted.errors import VerifyError
from ted.ir.affine import aff_to_expr
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, apply, compare, index, land
from ted.ir.symbols import NONE, Symbols
from ted.mlir import ir

# ------------------------------------------------------------------ plain values -> MLIR


def aff_to_mlir(value: Aff, symbols: Symbols = NONE) -> ir.AffineExpr:
    """A quasi-affine value as an MLIR expression; a remainder is written with `mod`."""
    parts: list[tuple[int, ir.AffineExpr]] = []
    while (found := affine.remainder(value)) is not None:
        parts.append((found.factor, aff_to_mlir(found.argument, symbols) % found.divisor))
        value = found.rest
    total = ir.AffineExpr.get_constant(value.const)
    for factor, term in value.terms:
        total = total + _atom(term, symbols) * factor
    for factor, part in parts:
        total = total + part * factor
    return total


def _atom(term: int | str | Floor, symbols: Symbols) -> ir.AffineExpr:
    if isinstance(term, Floor):
        return ir.AffineExpr.get_floor_div(aff_to_mlir(term.inner, symbols), term.divisor)
    if isinstance(term, str):
        return symbols.parameter(term)
    return ir.AffineExpr.get_dim(term)


def constraints_to_mlir(
    rank: int, constraints: Sequence[Constraint], symbols: Symbols = NONE
) -> ir.IntegerSet:
    """A conjunction as a set; the empty conjunction is everything, written `0 == 0`."""
    rows = [(aff_to_mlir(c.expression, symbols), c.equality) for c in constraints]
    rows = rows or [(ir.AffineExpr.get_constant(0), True)]
    return ir.IntegerSet.get(rank, len(symbols), [e for e, _ in rows], [flag for _, flag in rows])


NEVER = (Constraint(affine.constant(1), equality=True),)


# ------------------------------------------------------------------ MLIR -> plain values


_COMBINE: dict[str, Callable[[Aff, Aff], Aff]] = {
    "AffineAddExpr": lambda a, b: a + b,
    "AffineMulExpr": lambda a, b: a * b.const if b.is_constant else b * a.const,
    "AffineFloorDivExpr": lambda a, b: a // b.const,
    "AffineCeilDivExpr": lambda a, b: -(-a // b.const),
    "AffineModExpr": lambda a, b: a % b.const,
}


def aff_from_mlir(expression: Any, symbols: Symbols = NONE) -> Aff | None:
    """An MLIR expression as a quasi-affine value; None when it has a symbol that is no size."""
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return affine.constant(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return affine.dim(expression.position)
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols.value(expression)
    left, right = aff_from_mlir(expression.lhs, symbols), aff_from_mlir(expression.rhs, symbols)
    kind = type(expression).__name__
    if left is None or right is None:
        return None
    if kind == "AffineMulExpr" and not (left.is_constant or right.is_constant):
        return symbols.value(expression)  # a product of sizes
    if kind not in ("AffineAddExpr", "AffineMulExpr") and not right.is_constant:
        return None
    return _COMBINE[kind](left, right)


def constraints_from_mlir(points: ir.IntegerSet, symbols: Symbols = NONE) -> list[Constraint]:
    """The constraints of a set, its symbols sizes; those that always hold are left out.

    Raises: VerifyError for a constraint that is not affine.
    """
    found = []
    for row in points.constraints:
        value = aff_from_mlir(row.expr, symbols)
        if value is None:
            raise VerifyError(
                "ted.compute: conditions must be affine in dims and sizes, or divisions of dims, "
                f"got {row.expr} in {points}"
            )
        constraint = Constraint(value, row.is_eq)
        if not (value.is_constant and constraint.holds(())):
            found.append(constraint)
    return found


def set_from_mlir(points: ir.IntegerSet, symbols: Symbols = NONE) -> Any:
    """An MLIR set as an isl set over its dims, sizes its parameters."""
    return conversion.from_conjunctions(points.n_dims, [constraints_from_mlir(points, symbols)])


# ------------------------------------------------------------------ index expressions


_SCALAR: dict[str, Callable[[Expr, Expr], Expr]] = {
    "AffineAddExpr": lambda a, b: apply("add", a, b),
    "AffineMulExpr": lambda a, b: apply("mul", a, b),
    "AffineFloorDivExpr": lambda a, b: apply("floordiv", a, b),
    "AffineCeilDivExpr": lambda a, b: apply("neg", apply("floordiv", apply("neg", a), b)),
    "AffineModExpr": lambda a, b: apply("mod", a, b),
}


def mlir_to_expr(expression: Any, data: Sequence[Expr] = (), symbols: Symbols = NONE) -> Expr:
    """An MLIR expression as an index expression; a symbol after the sizes becomes one of `data`."""
    value = aff_from_mlir(expression, symbols)
    if value is not None:
        return _with_remainders(value)
    extent = symbols.extent(expression)
    if extent is not None:
        return index(extent)
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineSymbolExpr):
        return data[expression.position - len(symbols)]
    left, right = (mlir_to_expr(e, data, symbols) for e in (expression.lhs, expression.rhs))
    return _SCALAR[type(expression).__name__](left, right)


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
    if e.op == "size":
        symbol: Symbol = e.attr
        return affine.parameter(parameters.parameter((symbol,))) * symbol.multiple_of
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
