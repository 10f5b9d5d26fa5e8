"""One factor of an inverted map: all pairs, once, whole and by classes."""

import islpy as isl
import pytest

from ted.domain.factor_fibres import solve_factor
from unit.domain.random_maps import enumerate_set


@pytest.mark.parametrize(
    ("text", "whole", "classes"),
    [
        ("{ [p, i, j] : p = i + j and 0 <= i < 4 and 0 <= j < 3 }", 1, 1),
        ("{ [p, i, j] : p = 2i + j and 0 <= i < 9 and 0 <= j < 3 }", 1, 2),
        ("{ [p, i] : p = 5i and 0 <= i < 4 }", 1, 1),
        ("{ [p, i] : p = floor(i / 3) and 0 <= i < 9 }", 1, 1),
        ("{ [p, i] : p = i mod 3 and 0 <= i < 9 }", 1, 1),
        ("{ [p, q, i] : p = i and q = 100i and 0 <= i < 3 }", 1, 1),
    ],
)
def test_the_pieces_hold_every_pair_once(text: str, whole: int, classes: int) -> None:
    points = isl.Set(text)
    targets = 2 if text.startswith("{ [p, q") else 1
    found = solve_factor(points, targets, 0, True)
    assert (len(found.whole), len(found.classes)) == (whole, classes)
    for pieces in (found.whole, found.classes):
        listed = [
            tuple(v.evaluate(at) for v in (*piece.write, *piece.point))
            for piece in pieces
            for at in enumerate_set(piece.domain)
        ]
        assert sorted(listed) == enumerate_set(points)
