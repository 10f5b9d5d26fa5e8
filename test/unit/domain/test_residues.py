"""Divisions taken out by residue classes: the same pairs, and none where there are too many."""

import pytest

from ted.domain.normalise import normalise
from ted.domain.residues import class_count, clone_classes, expand_classes
from unit.domain.chart_texts import chart, pairs


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


def test_the_number_of_classes_is_the_product_of_the_periods() -> None:
    start = chart("{ [q, t] : 0 <= q < 12 and 0 <= t < 3 and (q + t) mod 3 = 0 }")
    assert class_count(normalise(start)) == 3
    plain = chart("{ [q, t] : 0 <= q < 12 and 0 <= t < 3 }")
    assert class_count(normalise(plain)) == 1
