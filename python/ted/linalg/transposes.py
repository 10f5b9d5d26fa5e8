"""Element-wise generics that read a tensor across its rows: found by their maps alone.

The innermost loop runs along the result; a read whose contiguous dim is another loop touches a
cache line for each element. Both loops must be long enough for a square tile of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.queries import count_inputs, position


@dataclass(frozen=True)
class TransposedRead:
    """Operand `operand` is contiguous along loop `along`, not along the innermost loop."""

    operand: int
    along: int


def transposed_reads(op: ir.Operation, cpu: Cpu) -> list[TransposedRead]:
    """The transposed reads of an element-wise `linalg.generic`; none if it has another form."""
    if op.name != "linalg.generic":
        return []
    kinds = [str(a) for a in ir.ArrayAttr(op.attributes["iterator_types"])]
    maps = indexing_maps(op)
    rank = len(kinds)
    if rank < 2 or any("parallel" not in k for k in kinds) or not all(map(_is_projection, maps)):
        return []
    if any(o.operation.name == "linalg.index" for o in op.regions[0].blocks[0].operations):
        return []
    extents = loop_extents(op, maps)
    return [
        TransposedRead(k, along)
        for k, m in enumerate(maps[: count_inputs(op)])
        if (along := _contiguous_dim(m)) is not None
        and rank - 1 in _dims(m)
        and along != rank - 1
        and min(extents[along], extents[rank - 1]) >= lanes(op.operands[k], cpu)
    ]


def lanes(value: ir.Value, cpu: Cpu) -> int:
    """Elements of a tensor or memref in one register; more than any extent if it has no bytes."""
    bits = getattr(ir.ShapedType(value.type).element_type, "width", 1)
    return cpu.lanes(bits // 8) if bits >= 8 else 1 << 62


def _dims(amap: ir.AffineMap) -> list[int]:
    return [position(e) for e in amap.results]


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap]:
    """The indexing maps of a generic."""
    return [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])]


def _is_projection(amap: ir.AffineMap) -> bool:
    results = list(amap.results)
    if not all(isinstance(e, ir.AffineDimExpr) for e in results):
        return False
    return len({position(e) for e in results}) == len(results)


def _contiguous_dim(amap: ir.AffineMap) -> int | None:
    dims = _dims(amap)
    return dims[-1] if dims else None


def loop_extents(op: ir.Operation, maps: list[ir.AffineMap]) -> list[int]:
    """Extents of the loops of a generic whose maps are projections."""
    extents = [0] * maps[0].n_dims
    for value, amap in zip(op.operands, maps, strict=True):
        for extent, expr in zip(ir.ShapedType(value.type).shape, amap.results, strict=True):
            extents[position(expr)] = extent
    return extents
