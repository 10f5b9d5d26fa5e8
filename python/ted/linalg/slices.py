"""Slices of tensors that an access touches: reads of the exact hull, the written part of a result.

`linalg` infers loop extents from operand shapes, so every operand is cut to what its map reaches
and the map then starts at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ted.linalg.subdomain import Read, Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import down, linear, single_dim
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import shape_of
from ted.mlir.storage import Offset, is_memory, part, with_part
from ted.records import dataclass

Item = TypeVar("Item")


@dataclass(frozen=True)
class Operand:
    """A tensor and the indexing-map results with which a `linalg` operation reads it."""

    value: ir.Value
    subscripts: tuple[ir.AffineExpr, ...]


def is_plain(read: Read | None) -> bool:
    """Whether indexing maps can express the read: unguarded, linear, no dim counted backwards."""
    if read is None or read.guard:
        return False
    forms = [linear(e) for e in read.subscripts]
    return all(form is not None and all(f > 0 for _, f in form.terms) for form in forms)


def read_hull(read: Read, extents: tuple[int, ...]) -> Operand:
    """Cut the tensor of a plain read to the hull; a strided single dim becomes a stride."""
    offsets, sizes, strides, subscripts = [], [], [], []
    for expr in read.subscripts:
        low, high = value_range(expr, extents)
        alone = single_dim(expr)
        offsets.append(low)
        if alone is None:
            strides.append(1)
            sizes.append(high - low + 1)
            subscripts.append(down(expr - low))
            continue
        dim, factor, _ = alone
        strides.append(max(factor, 1))
        sizes.append(extents[dim] if dim >= 0 else 1)
        subscripts.append(ir.AffineExpr.get_dim(dim) if dim >= 0 else ir.AffineExpr.get_constant(0))
    # Dims of size one that no loop moves along are dropped, so that maps stay projections.
    kept = [k for k, e in enumerate(subscripts) if not isinstance(e, ir.AffineConstantExpr)]
    value = extract_slice(read.tensor, offsets, sizes, strides, kept)
    return Operand(value, tuple(subscripts[k] for k in kept))


def extract_slice(
    source: ir.Value,
    offsets: Sequence[Offset],
    sizes: Sequence[int],
    strides: Sequence[int],
    kept: Sequence[int] | None = None,
) -> ir.Value:
    """A slice with only the `kept` dims; the tensor itself when that is known to be all of it."""
    kept = range(len(sizes)) if kept is None else kept
    if _is_known(offsets) and len(kept) == len(sizes) and tuple(sizes) == shape_of(source):
        return source
    return part(source, offsets, sizes, strides, kept)


def insert_slice(
    made: ir.Value,
    into: ir.Value,
    offsets: Sequence[Offset],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> ir.Value:
    """The inverse of `extract_slice`."""
    if not is_memory(into) and _is_known(offsets) and made.type == into.type:
        return made
    return with_part(made, into, offsets, sizes, strides)


def along(
    shape: Sequence[int], axis: int, at: Offset, size: int = 1
) -> tuple[list[Offset], list[int], list[int]]:
    """Offsets, sizes and strides of some places of one dim, and all of the others."""
    offsets: list[Offset] = [0] * len(shape)
    sizes = list(shape)
    offsets[axis], sizes[axis] = at, size
    return offsets, sizes, [1] * len(shape)


def slice_at(source: ir.Value, axis: int, at: Offset) -> ir.Value:
    """The tensor at one place of a dim, without the dim."""
    shape = shape_of(source)
    kept = [k for k in range(len(shape)) if k != axis]
    return extract_slice(source, *along(shape, axis, at), kept)


def put_at(part: ir.Value, whole: ir.Value, axis: int, at: Offset) -> ir.Value:
    """The inverse of `slice_at`, which of memory is written in place."""
    return whole if is_memory(whole) else with_slice(part, whole, axis, at)


def with_slice(part: ir.Value, whole: ir.Value, axis: int, at: Offset) -> ir.Value:
    """A tensor, or memory, with another slice."""
    return insert_slice(part, whole, *along(shape_of(whole), axis, at))


def _is_known(offsets: Sequence[Offset]) -> bool:
    return all(isinstance(offset, int) for offset in offsets)


@dataclass(frozen=True)
class WrittenSlice:
    """The strided rectangle of a result that a subdomain writes; `dims[k]` moves along dim k."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dims: tuple[int, ...]  # -1: a constant subscript

    @property
    def kept(self) -> list[int]:
        """The dims of the result that the slice has."""
        return [k for k, dim in enumerate(self.dims) if dim >= 0]

    @property
    def subscripts(self) -> list[ir.AffineExpr]:
        """Indexing-map results of the slice."""
        return [ir.AffineExpr.get_dim(dim) for dim in self.dims if dim >= 0]

    def of(self, result: ir.Value) -> ir.Value:
        """The slice of a result."""
        return extract_slice(result, self.offsets, self.sizes, self.strides, self.kept)

    def back_into(self, part: ir.Value, result: ir.Value) -> ir.Value:
        """The result with the slice replaced, which in memory it is."""
        if is_memory(result):
            return result
        return insert_slice(part, result, self.offsets, self.sizes, self.strides)


def written_slice(subdomain: Subdomain) -> WrittenSlice | None:
    """The written rectangle, when each parallel dim moves along exactly one result dim."""
    alone = [single_dim(e) for e in subdomain.write]
    if subdomain.writes_at_data or any(a is None or a[1] < 0 for a in alone):
        return None
    dims = [a[0] for a in alone if a is not None]
    moving = [d for d in dims if d >= 0]
    if sorted(moving) != subdomain.parallel_dims:
        return None
    return WrittenSlice(
        offsets=tuple(a[2] for a in alone if a is not None),
        sizes=tuple(subdomain.extents[d] if d >= 0 else 1 for d in dims),
        strides=tuple(max(a[1], 1) for a in alone if a is not None),
        dims=tuple(dims),
    )


def without(items: tuple[Item, ...], at: int) -> tuple[Item, ...]:
    """A tuple without one of its items."""
    return (*items[:at], *items[at + 1 :])
