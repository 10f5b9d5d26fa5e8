"""The table of docs/accuracy.md with the errors of functions and their slopes at hard points.

    PYTHONPATH=test python test/docs/slopes_page.py [NAME ...]

`fuzz/extremes.py` draws the points and compares; this writes the worst that it finds, all rows or
those that are named.
"""

from __future__ import annotations

import sys

from docs.blocks import ROOT
from fuzz.extreme_rows import ROWS
from fuzz.extremes import KINDS, bounds, examined, spelled

PAGE = ROOT / "docs/accuracy.md"
HEADER = "| function or expression | f32: value; slope; second | f64 |"


def row(name: str) -> str:
    """The line of a function."""
    cells = []
    for kind in KINDS:
        found = examined(name, kind)
        pairs = zip(found.errors, found.absolute, strict=True)
        cells.append("; ".join(spelled(float(r.max()), float(a.max())) for r, a in pairs))
    return f"| `{name}` | {' | '.join(cells)} |"


def main(names: list[str]) -> None:
    """Write the rows of some functions anew, or of all."""
    known = bounds()
    for name in names or list(ROWS):
        line = row(name)
        known[name] = [cell.split("; ") for cell in line.strip("| ").split(" | ")[1:]]
        print(line, flush=True)
        rows = [
            f"| `{n}` | {' | '.join('; '.join(c) for c in known[n])} |" for n in ROWS if n in known
        ]
        before, _, rest = PAGE.read_text().partition(HEADER + "\n")
        rule, _, rest = rest.partition("\n")
        after = rest[rest.index("\n\n") :]
        PAGE.write_text("\n".join([before + HEADER, rule, *rows]) + after)


if __name__ == "__main__":
    main(sys.argv[1:])
