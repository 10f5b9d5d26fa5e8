"""The table of kinks in docs/autodiff.md, row by row: values and slopes of compiled programs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import ted

DOCUMENT = Path(__file__).parents[2] / "docs" / "autodiff.md"
HEADER = "| expression | x, y | value | slope in x | slope in y |"
NAMES = {"ted": ted, "inf": math.inf, "nan": math.nan, "__builtins__": {}}


def rows() -> list[list[str]]:
    table = DOCUMENT.read_text().partition(HEADER)[2].partition("\n\n")[0]
    lines = table.strip().splitlines()[1:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def found(expression: str, x: float, y: float) -> list[float]:
    """The value, and the slopes in x and y, as one compiled program."""
    inputs = [ted.placeholder((1,), "float64", name=name) for name in "xy"]
    output = eval(expression, {**NAMES, "x": inputs[0], "y": inputs[1]})
    slopes = ted.differentiate(output, inputs, head=ted.ones((1,), "float64"))
    arrays = [np.array([v]) for v in (x, y)]
    return [float(a[0]) for a in ted.compile(inputs, [output, *slopes])(*arrays)]


def test_the_table_is_there() -> None:
    assert len(rows()) >= 30


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]} at {row[1]}")
def test_a_kink_is_as_documented(row: list[str]) -> None:
    expression, point, *numbers = row
    x, y, *_ = [*(float(v) for v in point.split(", ")), 0.0]
    expected = [float(v) if v != "-" else 0.0 for v in numbers]
    np.testing.assert_allclose(found(expression, x, y), expected, rtol=1e-12)
