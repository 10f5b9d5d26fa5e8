"""The table of scalar operations: arity, type rule and weight in the operation count.

A scalar expression is a DAG of these.  `same` operations take and give one type, `compare` give a
bool.  Weights are those of the operation count: arithmetic, comparison and select 1, division and
square root 4, transcendental functions 16; index arithmetic, casts and constants are free.
"""

from __future__ import annotations

from ted.records import dataclass


@dataclass(frozen=True)
class Operation:
    """One row: what a scalar operation takes, gives and costs."""

    name: str
    arity: int
    kinds: frozenset[str]
    weight: int = 1
    rule: str = "same"  # same | compare | logic | select | cast


_FLOAT = frozenset({"float"})
_NUMBER = frozenset({"float", "int", "index"})
_ANY = frozenset({"float", "int", "index", "bool"})
_INTEGER = frozenset({"int", "index"})
_BOOL = frozenset({"bool"})
_BITS = frozenset({"int"})

CHEAP, ROOT, TRANSCENDENTAL = 1, 4, 16

_ROWS = (
    *(Operation(n, 2, _NUMBER) for n in ("add", "sub", "mul", "maximum", "minimum")),
    Operation("neg", 1, _NUMBER),
    Operation("abs", 1, _NUMBER),
    Operation("div", 2, _FLOAT, ROOT),
    Operation("fmod", 2, _FLOAT, ROOT),
    Operation("floordiv", 2, _INTEGER, ROOT),
    Operation("mod", 2, _INTEGER, ROOT),
    *(Operation(n, 1, _FLOAT, ROOT) for n in ("sqrt", "rsqrt", "cbrt")),
    *(Operation(n, 1, _FLOAT) for n in ("floor", "ceil", "round", "trunc")),
    *(
        Operation(n, 1, _FLOAT, TRANSCENDENTAL)
        for n in (
            "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
            "sin", "cos", "tan", "asin", "acos", "atan",
            "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
        )
    ),
    *(Operation(n, 2, _FLOAT, TRANSCENDENTAL) for n in ("pow", "atan2")),
    *(Operation(n, 2, _BITS) for n in ("bitand", "bitor", "bitxor", "shiftleft", "shiftright")),
    *(Operation(n, 2, _ANY, CHEAP, "compare") for n in ("lt", "le", "eq", "ne")),
    *(Operation(n, 2, _BOOL, CHEAP, "logic") for n in ("and", "or")),
    Operation("not", 1, _BOOL, CHEAP, "logic"),
    Operation("select", 3, _ANY, CHEAP, "select"),
    Operation("cast", 1, _ANY, 0, "cast"),
    Operation("stop_gradient", 1, _FLOAT, 0),
    Operation("unchecked", 1, frozenset({"index"}), 0),  # an index that the user vouches for
)  # fmt: skip

OPERATIONS: dict[str, Operation] = {row.name: row for row in _ROWS}
