"""Loops with one value, and targets that lie on a line or a lattice: the same pairs, fewer dims."""

import islpy as isl
import pytest

from ted.domain import sets
from ted.domain.projection import drop_single_valued_loops, integral, parametrise_targets
from unit.domain.chart_texts import chart, pairs

TRIANGLE = "{ [q, t] : 0 <= q < 5 and q <= t < 5 }"


def test_a_loop_with_one_value_is_replaced_by_it() -> None:
    start = chart("{ [q, t, u] : 0 <= q < 6 and 2t = q and 0 <= u < 2 }")
    (done,) = drop_single_valued_loops(start)
    assert done.rank == 2
    assert pairs(done) == pairs(start)
    (same,) = drop_single_valued_loops(chart(TRIANGLE))
    assert same.rank == 2


def test_a_loop_that_is_a_function_in_pieces_splits_the_chart() -> None:
    start = chart("{ [q, t] : 0 <= q < 6 and ((q < 3 and t = 0) or (q >= 3 and t = 2q)) }")
    parts = drop_single_valued_loops(start)
    assert [p.rank for p in parts] == [1, 1]
    assert sorted(pair for p in parts for pair in pairs(p)) == pairs(start)


@pytest.mark.parametrize(
    ("text", "outer", "kept"),
    [
        ("{ [p, q] : p = q and 0 <= q < 4 }", 2, 1),
        ("{ [p] : p mod 3 = 2 and 0 <= p < 12 }", 1, 1),
        ("{ [p, q] : p + q = 3 and 0 <= q < 4 }", 2, 1),
        ("{ [p, q] : 0 <= p < 2 and 0 <= q < 4 }", 2, 2),
    ],
)
def test_targets_on_a_line_get_dims_that_they_fill(text: str, outer: int, kept: int) -> None:
    start = chart(text, outer)
    done = parametrise_targets(start)
    assert done.outer == kept
    assert pairs(done) == pairs(start)
    ranges = sets.dim_ranges(done.outer_domain()) or []
    count = 1
    for low, high in ranges:
        count *= high - low + 1
    assert count == len(pairs(start))


def test_a_value_that_may_be_a_fraction_is_rounded_down() -> None:
    half = isl.Aff("{ [i] -> [(i)/2] }")
    assert integral(half).plain_is_equal(isl.Aff("{ [i] -> [floor((i)/2)] }"))
    plain = isl.Aff("{ [i] -> [2i] }")
    assert integral(plain) is plain
