"""Values of scalar expressions over integers and truth values, by the plainest rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ted.ir.expressions import Expr

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "neg": lambda a: -a, "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b, "maximum": max, "minimum": min, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": lambda a: not a,
    "unchecked": lambda a: a, "cast": lambda a: a, "abs": abs, "exp": math.exp,
}  # fmt: skip


def value(e: Expr, point: Sequence[int] = (), data: Any = None) -> Any:
    """The value at a point; `data(tensor, indices)` gives elements."""
    if e.op == "const":
        return e.attr
    if e.op == "dim":
        return point[e.attr]
    args = [a if e.op == "select" else value(a, point, data) for a in e.args]
    if e.op == "load":
        return data(e.attr, args)
    if e.op == "select":
        return value(e.args[1 if value(e.args[0], point, data) else 2], point, data)
    return OPERATIONS[e.op](*args)
