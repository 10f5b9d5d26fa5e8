"""Where tiles lie in shared memory: every place once, and no two lanes in one group of banks."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ted.gpu.templates.kernels import Memory
from ted.gpu.templates.panels import Panel
from ted.gpu.templates.simt import LANES
from ted.gpu.templates.tiles import TileShape

# (rows, depth, bytes of an element, along k) of what the planner's tiles make.
PANELS = [
    (128, 32, 2, True), (64, 32, 2, True), (32, 32, 2, True), (256, 64, 2, True),
    (256, 32, 2, False), (128, 32, 2, False), (64, 32, 2, False), (32, 32, 2, False),
    (128, 16, 4, True), (64, 16, 4, True), (32, 32, 4, True),
]  # fmt: skip


def panel(rows: int, depth: int, size: int, along_k: bool, **options: bool) -> Panel:
    memory = Memory(cast(Any, None), cast(Any, None), size)
    return Panel(memory, rows, depth, along_k, **options)


def place(found: Panel, line: int, element: int) -> int:
    at = found.offset(line, element)
    assert isinstance(at, int)
    return at


def groups(found: Panel, places: list[int]) -> set[int]:
    """Which of the eight groups of four banks hold these 16-byte chunks."""
    return {at * found.memory.bytes // 16 % 8 for at in places}


@pytest.mark.parametrize("shape", PANELS, ids=str)
def test_each_element_has_a_place_of_its_own(shape: tuple[int, int, int, bool]) -> None:
    found = panel(*shape)
    lines = shape[0] * shape[1] // found.line
    places = {place(found, line, e) for line in range(lines) for e in range(found.line)}
    assert places == set(range(shape[0] * shape[1]))


@pytest.mark.parametrize("shape", PANELS, ids=str)
def test_eight_lines_at_one_chunk_lie_in_different_banks(
    shape: tuple[int, int, int, bool],
) -> None:
    found = panel(*shape)
    lines = shape[0] * shape[1] // found.line
    for first in range(0, lines, 8):
        for element in range(0, found.line, found.chunk):
            places = [place(found, first + k, element) for k in range(8)]
            assert len(groups(found, places)) == 8


@pytest.mark.parametrize("shape", PANELS, ids=str)
def test_eight_neighbouring_threads_write_to_different_banks(
    shape: tuple[int, int, int, bool],
) -> None:
    found = panel(*shape)
    runs = TileShape(shape[0], shape[1], found.chunk, shape[3], 128)
    for first in range(0, 128, 8):
        chunks = []
        for thread in range(first, first + 8):
            row, k = cast("tuple[int, int]", runs.places(thread)[0])
            chunks.append(place(found, row, k) if shape[3] else place(found, k, row))
        assert len(groups(found, chunks)) == 8


@pytest.mark.parametrize("rows", [32, 64, 128])
def test_single_elements_of_tf32_are_read_from_all_banks(rows: int) -> None:
    found = panel(rows, 16, 4, False, spread=True)
    places = [place(found, own, group) for own in range(4) for group in range(8)]
    assert len({at % 32 for at in places}) == 32


def test_the_lanes_of_a_warp_cover_its_tile() -> None:
    assert LANES[0] * LANES[1] == 32


@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize(("rows", "depth", "width", "threads"), [
    (128, 32, 8, 128), (128, 32, 1, 256), (32, 32, 8, 128), (64, 8, 4, 128), (32, 16, 1, 64),
    (256, 64, 8, 128),
])  # fmt: skip
def test_threads_fetch_each_run_once(
    rows: int, depth: int, width: int, threads: int, along_k: bool
) -> None:
    shape = TileShape(rows, depth, width, along_k, threads)
    found = [run for thread in range(threads) for run in shape.places(thread)]
    across, along = (rows, depth) if along_k else (depth, rows)
    wanted = {
        (line, first) if along_k else (first, line)
        for line in range(across)
        for first in range(0, along, width)
    }
    assert len(found) == len(wanted)
    assert set(found) == wanted
