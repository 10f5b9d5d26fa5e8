"""Affine maps and integer sets of MLIR as text of Python expressions over d0, d1, ..., s0, s1, ...

Python's `//` and `%` on integers are exactly the floordiv and mod of affine expressions, so the
text means what the attribute means; it is pasted into the loop nest that runs an op.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ted.errors import ExecutionError
from ted.mlir import ir

_INFIX = {"AffineAddExpr": "+", "AffineMulExpr": "*", "AffineFloorDivExpr": "//"}


def expression_text(expr: Any) -> str:
    """One affine expression."""
    expr = expr.maybe_downcast()
    kind = type(expr).__name__
    if kind == "AffineConstantExpr":
        return f"({expr.value})"
    if kind == "AffineDimExpr":
        return f"d{expr.position}"
    if kind == "AffineSymbolExpr":
        return f"s{expr.position}"
    left, right = expression_text(expr.lhs), expression_text(expr.rhs)
    if kind == "AffineModExpr":
        return f"({left} % {right})"
    if kind == "AffineCeilDivExpr":
        return f"(-(-{left} // {right}))"
    return f"({left} {_INFIX[kind]} {right})"


def evaluated(affine_map: ir.AffineMap, sizes: Sequence[int]) -> tuple[int, ...]:
    """The results of a map without dims, its symbols the given sizes; never negative.

    Raises: ExecutionError for a symbol that is no size, or a division by 0.
    """
    names = {f"s{k}": value for k, value in enumerate(sizes)}
    try:
        return tuple(max(eval(text, dict(names)), 0) for text in map_texts(affine_map))
    except (NameError, ZeroDivisionError) as error:
        raise ExecutionError(f"interpret: {affine_map} of {len(sizes)} sizes: {error}") from error


@lru_cache(maxsize=1024)  # each step of a scan, and each run, asks again
def map_texts(affine_map: ir.AffineMap) -> tuple[str, ...]:
    """The results of a map, one text each."""
    return tuple(expression_text(result) for result in affine_map.results)


@lru_cache(maxsize=1024)
def condition_text(integer_set: ir.IntegerSet) -> str:
    """Whether a point lies in the set; the empty text when every point does."""
    clauses = []
    for constraint in integer_set.constraints:
        text = expression_text(constraint.expr)
        if constraint.is_eq and text == "(0)":
            continue
        clauses.append(f"{text} {'==' if constraint.is_eq else '>='} 0")
    return " and ".join(clauses)
