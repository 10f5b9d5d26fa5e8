"""Between MLIR's affine expressions and those of `ted.domain`: constraints, sets, conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ted.domain import affine as plain
from ted.domain import conversion, sets
from ted.ir.affine_attributes import aff_from_mlir, aff_to_mlir
from ted.linalg.subdomain import Constraint
from ted.mlir import arith, ir
from ted.mlir.affine_forms import down
from ted.mlir.scalars import affine_value, all_of, index


def to_plain(expr: ir.AffineExpr) -> plain.Aff:
    """An affine expression over dims as a plain value."""
    value = aff_from_mlir(expr)
    assert value is not None, f"an expression without symbols is expected, got {expr}"
    return value


def from_plain(value: plain.Aff) -> ir.AffineExpr:
    """A plain value as an affine expression; remainders become `mod` again."""
    return down(aff_to_mlir(value))


def points(extents: tuple[int, ...], constraints: Iterable[Constraint] = ()) -> Any:
    """The isl set of the points of a box that satisfy the constraints."""
    rank = len(extents)
    conjunction = [plain.Constraint(to_plain(c.expr), c.is_equality) for c in constraints]
    box = sets.box(extents)
    return box.intersect(conversion.from_conjunctions(rank, [conjunction])) if conjunction else box


def constraints_from(conjunction: Iterable[plain.Constraint]) -> tuple[Constraint, ...]:
    """Constraints of the domain package as constraints of a subdomain."""
    return tuple(Constraint(from_plain(c.expression), c.equality) for c in conjunction)


def all_hold(constraints: Sequence[Constraint], dims: Sequence[ir.Value]) -> ir.Value:
    """The conjunction of one or more affine constraints."""
    zero = index(0)
    tests: list[ir.Value] = []
    for constraint in constraints:
        predicate = arith.CmpIPredicate.eq if constraint.is_equality else arith.CmpIPredicate.sge
        value = affine_value(constraint.expr, dims)
        tests.append(arith.CmpIOp(predicate, value, zero).result)
    return all_of(tests)
