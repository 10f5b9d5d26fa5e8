"""The index sets of a `ted.compute`, read out of its attributes: domain, accesses, names.

Passes that prove something about an op as it stands (bounds, counts, disjoint writes) start here;
passes that rewrite work on equations instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.dialects.ted import ComputeOp, ScanOp
from ted.domain import conversion, parameters
from ted.domain.affine import Aff
from ted.domain.sizes import Extent
from ted.errors import SourceLocation
from ted.forking import cached_property
from ted.ir.affine_attributes import aff_from_mlir, constraints_from_mlir, set_from_mlir
from ted.ir.symbols import NONE, Symbols, symbols_of_function
from ted.mlir import ir
from ted.mlir.locations import dim_names, source_location, user_name
from ted.records import dataclass


@dataclass(frozen=True)
class Access:
    """A read or a write: what it is, its tensor, subscripts, and the points where it is made.

    A subscript is None when it is data. Most accesses are known without their points.
    """

    label: str
    tensor: str
    shape: tuple[Extent, ...]
    subscripts: tuple[Aff | None, ...]
    is_box: bool  # every point of the box
    made: Callable[[], Any]  # gives the points

    @cached_property
    def points(self) -> Any:
        """Where it is made, an isl set."""
        return self.made()


@dataclass(frozen=True)
class ComputeSets:
    """The sets of one op; dims are positional, in the order of the iterators."""

    op: ComputeOp

    @cached_property
    def symbols(self) -> Symbols:
        """The symbolic sizes of the function around the op."""
        return symbols_around(self.op.operation)

    @cached_property
    def box(self) -> tuple[Extent, ...]:
        """The extents."""
        sizes = self.op.symbolic_box
        return self.op.box if sizes is None else self.symbols.evaluated(sizes)

    @cached_property
    def parallel(self) -> tuple[int, ...]:
        """The positions of the parallel dims."""
        return tuple(k for k, kind in enumerate(self.op.iterator_kinds) if kind == "parallel")

    @cached_property
    def is_box(self) -> bool:
        """Whether the domain is written without constraints."""
        return not constraints_from_mlir(self.domain_set, self.symbols)

    @cached_property
    def domain_set(self) -> ir.IntegerSet:
        """The domain as it is written."""
        return self.op.domain_set

    @cached_property
    def guard_sets(self) -> Sequence[ir.IntegerSet]:
        """The guards of the reads as they are written."""
        return self.op.guard_sets

    @cached_property
    def domain(self) -> Any:
        """The points that take part."""
        points = set_from_mlir(self.domain_set, self.symbols)
        return parameters.box(self.box).intersect(points)

    @cached_property
    def write(self) -> Access:
        """Where the results are written."""
        value = self.op.results[0]
        name = name_of(value) or "of the result"
        subscripts = subscripts_of(self.op.write_map, self.symbols)
        return Access(
            "write", name, self.shape_of(value), subscripts, self.is_box, lambda: self.domain
        )

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """The affine reads in the order of the operands."""
        given = zip(self.op.inputs, self.op.read_maps, self.guard_sets, strict=True)
        return tuple(self._read(k, *one) for k, one in enumerate(given))

    def _read(self, k: int, value: ir.Value, read: ir.AffineMap, guard: ir.IntegerSet) -> Access:
        def made() -> Any:
            if is_box:
                return self.domain
            return self.domain.intersect(set_from_mlir(guard, self.symbols))

        is_box = self.is_box and not constraints_from_mlir(guard, self.symbols)
        name = name_of(value) or f"of operand {k}"
        subscripts = subscripts_of(read, self.symbols)
        return Access(f"read {k}", name, self.shape_of(value), subscripts, is_box, made)

    def shape_of(self, value: ir.Value) -> tuple[Extent, ...]:
        """The shape of a tensor value."""
        return self.symbols.shape(ir.RankedTensorType(value.type))

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
    """Every `ted.scan` below an op that is in no step of another one, in order."""
    return [op for op in _below(module, "ted.scan") if op.operation.parent.name != "ted.scan"]


def _below(module: ir.Module | ir.Operation, name: str) -> list[Any]:
    found: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    operation = module.operation if isinstance(module, ir.Module) else module
    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def symbols_around(op: ir.Operation) -> Symbols:
    """The symbolic sizes of the function that an op stands in."""
    around: Any = op
    while around is not None and around.operation.name != "func.func":
        around = around.operation.parent
    return NONE if around is None else symbols_of_function(around.operation)


# ------------------------------------------------------------------ MLIR -> domain


def subscripts_of(affine_map: ir.AffineMap, symbols: Symbols) -> tuple[Aff | None, ...]:
    """The results of a map; None for one that uses a symbol that is no size."""
    return tuple(aff_from_mlir(result, symbols) for result in affine_map.results)


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
