"""Large buffers that were given back are given out again, up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ted import _runtime

LARGE, PAGE = 1 << 20, 4096


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    before = _runtime.memory_set_kept(8 * LARGE)
    yield
    _runtime.memory_set_kept(before)


def address(buffer: _runtime.Buffer) -> int:
    return np.frombuffer(buffer, np.uint8).ctypes.data


def taken(nbytes: int) -> int:
    """Where a buffer was that is given back by now."""
    return address(_runtime.Buffer(nbytes))


def is_same(first: int, second: int) -> bool:
    """Whether two buffers were in one block, of which each begins at some place of a page."""
    return abs(first - second) < PAGE


def test_buffers_in_a_row_lie_at_different_places_of_a_page() -> None:
    places = [address(_runtime.Buffer(LARGE)) % PAGE for _ in range(16)]
    assert len({*places[:8]}) == 8
    assert places[8:] == places[:8]
    for others in (16, 64):  # where large arrays of NumPy, and of torch and JAX, begin
        assert min((place - others) % PAGE for place in places) >= 128
    for earlier, later in pairwise(places):  # a result, and the input that it is of
        assert 128 <= (later - earlier) % PAGE <= PAGE - 128


def test_a_large_buffer_comes_back() -> None:
    first = taken(LARGE)
    assert is_same(taken(LARGE), first)
    assert is_same(taken(LARGE + 1000), first), "of nearly the same size, too"


def test_a_buffer_in_use_is_nobody_elses() -> None:
    buffers = [_runtime.Buffer(LARGE) for _ in range(5)]
    starts = sorted(map(address, buffers))
    assert all(b - a >= LARGE for a, b in pairwise(starts))


@pytest.mark.parametrize("nbytes", [0, 1, 65535, 65536, 65537, 100_000, LARGE + 1, 3 * LARGE - 7])
def test_a_buffer_has_all_its_bytes(nbytes: int) -> None:
    for _ in range(3):
        data = np.frombuffer(_runtime.Buffer(nbytes), np.uint8) if nbytes else np.zeros(0)
        assert data.nbytes == nbytes
        assert data.ctypes.data % 64 == 0 or not nbytes
        data.fill(7)


def test_what_is_kept_does_not_count_as_held() -> None:
    before = _runtime.memory_current()
    taken(LARGE)
    assert _runtime.memory_current() == before


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's numbers")
def test_no_more_is_kept_than_may_be() -> None:
    nbytes = 40 << 20  # which the C library returns to the system
    _runtime.memory_set_kept(2 * nbytes + nbytes // 2)
    before = resident()
    buffers = [_runtime.Buffer(nbytes) for _ in range(6)]
    for buffer in buffers:
        np.frombuffer(buffer, np.uint8).fill(1)
    del buffer
    del buffers
    assert resident() - before < 3 * nbytes


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_nothing_is_kept_when_there_is_no_room() -> None:
    assert _runtime.memory_set_kept(0) == 8 * LARGE
    taken(LARGE)
    assert _runtime.memory_set_kept(8 * LARGE) == 0


def test_threads_take_and_give_at_once() -> None:
    def fill(k: int) -> bool:
        buffer = _runtime.Buffer(LARGE + 1000 * (k % 7))
        data = np.frombuffer(buffer, np.uint8)
        view = np.lib.stride_tricks.as_strided(data, data.shape, data.strides, writeable=False)
        return view.nbytes == LARGE + 1000 * (k % 7)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fill, range(200)))
