"""Loops that start at zero: small extents, the same points, and no loop without an end."""

import pytest

from ted.domain import sets
from ted.domain.normalise import normalise
from ted.errors import DomainError
from unit.domain.chart_texts import chart, pairs

WINDOW = "{ [q, t] : 0 <= q < 9 and q - 2 <= 2t <= q and 0 <= t < 4 }"
TRIANGLE = "{ [q, t] : 0 <= q < 5 and q <= t < 5 }"


@pytest.mark.parametrize(
    ("text", "extents"),
    [
        (WINDOW, (2,)),
        (TRIANGLE, (5,)),
        ("{ [q, t] : 0 <= q < 5 and q <= t < q + 3 }", (3,)),
        ("{ [q, t, u] : 0 <= q < 4 and 2 <= t < 5 and t <= u <= t + 1 }", (3, 2)),
        ("{ [q, t] : 0 <= q < 4 and t = 3q }", (1,)),
    ],
)
def test_loops_are_shifted_to_zero_with_the_least_extent(
    text: str, extents: tuple[int, ...]
) -> None:
    start = chart(text)
    done = normalise(start)
    assert done.extents == extents
    assert pairs(done.chart) == pairs(start)
    for k, extent in enumerate(extents):
        low, high = sets.dim_range(done.chart.domain, 1 + k) or (0, 0)
        assert 0 <= low <= high < extent


@pytest.mark.parametrize("loop", ["t < 0 and 0 < t", "q <= t", "t <= q"])
def test_a_loop_without_points_or_without_an_end_is_refused(loop: str) -> None:
    with pytest.raises(DomainError, match="gather form: every loop must be bounded"):
        normalise(chart(f"{{ [q, t] : 0 <= q < 4 and {loop} }}"))
