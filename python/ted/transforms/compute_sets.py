"""The index sets of a `ted.compute`, read out of its attributes: domain, accesses, names.

Passes that prove something about an op as it stands (bounds, counts, disjoint writes) start here;
passes that rewrite work on equations instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ted.dialects.ted import ComputeOp, ScanOp
from ted.domain import conversion, sets
from ted.domain.affine import Aff
from ted.errors import SourceLocation
from ted.ir.affine_attributes import aff_from_mlir, constraints_from_mlir, set_from_mlir
from ted.ir.locations import dim_names, source_location, user_name
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
        return not constraints_from_mlir(self.op.domain_set)

    @cached_property
    def domain(self) -> Any:
        """The points that take part."""
        return sets.box(self.box).intersect(set_from_mlir(self.op.domain_set))

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
            is_box = self.is_box and not constraints_from_mlir(guard)
            points = self.domain if is_box else self.domain.intersect(set_from_mlir(guard))
            name = name_of(value) or f"of operand {k}"
            subscripts = subscripts_of(read)
            yield Access(f"read {k}", name, shape_of(value), subscripts, points, is_box)

    @property
    def dim_names(self) -> tuple[str, ...]:
        """The user's names of the dims, as far as known."""
        given = dim_names(self.op.location)
        if len(given) == len(set(given)) == len(self.box):
            return given
        return tuple(f"d{k}" for k in range(len(self.box)))

    @property
    def place(self) -> SourceLocation | None:
        """The user's line."""
        return source_location(self.op.location)


def computes(module: ir.Module | ir.Operation) -> list[ComputeOp]:
    """Every `ted.compute` below an op, in order."""
    return _below(module, "ted.compute")


def scans(module: ir.Module | ir.Operation) -> list[ScanOp]:
    """Every `ted.scan` below an op, in order."""
    return _below(module, "ted.scan")


def _below(module: ir.Module | ir.Operation, name: str) -> list[Any]:
    found: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    operation = module.operation if isinstance(module, ir.Module) else module
    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    return tuple(ir.RankedTensorType(value.type).shape)


# ------------------------------------------------------------------ MLIR -> domain


def subscripts_of(affine_map: ir.AffineMap) -> tuple[Aff | None, ...]:
    """The results of a map; None for one that uses a symbol."""
    return tuple(aff_from_mlir(result) for result in affine_map.results)


def to_isl(subscripts: Sequence[Aff], rank: int) -> list[Any]:
    """Subscripts as isl functions."""
    return [conversion.to_piecewise(value, rank) for value in subscripts]


# ------------------------------------------------------------------ names


def name_of(value: ir.Value) -> str | None:
    """The user's name of a tensor, from its location."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "ted.scan":
        number = ir.OpResult(value).result_number
        return name_of(owner.regions[0].blocks[0].arguments[number])
    return user_name(value.location if isinstance(owner, ir.Block) else owner.location)
