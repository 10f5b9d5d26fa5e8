"""Tiles and gathers of linalg and tensor, and what is kept where -> reads at other subscripts.

Before: linalg.pack %x inner_dims_pos = [0] inner_tiles = [4]    After: y[i, j] = x[4 i + j]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.dtypes import INDEX
from ted.ir.equations import Tensor, identity_dims
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.raising.float_bits import bits_as
from ted.raising.reading import Reader
from ted.raising.scatters import Windows, written
from ted.raising.values import Value, element, made, over_box, type_of, unraisable
from ted.records import dataclass


def _numbers(op: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else []


def _shape(value: ir.Value, op: ir.Operation) -> tuple[int, ...]:
    return type_of(value.type, op.location, op.name)[0]


@dataclass(frozen=True)
class _Tiles:
    """Which dims of a tensor are cut in tiles, of which sizes, and the order of the outer dims."""

    rank: int
    cut: Sequence[int]
    sizes: Sequence[int]
    order: Sequence[int]

    @staticmethod
    def of(op: ir.Operation, rank: int) -> _Tiles:
        """Those of an op.

        Raises: VerifyError for tiles that are data.
        """
        cut, sizes = _numbers(op, "inner_dims_pos"), _numbers(op, "static_inner_tiles")
        if min(sizes, default=1) < 1:
            raise unraisable(op, f"tiles must be static, got {sizes}")
        order = _numbers(op, "outer_dims_perm") or list(range(rank))
        return _Tiles(rank, cut, sizes, order)

    def whole(self, packed: Sequence[Expr]) -> list[Expr]:
        """The subscripts that those of the packed tensor stand for."""
        found: list[Expr] = []
        for d in range(self.rank):
            outer = packed[self.order.index(d)]
            if d in self.cut:
                k = self.cut.index(d)
                tile = scalar.mul(outer, scalar.index(self.sizes[k]))
                outer = scalar.add(tile, packed[self.rank + k])
            found.append(outer)
        return found

    def packed(self, whole: Sequence[Expr]) -> list[Expr]:
        """The subscripts in the packed tensor."""
        sizes = [self.sizes[self.cut.index(d)] if d in self.cut else 1 for d in range(self.rank)]
        outer = [scalar.floordiv(whole[d], scalar.index(sizes[d])) for d in self.order]
        inner = (
            scalar.mod(whole[d], scalar.index(n)) for d, n in zip(self.cut, self.sizes, strict=True)
        )
        return [*outer, *inner]


def pack(reader: Reader, op: ir.Operation) -> list[Value]:
    """The elements in tiles; what stands behind the last is the padding value.

    Raises: VerifyError for tiles that are data.
    """
    source, (_, *rest) = op.operands[0], list(op.operands)[1:]
    given = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    padding = reader.scalar(rest[0]) if list(given)[2] else None
    tensor, extents, shape = reader.tensor(source), _shape(source, op), _shape(op.results[0], op)
    at = identity_dims(len(shape))
    whole = _Tiles.of(op, len(extents)).whole(at)
    body = scalar.load(tensor, whole)
    if padding is not None:
        inside = scalar.TRUE
        for index, extent in zip(whole, extents, strict=True):
            inside = scalar.land(inside, scalar.compare("lt", index, scalar.index(extent)))
        body = scalar.select(inside, body, padding)
    return [made(op, 0, None, over_box(op, shape, body))]


def unpack(reader: Reader, op: ir.Operation) -> list[Value]:
    """The elements of tiles in their places.

    Raises: VerifyError for tiles that are data.
    """
    tensor, shape = reader.tensor(op.operands[0]), _shape(op.results[0], op)
    at = identity_dims(len(shape))
    body = scalar.load(tensor, _Tiles.of(op, len(shape)).packed(at))
    return [made(op, 0, None, over_box(op, shape, body))]


# ------------------------------------------------------------------ gathers and scatters


def gather(reader: Reader, op: ir.Operation) -> list[Value]:
    """Slices at coordinates that are data; one outside is an error when the program runs.

    Raises: VerifyError for a slice of another rank.
    """
    tensor, indices = (wrap(reader.tensor(v)) for v in op.operands)
    dims, shape = _numbers(op, "gather_dims"), _shape(op.results[0], op)
    points = indices.ndim - 1
    at = identity_dims(len(shape))
    read = [
        scalar.cast(scalar.load(indices.node, [*at[:points], scalar.index(k)]), INDEX)
        for k in range(len(dims))
    ]
    window = iter(_window(op, tensor.ndim, dims, at[points:]))
    places = [read[dims.index(d)] if d in dims else next(window) for d in range(tensor.ndim)]
    body = scalar.load(tensor.node, places)
    return [made(op, 0, None, over_box(op, shape, body))]


def _window(op: ir.Operation, rank: int, dims: Sequence[int], at: Sequence[Any]) -> list[Any]:
    """The subscripts of a slice along the dims that no coordinate has."""
    if len(at) == rank:
        return [at[d] for d in range(rank) if d not in dims]
    if len(at) != rank - len(dims):
        raise unraisable(op, f"a slice must have {rank} or {rank - len(dims)} dims, got {len(at)}")
    return list(at)


def scattered(reader: Reader, op: ir.Operation) -> list[Value]:
    """Slices put at coordinates that are data.

    Raises: VerifyError for a slice of another rank.
    """
    source, target, indices = (wrap(reader.tensor(v)) for v in op.operands)
    dims, points = _numbers(op, "scatter_dims"), indices.ndim - 1
    places = list(range(points, source.ndim))
    kept = _window(op, target.ndim, dims, places)
    others = [d for d in range(target.ndim) if d not in dims]

    def start(point: Sequence[Any], component: int) -> Any:
        return indices[(*point[:points], component)]

    window = dict(zip(kept, others, strict=True))
    return written(Windows(target, source, window, dims, start, {}), "set", "check")


# ------------------------------------------------------------------ what is kept where


def allocated(reader: Reader, op: ir.Operation) -> list[Value]:
    """A tensor of its own: a copy, or one that nobody has written."""
    copies = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[1]
    return [reader.value(op.operands[0]) if copies else made(op, 0, None)]


def put(reader: Reader, op: ir.Operation) -> list[Value]:
    """The source of `materialize_in_destination`."""
    return [reader.value(op.operands[0])]


def poison(_: Reader, op: ir.Operation) -> list[Value]:
    """Zero stands for what is not defined."""
    dtype = type_of(op.results[0].type, op.location, op.name)[1]
    is_tensor = isinstance(op.results[0].type, ir.RankedTensorType)
    return [made(op, 0, None) if is_tensor else scalar.const(0, dtype)]


def same_bits(reader: Reader, op: ir.Operation) -> list[Value]:
    """The same bits in another type."""
    value, shape = reader.value(op.operands[0]), _shape(op.results[0], op)
    _, dtype = type_of(op.results[0].type, op.location, op.name)
    assert isinstance(value, Tensor), "tensors are bit-cast here"
    body = bits_as(element(value, identity_dims(len(shape))), dtype)
    return [made(op, 0, None, over_box(op, shape, body))]


RULES = {
    "bufferization.alloc_tensor": allocated,
    "bufferization.materialize_in_destination": put,
    "linalg.pack": pack,
    "linalg.unpack": unpack,
    "tensor.bitcast": same_bits,
    "tensor.gather": gather,
    "tensor.scatter": scattered,
    "ub.poison": poison,
}
