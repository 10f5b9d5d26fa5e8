"""How rows are cut into strips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted.runtime.strips import strips

LENGTHS = (1, 4, 16, 64)


def test_the_longest_strips_come_first() -> None:
    assert strips(100, LENGTHS) == [(0, 64), (64, 80), (80, 96), (96, 100)]
    assert strips(3, LENGTHS) == [(0, 1), (1, 2), (2, 3)]
    assert strips(0, LENGTHS) == []


@pytest.mark.parametrize(
    ("count", "call", "expected"),
    [
        (100, 100.0, [(0, 64), (36, 100)]),
        (100, 1.0, [(0, 64), (64, 80), (80, 96), (96, 100)]),
        (103, 5.0, [(0, 64), (64, 80), (80, 96), (87, 103)]),
        (7, 100.0, [(0, 4), (3, 7)]),
        (3, 100.0, [(0, 1), (1, 2), (2, 3)]),
        (65, 100.0, [(0, 64), (64, 65)]),
        (128, 100.0, [(0, 64), (64, 128)]),
    ],
)
def test_rows_are_computed_twice_where_that_saves_calls(
    count: int, call: float, expected: list[tuple[int, int]]
) -> None:
    assert strips(count, LENGTHS, call) == expected


@given(st.integers(0, 3000), st.one_of(st.none(), st.floats(0, 1000)))
def test_strips_cover_all_rows_in_order(count: int, call: float | None) -> None:
    found = strips(count, LENGTHS, call)
    assert all(stop - start in LENGTHS for start, stop in found)
    assert sorted({r for start, stop in found for r in range(start, stop)}) == list(range(count))
    assert [stop for _, stop in found] == sorted({stop for _, stop in found})
    if call is None:
        assert sum(stop - start for start, stop in found) == count
