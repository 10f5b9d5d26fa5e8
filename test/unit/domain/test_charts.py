"""Charts under substitution: the same pairs by other dims."""

import islpy as isl

from ted.domain import sets
from unit.domain.chart_texts import chart, pairs

START = chart("{ [q, t] : 0 <= q < 4 and q <= t < q + 2 }")


def test_a_shift_of_a_dim_keeps_every_pair() -> None:
    shifted = START.replace_dim(1, sets.linear(2, [1, 1]))
    assert pairs(shifted) == pairs(START)
    assert sets.dim_range(shifted.domain, 1) == (0, 1)
    assert (shifted.outer, shifted.rank) == (1, 2)
    assert len(shifted.values) == 3


def test_dims_may_be_exchanged_and_added() -> None:
    order = [sets.dim_aff(3, 2), sets.dim_aff(3, 0)]
    wider = START.substitute(3, 2, order).restrict(isl.Set("{ [a, b, c] : b = 7 }"))
    assert pairs(wider) == pairs(START)
    assert wider.outer == 2


def test_parts_and_targets() -> None:
    part = START.restrict(isl.Set("{ [q, t] : q = 2 }"))
    assert pairs(part) == [(2, 2, 2), (2, 2, 3)]
    assert START.outer_domain().is_equal(isl.Set("{ [q] : 0 <= q < 4 }"))


def test_values_are_as_short_as_the_points_allow() -> None:
    start = chart("{ [q, t] : 0 <= q < 4 and t = 3 }")
    assert str(start.simplified().points[1]).endswith("[(3)] }")
    assert pairs(start.simplified()) == pairs(start)
