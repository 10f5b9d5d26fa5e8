"""Reads and writes across rows -> square tiles turned round in registers.

Before: `linalg.generic` on memrefs that reads `%A[j, i]` for `%C[i, j]`.
After: loops over square tiles; in each, `lanes` vectors of A are loaded, transposed by
`vector.shuffle` and stored to a tile on the stack, which the same generic reads along its rows.
Of what writes `%C[j, i]` from `%A[i, j]`, the generic makes the tile, which is turned behind it.
What is left at the two edges stays a generic on views.

Each cache line is then used whole while it is in the cache. log2(lanes) rounds of two-input
shuffles transpose a tile. (Source: J. Eklundh, A fast computer method for matrix transposing, IEEE
Transactions on Computers 1972.)
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.cpu.kernel_memory import on_stack
from ted.linalg.transposes import TransposedAccess, tile_side, transposed_accesses
from ted.machine import Cpu
from ted.mlir import ir, memref, vector
from ted.mlir.affine_forms import dims_used, substitute
from ted.mlir.building import Index, add, constant, loop
from ted.mlir.generic import Generic, set_maps, set_reductions
from ted.mlir.queries import position
from ted.records import dataclass

Line = tuple[ir.Value, list[ir.Value]]  # neighbours in memory, from an element on


@dataclass(frozen=True)
class Plan:
    """The side of a tile, and the loop along which the operands are contiguous that pass it."""

    size: int
    along: int
    reads: tuple[TransposedAccess, ...]


def plan_tiles(op: ir.Operation, cpu: Cpu) -> Plan | None:
    """The tiles of an element-wise generic on memrefs; None where nothing goes across rows."""
    reads = transposed_accesses(op, cpu)
    if not reads or not all(_has_unit_stride(op.operands[r.operand]) for r in reads):
        return None
    size = tile_side(op, reads, cpu)
    along = reads[0].along
    return Plan(size, along, tuple(r for r in reads if r.along == along))


def read_in_tiles(op: ir.Operation, plan: Plan) -> None:
    """Replace a generic by loops over tiles, at the insertion point."""
    _Tiling(op, plan.reads, plan.size).emit()
    op.erase()


def _has_unit_stride(value: ir.Value) -> bool:
    return ir.MemRefType(value.type).get_strides_and_offset()[0][-1] == 1


class _Tiling:
    """The rewrite of one generic; loop `rows` and the innermost loop are cut into tiles."""

    def __init__(self, op: ir.Operation, reads: Sequence[TransposedAccess], size: int) -> None:
        self.op = op
        self.size = size
        self.turned = {r.operand for r in reads}
        generic = Generic(op)
        assert generic.extents is not None, "a plan knows them"
        self.maps, self.extents = generic.maps, list(generic.extents)
        self.count_inputs = generic.count_inputs
        self.rows, self.columns = reads[0].along, len(self.extents) - 1

    def emit(self) -> None:
        """The tiles, then what is left below them and beside them."""
        rows, columns = self.extents[self.rows], self.extents[self.columns]
        whole_rows, whole_columns = rows - rows % self.size, columns - columns % self.size
        tiles = {k: self._tile(k) for k in self.turned}
        self._loops(list(range(len(self.extents))), {}, whole_rows, whole_columns, tiles)
        zero: list[Index] = [0] * len(self.extents)
        self._rest({self.rows: (whole_rows, rows)}, zero)
        self._rest({self.rows: (0, whole_rows), self.columns: (whole_columns, columns)}, zero)

    def _tile(self, operand: int) -> ir.Value:
        kind = ir.ShapedType(self.op.operands[operand].type).element_type
        tile = ir.MemRefType.get([self.size, self.size], kind)
        return on_stack(tile, self.op.block)

    def _loops(
        self,
        dims: list[int],
        at: dict[int, Index],
        whole_rows: int,
        whole_columns: int,
        tiles: dict[int, ir.Value],
    ) -> None:
        if not dims:
            self._one_tile([at[d] for d in range(len(self.extents))], tiles)
            return
        dim, *rest = dims
        ends = {self.rows: whole_rows, self.columns: whole_columns}
        end, step = (ends[dim], self.size) if dim in ends else (self.extents[dim], 1)
        loop(0, end, step, lambda i: self._loops(rest, {**at, dim: i}, whole_rows, whole_columns,
                                                 tiles))  # fmt: skip

    def _one_tile(self, at: list[Index], tiles: dict[int, ir.Value]) -> None:
        inputs = {k: tile for k, tile in tiles.items() if k < self.count_inputs}
        for operand, tile in inputs.items():
            self._turn(self._lines(operand, at), _rows(tile))
        sizes = [self.size if d in (self.rows, self.columns) else 1 for d in range(len(at))]
        self._clone(at, sizes, tiles)
        for operand, tile in tiles.items() - inputs.items():
            self._turn(_rows(tile), self._lines(operand, at))

    def _turn(self, sources: list[Line], targets: list[Line]) -> None:
        """Load a square by its lines, transpose, store it by others."""
        kind = ir.VectorType.get([self.size], ir.ShapedType(sources[0][0].type).element_type)
        lines: list[ir.Value] = [vector.LoadOp(kind, *source).result for source in sources]
        for line, target in zip(transposed(lines), targets, strict=True):
            vector.StoreOp(line, *target)

    def _lines(self, operand: int, at: list[Index]) -> list[Line]:
        """Where those of an operand begin, one for each column of a tile."""
        value, dims = self.op.operands[operand], [position(e) for e in self.maps[operand].results]
        return [
            (value, [constant(add(at[d], column if d == self.columns else 0)) for d in dims])
            for column in range(self.size)
        ]

    def _rest(self, bounds: dict[int, tuple[int, int]], at: list[Index]) -> None:
        """The generic on a rectangle that no tile covers."""
        starts, sizes = list(at), list(self.extents)
        for dim, (start, end) in bounds.items():
            starts[dim], sizes[dim] = start, end - start
        if min(sizes) > 0:
            self._clone(starts, sizes, {})

    def _clone(self, at: list[Index], sizes: list[int], tiles: dict[int, ir.Value]) -> None:
        """The generic on a rectangle of its loops, some operands replaced by tiles."""
        operands, maps = list(self.op.operands), list(self.maps)
        for k, value in enumerate(operands):
            if k in tiles:
                operands[k] = tiles[k]
                dims = [ir.AffineExpr.get_dim(d) for d in (self.rows, self.columns)]
                maps[k] = ir.AffineMap.get(len(self.extents), 0, dims)
            else:
                along = [position(e) for e in self.maps[k].results]
                operands[k] = _view(value, [at[d] for d in along], [sizes[d] for d in along])
        clone = self.op.clone().operation
        for k, operand in enumerate(operands):
            clone.operands[k] = operand
        # A loop that only a turned result has goes around the tiles, all of which are the same.
        left = sorted(set[int]().union(*(dims_used(*m.results) for m in maps)))
        moved = [ir.AffineExpr.get_dim(left.index(d) if d in left else 0) for d in range(len(at))]
        exprs = [[substitute(moved, e) for e in m.results] for m in maps]
        set_maps(clone, [ir.AffineMap.get(len(left), 0, e) for e in exprs])
        set_reductions(clone, [False] * len(left))


def _rows(tile: ir.Value) -> list[Line]:
    rows = ir.MemRefType(tile.type).shape[0]
    return [(tile, [constant(row), constant(0)]) for row in range(rows)]


def _view(value: ir.Value, offsets: list[Index], sizes: list[int]) -> ir.Value:
    if not offsets:
        return value
    return memref.subview(value, offsets, sizes, [1] * len(sizes))


def transposed(lines: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square of vectors, by rounds that exchange halves of growing width."""
    width = 1
    while width < len(lines):
        result = list(lines)
        lanes_ = range(len(lines))
        low = [k if not k & width else len(lines) + k - width for k in lanes_]
        high = [k + width if not k & width else len(lines) + k for k in lanes_]
        for k in lanes_:
            if not k & width:
                pair = lines[k], lines[k + width]
                result[k] = _shuffle(*pair, low)
                result[k + width] = _shuffle(*pair, high)
        lines = result
        width *= 2
    return lines


def _shuffle(a: ir.Value, b: ir.Value, mask: list[int]) -> ir.Value:
    return vector.ShuffleOp(a, b, ir.DenseI64ArrayAttr.get(mask)).result
