"""A softmax whose equations ask for loops over rows; what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.linalg import ted_emit_kernels
from ted.mlir import ir
from ted.mlir.locations import user_name

ALONE = '{name = "alone"}'
NAMES = ("max", "exp", "sum", "div")  # the equations of a softmax
X = np.random.default_rng(5).normal(size=(4, 5, 6))


def softmax() -> tuple[list[Any], list[Any]]:
    """The equations max, exp, sum and div over rows, sum_1 of all of them, and cos before."""
    x = ted.placeholder((4, 5, 6), "float64", name="x")
    e = ted.exp(x - ted.max(x, axis=2, keepdims=True))
    y = e / ted.sum(e, axis=2, keepdims=True)
    return [x], [ted.cos(x), y, ted.sum(y)]


def is_softmax(found: Any) -> None:
    """Compare the results for X with their definition."""
    e = np.exp(X - X.max(axis=2, keepdims=True))
    y = e / e.sum(axis=2, keepdims=True)
    for given, expected in zip(found, (np.cos(X), y, y.sum()), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-12)


def rows(number: int, rest: str = "") -> str:
    """The attribute of a member."""
    return f'{{name = "common_rows", group = {number}{rest}}}'


def asking(wanted: Mapping[str, str], patch: pytest.MonkeyPatch) -> set[str]:
    """Let equations ask for these, by the user's names; the names that are met."""
    met: set[str] = set()
    decide = ted_emit_kernels.decide

    def decided(block: ir.Block, *rest: Any) -> Any:
        equations = [v.operation for v in block.operations if v.operation.name == "ted.compute"]
        _write(equations, wanted, met)
        return decide(block, *rest)

    compile_here(patch)
    patch.setattr(ted_emit_kernels, "decide", decided)
    return met


def _write(found: list[ir.Operation], wanted: Mapping[str, str], met: set[str]) -> None:
    for op in found:
        name = user_name(op.location) or ""
        if name in wanted:
            met.add(name)
            op.attributes["ted.group"] = ir.Attribute.parse(wanted[name], op.context)


# By the names of equations what they ask for, and how many groups there are then.
OBEYED = {
    "all alone": (dict.fromkeys(NAMES, ALONE), 0),
    "two groups": ({"max": rows(2), "exp": rows(2), "sum": rows(7), "div": rows(7)}, 2),
    "a part": ({"max": ALONE, "exp": rows(1), "sum": rows(1), "div": ALONE}, 1),
    "two leave": ({"max": ALONE, "exp": ALONE}, 1),  # sum and div find each other
    "fewer dims": (dict.fromkeys(NAMES, rows(3, ", depth = 1")), 1),
    "one says how many": (dict.fromkeys(NAMES, rows(3)) | {"sum": rows(3, ", depth = 1")}, 1),
}

REFUSED = {
    "no number": ({"max": '{name = "common_rows"}'}, "group = NUMBER says which"),
    "a word": ({"max": '{name = "common_rows", group = "a"}'}, "group = NUMBER says which"),
    "no dict": ({"max": "3"}, r'ted.group: is \{name = "..."\}'),
    "alone with": ({"max": '{name = "alone", depth = 1}'}, "alone takes nothing, got depth = 1"),
    "unknown": ({"sum": rows(1, ", width = 2"), "div": rows(1)}, "got width = 2"),
    "half": ({"sum": rows(1, ", depth = true"), "div": rows(1)}, "got depth = True"),
    "no depth": ({"sum": rows(1, ", depth = 0"), "div": rows(1)}, "depth of 1 to 2, got 0"),
    "depth": ({"sum": rows(1, ", depth = 3"), "div": rows(1)}, "depth of 1 to 2, got 3"),
    "two": ({"sum": rows(1, ", depth = 1"), "div": rows(1, ", depth = 2")}, "to 2, got 1, 2"),
    "one": ({"sum": rows(1)}, "a group has two operations that compute, got one"),
    "no use": ({"cos": rows(1), "sum": rows(1), "div": rows(1)}, "cos: .*, got: no later"),
    "between": ({"exp": rows(1), "div": rows(1)}, "exp: .* got: sum, which is not in"),
    "last": ({"div": rows(1), "sum_1": rows(1)}, "sum_1: the last member .* got: no parallel"),
}
