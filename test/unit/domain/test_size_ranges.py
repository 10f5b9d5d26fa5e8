"""Ranges of extents over all values of their sizes, against values."""

import math

import pytest

from ted.domain.size_factors import Symbol
from ted.domain.size_ranges import range_of
from ted.domain.sizes import Extent, evaluate, symbolic

n, m, e = symbolic(Symbol("n", 3)), symbolic(Symbol("m", 0)), symbolic(Symbol("e", 5, 4))


@pytest.mark.parametrize(
    ("extent", "low", "high"),
    [
        (n, 3, math.inf), (n - 5, -2, math.inf), (5 - n, -math.inf, 2), (2 * n + m, 6, math.inf),
        (n - m, -math.inf, math.inf), (e, 8, math.inf), (n * e, 24, math.inf),
        (n // 2, 1, math.inf),
        (n - 2 * (n // 2), 0, 1), (n - 3 * (n // 3) + 4, 4, 6), ((n + 1) // 2 - n // 2, 0, 1),
        (n - n // 2, 2, math.inf), (-(m // 3), -math.inf, 0), (n * m - 2, -2, math.inf),
    ],
)  # fmt: skip
def test_ranges_hold_every_value_and_their_ends(extent: Extent, low: float, high: float) -> None:
    assert not isinstance(extent, int)
    found = range_of(extent)
    assert found == (low, high)
    for a in (3, 4, 7, 10):
        for b in (0, 1, 5):
            for c in (8, 12):
                assert found[0] <= extent.evaluate({"n": a, "m": b, "e": c}) <= found[1]
    assert evaluate(4, {}) == 4
