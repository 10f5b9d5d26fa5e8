"""The tables of kinks, poles and ends in docs/autodiff.md, section 9, as they are computed.

    PYTHONPATH=test python test/docs/kinks_page.py

`kinks_rows.txt` has the points of the first table, a line each: an expression of x, perhaps y, and
where.  The second one has every scalar function of one argument, of `fuzz/extreme_rows.py`, at both
zeros and both infinities: its value and two derivatives.  A test compares these lists with the
document, and another one its numbers.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

import ted
from docs.blocks import ROOT
from fuzz.extreme_rows import ROWS

PAGE = ROOT / "docs/autodiff.md"
POINTS = "| expression | x, y | value | slope in x | slope in y |"
ENDS = "| function | at -inf | at -0 | at 0 | at inf |"
PLACES = np.array([-math.inf, -0.0, 0.0, math.inf])
NAMES = {"ted": ted, "inf": math.inf, "nan": math.nan, "__builtins__": {}}


def points() -> list[tuple[str, str]]:
    """The expressions of the first table, and where."""
    lines = (ROOT / "test/docs/kinks_rows.txt").read_text().splitlines()
    return [tuple(line.rsplit(" : ", 1)) for line in lines]  # type: ignore[misc]


def functions() -> list[str]:
    """The rows of the second table: functions, and no expressions that stand for a class."""
    return [name for name, row in ROWS.items() if row.other is None and not set(name) & set("(/")]


def found(expression: str, x: float, y: float) -> list[float]:
    """The value, and the slopes in x and y, as one compiled program."""
    inputs = [ted.placeholder((1,), "float64", name=name) for name in "xy"]
    output = eval(expression, {**NAMES, "x": inputs[0], "y": inputs[1]})
    slopes = ted.differentiate(output, inputs, head=ted.ones((1,), "float64"))
    arrays = [np.array([v]) for v in (x, y)]
    return [float(a[0]) for a in ted.compile(inputs, [output, *slopes])(*arrays)]


def at_ends(name: str) -> list[list[float]]:
    """The value and two derivatives of a function, at each of the places."""
    x = ted.placeholder(PLACES.shape, "float64", name="x")
    results = [ROWS[name].mine(x)]
    for _ in range(2):
        results += ted.differentiate(results[-1], [x], head=ted.ones(PLACES.shape, "float64"))
    arrays: list[Any] = list(ted.compile([x], results)(PLACES))
    return [[float(a[k]) for a in arrays] for k in range(len(PLACES))]


def spelled(value: float) -> str:
    """A number without a point where it needs none; a zero has no sign."""
    rounded = float(f"{value:.14g}")
    near = value if abs(value) < 1e15 and len(repr(rounded)) < len(repr(value)) else None
    text = repr((rounded if near is not None else value) + 0.0)
    return re.sub(r"\.0$", "", text)


def point_row(expression: str, place: str) -> str:
    """A line of the first table."""
    x, y, *_ = [*(float(v) for v in place.split(", ")), 0.0]
    cells = " | ".join(map(spelled, found(expression, x, y)))
    return f"| `{expression}` | {place} | {cells} |"


def end_row(name: str) -> str:
    """A line of the second table."""
    cells = " | ".join("; ".join(map(spelled, cell)) for cell in at_ends(name))
    return f"| `{name}` | {cells} |"


def written(text: str, header: str, rows: list[str]) -> str:
    """The document with other rows below a header."""
    before, found, rest = text.partition(f"{header}\n")
    assert found, f"{PAGE.name} has the table: {header}"
    rule, _, rest = rest.partition("\n")
    after = rest[rest.index("\n\n") :] if not rest.startswith("\n") else rest
    return f"{before}{header}\n{rule}\n" + "\n".join(rows) + after


def main() -> None:
    """Write both tables anew."""
    text = written(PAGE.read_text(), POINTS, [point_row(*row) for row in points()])
    PAGE.write_text(written(text, ENDS, [end_row(name) for name in functions()]))


if __name__ == "__main__":
    main()
