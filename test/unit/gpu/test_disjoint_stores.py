"""What is said of pieces of a memory, against a count of their elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.in_process import compile_here
from ted import dialects
from ted.gpu import output_tiles
from ted.gpu.disjoint_store_kernels import apart, why_no_cells
from ted.gpu.disjoint_stores import Piece, Pieces, pieces_from
from ted.gpu.output_tiles import MOST_ELEMENTS, fits_cells
from ted.gpu.strided_boxes import Region, Side
from ted.gpu.strided_footprints import footprints_of
from ted.mlir import ir
from ted.mlir.dependences import Dependences
from ted.mlir.queries import functions

SHAPE = (6, 5)
Place = tuple[int, ...]


@st.composite
def regions(draw: st.DrawFn) -> Region:
    """A part of a memory, or all of it."""
    found = []
    for dim, extent in enumerate(SHAPE):
        start, step = draw(st.integers(0, extent - 1)), draw(st.integers(1, 3))
        count = draw(st.integers(1, -(-(extent - start) // step)))
        found.append(Side(start, step, count, dim))
    if draw(st.booleans()):
        found = [Side(0, 1, extent, dim) for dim, extent in enumerate(SHAPE)]
    return Region("m", SHAPE, tuple(found))  # pyright: ignore[reportArgumentType]


def group(of: Sequence[Region]) -> Pieces:
    """Pieces of which only the places matter."""
    unknown: Any = None
    return Pieces(tuple(Piece(unknown, unknown, (0,), (region,)) for region in of), ())


def elements(region: Region) -> list[Place]:
    """The elements of a region, one by one."""
    return list(product(*(range(s.start, s.last + 1, s.step) for s in region.sides)))


@given(st.lists(regions(), min_size=1, max_size=4))
def test_pieces_are_what_their_elements_say(of: list[Region]) -> None:
    pieces = group(of)
    met = Counter(place for region in of for place in elements(region))
    is_twice, is_all = max(met.values()) > 1, len(met) == prod(SHAPE)
    assert not (pieces.is_disjoint and is_twice)
    assert not (pieces.is_covering and not is_all)
    assert pieces.is_chain == (pieces.is_disjoint or of[0].is_whole)
    assert pieces.is_covering or not (is_all and pieces.is_disjoint)
    for dim, cell in enumerate(pieces.cells):
        for side in (region.sides[dim] for region in of):
            inside = {
                p for p in range(SHAPE[dim]) if p in range(side.start, side.last + 1, side.step)
            }
            assert all((p + cell in inside) == (p in inside)
                       for p in range(side.start, side.last - cell + 1)
                       if side.extent > 1)  # fmt: skip


PARTS = {
    # What each operation writes; the cells of a group, and why pieces keep no kernels of their own.
    "turns": (["[0, 0] [6, 4] [1, 2]", "[0, 1] [6, 4] [1, 2]"], [1, 2], "pieces take turns"),
    "sides": (["[0, 0] [6, 3] [1, 1]", "[0, 3] [6, 5] [1, 1]"], [1, 1], None),
    "rows in turns": (["[0, 0] [3, 8] [2, 1]", "[1, 0] [3, 8] [2, 1]"], [2, 1], None),
    "some of a fill": (["fill", "[1, 1] [4, 6] [1, 1]"], [1, 1], "or leave some of a fill"),
    "all of a fill": (["fill", "[0, 0] [3, 8] [1, 1]", "[3, 0] [3, 8] [1, 1]"], [1, 1], None),
    "twice": (["[0, 0] [6, 5] [1, 1]", "[0, 3] [6, 5] [1, 1]"], [1, 1], "elements twice"),
    "a fill and its end": (["fill", "[0, 0] [6, 8] [1, 1]"], [1, 1], "all but one are fills"),
}


def written(parts: Sequence[str]) -> str:
    """A function that fills memory, or puts one value more into parts of it."""
    lines = []
    for k, part in enumerate(parts):
        if part == "fill":
            lines.append("linalg.fill ins(%c : f32) outs(%m : memref<6x8xf32>)")
            continue
        offsets, sizes, strides = ([int(n) for n in side.strip("[]").split(", ")]
                                   for side in part.split("] ["))  # fmt: skip
        start = offsets[0] * 8 + offsets[1]
        kind = (f"memref<{sizes[0]}x{sizes[1]}xf32, strided<[{8 * strides[0]}, {strides[1]}], "
                f"offset: {start}>>")  # fmt: skip
        view = f"%v{k} = memref.subview %m{part.replace('] [', '][')}"
        lines.append(f"""{view} : memref<6x8xf32> to {kind}
          linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>],
              iterator_types = ["parallel", "parallel"]}} outs(%v{k} : {kind}) {{
          ^bb0(%o: f32):
            linalg.yield %c : f32
          }}""")  # fmt: skip
    body = "\n".join(lines)
    return f"func.func @f(%m: memref<6x8xf32>, %c: f32) {{\n{body}\nreturn\n}}"


@pytest.mark.parametrize("case", PARTS)
def test_operations_on_parts_of_a_memory_are_one_group(case: str) -> None:
    parts, cells, why = PARTS[case]
    with dialects.session():
        module = ir.Module.parse(written(parts))
        (function,) = functions(module)
        block = function.entry_block
        known = Dependences(block, footprints_of)
        ops = [o.operation for o in block.operations if o.operation.name.startswith("linalg")]
        others = [o.operation for o in block.operations]
        later = others[others.index(ops[0]) + 1 :]
        found = pieces_from(ops[0], later, known, {}, lambda _: False)
        assert found is not None
        assert list(found.ops) == ops
        assert found.cells == cells
        alone = apart(found)
        if why is None:
            assert [op for op, _ in alone] == [op for op in ops if op.name != "linalg.fill"]
        else:
            assert isinstance(alone, str)
            assert why in alone
        assert (why_no_cells(found) is None) == fits_cells(found) == (case != "twice")
        del found, alone, ops, others, later, known, block, function


def turns(count: int) -> Pieces:
    """Columns in so many turns."""
    shape = (4, 4 * MOST_ELEMENTS)
    sides = [(Side(0, 1, 4, 0), Side(k, count, shape[1] // count, 1)) for k in range(count)]
    return group([Region("m", shape, s) for s in sides])  # pyright: ignore[reportArgumentType]


def test_cells_are_as_wide_as_a_thread_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_here(monkeypatch)
    monkeypatch.setattr(output_tiles, "_bytes_of_cell", lambda pieces: 8 * pieces.cells[-1])
    assert [turns(n).cells for n in (2, MOST_ELEMENTS, 2 * MOST_ELEMENTS)] == [
        [1, 2], [1, MOST_ELEMENTS], [1, 2 * MOST_ELEMENTS]
    ]  # fmt: skip
    assert fits_cells(turns(MOST_ELEMENTS))
    assert not fits_cells(turns(2 * MOST_ELEMENTS))
