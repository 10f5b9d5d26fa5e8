"""The table of operations that random programs are made of: a new operator is a row."""

from __future__ import annotations

from fuzz.rows import (
    data,
    functions,
    indices,
    networks,
    pointwise,
    recurrences,
    reductions,
    shapes,
)

MODULES = (pointwise, shapes, reductions, data, indices, functions, recurrences, networks)
ROWS = tuple(row for module in MODULES for row in module.ROWS)
TABLE = {row.name: row for row in ROWS}
