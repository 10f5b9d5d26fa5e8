"""The index sets of a `ted.compute`, read out of its attributes: domain, accesses, names.

Passes that prove something about an op as it stands (bounds, counts, disjoint writes) start here;
passes that rewrite work on equations instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ted.dialects.ted import ComputeOp
from ted.domain import affine, conversion, sets
from ted.domain.affine import Aff, Constraint
from ted.errors import SourceLocation
from ted.ir.locations import source_location, user_name
from ted.mlir import ir


@dataclass(frozen=True)
class Access:
    """A read or a write: what it is, its tensor, subscripts, and the points where it is made.

    A subscript is None when it is data.
    """

    label: str
    tensor: str
    shape: tuple[int, ...]
    subscripts: tuple[Aff | None, ...]
    points: Any  # isl set
    is_box: bool  # every point of the box


@dataclass(frozen=True)
class ComputeSets:
    """The sets of one op; dims are positional, in the order of the iterators."""

    op: ComputeOp

    @property
    def box(self) -> tuple[int, ...]:
        """The extents."""
        return self.op.box

    @cached_property
    def parallel(self) -> tuple[int, ...]:
        """The positions of the parallel dims."""
        return tuple(k for k, kind in enumerate(self.op.iterator_kinds) if kind == "parallel")

    @cached_property
    def is_box(self) -> bool:
        """Whether the domain is written without constraints."""
        return not constraints(self.op.domain_set)

    @cached_property
    def domain(self) -> Any:
        """The points that take part."""
        return sets.box(self.box).intersect(set_of(self.op.domain_set, len(self.box)))

    @cached_property
    def write(self) -> Access:
        """Where the results are written."""
        value = self.op.results[0]
        name = name_of(value) or "of the result"
        subscripts = subscripts_of(self.op.write_map)
        return Access("write", name, shape_of(value), subscripts, self.domain, self.is_box)

    def reads(self) -> Iterator[Access]:
        """The affine reads in the order of the operands."""
        op = self.op
        for k, (value, read, guard) in enumerate(
            zip(op.inputs, op.read_maps, op.guard_sets, strict=True)
        ):
            is_box = self.is_box and not constraints(guard)
            points = self.domain if is_box else self.domain.intersect(set_of(guard, len(self.box)))
            name = name_of(value) or f"of operand {k}"
            subscripts = subscripts_of(read)
            yield Access(f"read {k}", name, shape_of(value), subscripts, points, is_box)

    @property
    def place(self) -> SourceLocation | None:
        """The user's line."""
        return source_location(self.op.location)


def computes(module: ir.Module | ir.Operation) -> list[ComputeOp]:
    """Every `ted.compute` below an op, in order."""
    found: list[ComputeOp] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "ted.compute":
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    operation = module.operation if isinstance(module, ir.Module) else module
    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    return tuple(ir.RankedTensorType(value.type).shape)


# ------------------------------------------------------------------ MLIR -> domain


_COMBINE: dict[str, Callable[[Aff, Aff], Aff]] = {
    "AffineAddExpr": lambda a, b: a + b,
    "AffineMulExpr": lambda a, b: a * b.const if b.is_constant else b * a.const,
    "AffineFloorDivExpr": lambda a, b: a // b.const,
    "AffineCeilDivExpr": lambda a, b: -(-a // b.const),
    "AffineModExpr": lambda a, b: a % b.const,
}


def aff_of(expr: Any) -> Aff | None:
    """A quasi-affine expression as a plain one; None when it contains a symbol."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return affine.constant(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return affine.dim(expr.position)
    if isinstance(expr, ir.AffineSymbolExpr):
        return None
    left, right = aff_of(expr.lhs), aff_of(expr.rhs)
    if left is None or right is None:
        return None
    return _COMBINE[type(expr).__name__](left, right)


def subscripts_of(affine_map: ir.AffineMap) -> tuple[Aff | None, ...]:
    """The results of a map."""
    return tuple(aff_of(result) for result in affine_map.results)


def constraints(integer_set: ir.IntegerSet) -> list[Constraint]:
    """The constraints of a set that do not hold everywhere by their form."""
    found = []
    for constraint in integer_set.constraints:
        value = aff_of(constraint.expr)
        assert value is not None, "sets of ted.compute have no symbols"
        made = Constraint(value, constraint.is_eq)
        if not (value.is_constant and made.holds(())):
            found.append(made)
    return found


def set_of(integer_set: ir.IntegerSet, rank: int) -> Any:
    """A set as an isl set over `rank` dims."""
    return conversion.from_conjunctions(rank, [constraints(integer_set)])


def to_isl(subscripts: Sequence[Aff], rank: int) -> list[Any]:
    """Subscripts as isl functions."""
    return [conversion.to_piecewise(value, rank) for value in subscripts]


# ------------------------------------------------------------------ names


def name_of(value: ir.Value) -> str | None:
    """The user's name of a tensor, from its location."""
    return user_name(
        value.location if isinstance(value, ir.BlockArgument) else value.owner.location
    )
