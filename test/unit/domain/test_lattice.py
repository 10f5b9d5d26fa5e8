"""Equalities solved over the integers: every point once, by as few free dims as there are."""

import islpy as isl
import pytest

from ted.domain import conversion, sets
from ted.domain.lattice import solve_equalities
from unit.domain.random_maps import enumerate_set


@pytest.mark.parametrize(
    ("text", "known", "free"),
    [
        ("{ [p, i, j] : p = 2i + j and 0 <= i < 4 and 0 <= j < 3 }", 1, 1),
        ("{ [p, i, j] : p = 2i + 3j and 0 <= i < 5 and 0 <= j < 5 }", 1, 1),
        ("{ [p, i] : 3p = 2i and 0 <= i < 9 }", 1, 0),
        ("{ [p, i] : p = floor(i / 3) and 0 <= i < 9 }", 1, None),
        ("{ [i, j] : i = j and 0 <= i < 4 }", 0, 1),
        ("{ [i, j] : i mod 4 = 3 and j = i + 1 and 0 <= i < 20 }", 0, 1),
        ("{ [i, j] : 0 <= i < 4 and 0 <= j < 2 }", 0, 2),
        ("{ [p, i, j, k] : p = 6i + 10j + 15k and 0 <= i, j, k < 3 }", 1, 2),
    ],
)
def test_every_point_is_reached_once(text: str, known: int, free: int | None) -> None:
    (part,) = isl.Set(text).compute_divs().get_basic_sets()
    solution = solve_equalities(part, known, lambda dim: (dim,))
    values = [conversion.from_isl(v) for v in solution.values]
    at = enumerate_set(solution.domain)
    found = [tuple(v.evaluate(p) for v in values) for p in at]
    assert sorted(found) == enumerate_set(isl.Set(text))
    assert all(point[:known] == p[:known] for point, p in zip(found, at, strict=True))
    if free is not None:
        assert sets.rank_of(solution.domain) == known + free
