"""The values of an affine expression and of each part of it, against all values over a box."""

from __future__ import annotations

from itertools import product

import pytest

from ted.dialects import make_context
from ted.domain.intervals import UNKNOWN
from ted.ir.affine_ranges import ranges_within
from ted.mlir import ir

BOX = ((0, 4), (-2, 3))


def ranges(text: str, symbols: str = "") -> list[tuple[float, float]]:
    with make_context():
        attribute = ir.Attribute.parse(f"affine_map<(d0, d1){symbols} -> ({text})>")
        return list(ranges_within(ir.AffineMapAttr(attribute).value.results[0], BOX))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("d0 * 3 - d1 + 7", lambda a, b: a * 3 - b + 7),
        ("(d0 - d1) floordiv 3", lambda a, b: (a - b) // 3),
        ("(d1 * -2) ceildiv 3", lambda a, b: -(b * 2 // 3)),
        ("(d0 + d1 + 10) mod 16", lambda a, b: (a + b + 10) % 16),
        ("d1", lambda a, b: b),
        ("-5", lambda a, b: -5),
    ],
)
def test_the_last_range_is_that_of_the_values(text: str, value) -> None:
    points = product(*(range(low, high + 1) for low, high in BOX))
    values = [value(a, b) for a, b in points]
    assert ranges(text)[-1] == (min(values), max(values))


def test_parts_have_ranges_of_their_own() -> None:
    assert ranges("(d0 * 7) mod 3") == [(0, 4), (7, 7), (0, 28), (3, 3), (0, 2)]


def test_a_symbol_is_without_bound() -> None:
    assert ranges("s0 mod 4", "[s0]")[0] == UNKNOWN
    assert ranges("d0 + s0", "[s0]")[-1] == UNKNOWN
