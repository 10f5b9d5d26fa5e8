"""The tile of registers that hold matrices: sums stay in them over the whole reduction.

Before: `C[m, n] += A[m, p] * B[p, n]` of pairs for one tile. After: a loop over p, 16 pairs a step,
whose body reads the matrices of A's rows and of B's lanes and multiplies each with each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ted.cpu.microkernel import Pointer, Tile, extents_of
from ted.mlir import matrix_registers
from ted.mlir.building import Index, loop
from ted.mlir.matrix_registers import SIDE, Matrix, Shape


def configure(tile: Tile, memory: Pointer) -> None:
    """Give all registers the shapes that the tile needs; see `matrix_registers.configure`."""
    depth = tile.pairs
    assert depth is not None, "a tile of matrices"
    rows, lanes = _parts(tile.rows), _parts(tile.lanes.count)
    shapes = {
        _sum(tile, i, j): Shape(row, lane)
        for (i, row), (j, lane) in product(enumerate(rows), enumerate(lanes))
    }
    shapes |= {_left(tile, i): Shape(row, depth.extent) for i, row in enumerate(rows)}
    shapes |= {_right(tile, j): Shape(depth.extent, lane) for j, lane in enumerate(lanes)}
    matrix_registers.configure(shapes, memory.memory)


def multiply_matrices(
    tile: Tile, a: Pointer, b: Pointer, c: Pointer, first_extent: Index | None = None
) -> None:
    """Emit the tile; `first_extent` replaces the extent of the outermost reduction dim."""
    extents = extents_of(tile.reduction, first_extent)
    for register, matrix in _sums(tile, c):
        if tile.starts_at_zero:
            matrix_registers.clear(register)
        else:
            matrix_registers.load(register, matrix)

    def steps(depth: int, a: Pointer, b: Pointer) -> None:
        if depth == len(extents):
            _step(tile, a, b)
            return
        dim = tile.reduction[depth]
        loop(
            0, extents[depth], 1,
            lambda k: steps(depth + 1, a.advance(k, dim.a), b.advance(k, dim.b)),
        )  # fmt: skip

    steps(0, a, b)
    for register, matrix in _sums(tile, c):
        matrix_registers.store(register, matrix)


def _step(tile: Tile, a: Pointer, b: Pointer) -> None:
    """One product of matrices for each register of sums."""
    assert tile.pairs is not None, "a tile of matrices"
    rows, lanes = range(len(_parts(tile.rows))), range(len(_parts(tile.lanes.count)))
    for i in rows:
        place = a.advance(i * SIDE, tile.rows_a)
        matrix_registers.load(_left(tile, i), Matrix(place.memory, place.offset, tile.rows_a))
    for j in lanes:
        place = b.advance(j * SIDE)
        matrix_registers.load(_right(tile, j), Matrix(place.memory, place.offset, tile.pairs.b))
        for i in rows:
            matrix_registers.multiply_add(_sum(tile, i, j), _left(tile, i), _right(tile, j))


def _sums(tile: Tile, c: Pointer) -> Iterator[tuple[int, Matrix]]:
    """The registers of sums, and where they belong."""
    for i, j in product(range(len(_parts(tile.rows))), range(len(_parts(tile.lanes.count)))):
        place = c.advance(i * SIDE, tile.rows_c).advance(j * SIDE)
        yield _sum(tile, i, j), Matrix(place.memory, place.offset, tile.rows_c)


def _parts(extent: int) -> list[int]:
    """What each register holds of so many rows or lanes."""
    return [min(SIDE, extent - start) for start in range(0, extent, SIDE)]


def _sum(tile: Tile, row: int, lane: int) -> int:
    return row * len(_parts(tile.lanes.count)) + lane


def _left(tile: Tile, row: int) -> int:
    return len(_parts(tile.rows)) * len(_parts(tile.lanes.count)) + row


def _right(tile: Tile, lane: int) -> int:
    return _left(tile, len(_parts(tile.rows))) + lane
