"""Loops that start at zero: small extents, the same points, and no loop without an end."""

import islpy as isl
import pytest

from ted.domain import conversion, sets
from ted.domain.charts import Chart
from ted.domain.normalise import normalise
from ted.domain.projection import drop_single_valued_loops, integral, parametrise_targets
from ted.domain.residues import clone_classes, expand_classes
from ted.errors import DomainError
from unit.domain.random_maps import enumerate_set


def chart(text: str, outer: int = 1) -> Chart:
    """All dims are coordinates of the points, the outer ones the targets."""
    domain = isl.Set(text)
    dims = sets.dim_affs(sets.rank_of(domain))
    return Chart(domain, outer, tuple(dims[:outer]), tuple(dims))


def pairs(one: Chart) -> list[tuple[int, ...]]:
    """Every pair of target and point, with repetitions."""
    values = [conversion.from_isl(v) for v in one.values]
    return sorted(tuple(v.evaluate(at) for v in values) for at in enumerate_set(one.domain))


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


def test_a_chart_without_points_has_no_loop_to_shift() -> None:
    with pytest.raises(DomainError, match="gather form: every loop must be bounded"):
        normalise(chart("{ [q, t] : 0 <= q < 4 and t < 0 and 0 < t }"))


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


@pytest.mark.parametrize("modulus", [2, 3, 8, 9])
def test_strides_up_to_eight_are_residue_classes(modulus: int) -> None:
    bound = 6 * modulus
    start = chart(f"{{ [q, t] : 0 <= q < {bound} and q - {modulus} < {modulus}t <= q and t >= 0 }}")
    whole = normalise(start)
    start = chart(f"{{ [q, t, u] : 0 <= q < {bound} and 0 <= t < 2 and (q + u) mod {modulus} = 0 "
                  f"and 0 <= u < {modulus + 1} }}")  # fmt: skip
    whole = normalise(start)
    classes = clone_classes(start, whole)
    assert len(classes) == (modulus if modulus <= 8 else 1)
    found = sorted(pair for c in classes for pair in pairs(c.chart))
    assert found == pairs(start)


def test_a_division_of_the_target_becomes_a_dim_of_its_own() -> None:
    start = chart("{ [q, t] : 0 <= q < 12 and t = 3 * floor(q / 3) }")
    start, whole = expand_classes(start, normalise(start))
    assert pairs(start) == pairs(chart("{ [q, t] : 0 <= q < 12 and t = 3 * floor(q / 3) }"))
    assert whole.chart.outer == 2
