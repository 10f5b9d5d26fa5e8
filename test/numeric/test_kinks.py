"""The tables of kinks in docs/autodiff.md, row by row: values and slopes of compiled programs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from docs.kinks_page import ENDS, POINTS, at_ends, found, functions, points
from ted import special
from ted.frontend.elementwise import UNARY
from ted.frontend.tensors import Tensor
from ted.nn import piecewise
from ted.testing.tracing import interpreted

DOCUMENT = Path(__file__).parents[2] / "docs" / "autodiff.md"
PUBLIC = {*ted.__all__, *ted.nn.__all__, *special.__all__}
# Whole tensors, functions of integers, and names of the same function.
NO_KINKS = {
    "Any", "Tensor", "logsumexp", "cosine_similarity", "glu", "normalize", "softmin", "softmax",
    "log_softmax", "igamma", "igammac", "psi", "bessel_j0", "bessel_j1", "expit", "gammaln",
    "annotations", "math",
}  # fmt: skip
REDUCTIONS = "| expression | x | value | slope |"


def rows(header: str) -> list[list[str]]:
    table = DOCUMENT.read_text().partition(header)[2].partition("\n\n")[0]
    lines = table.strip().splitlines()[1:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_tables_are_what_the_script_writes() -> None:
    assert [tuple(row[:2]) for row in rows(POINTS)] == points()
    assert [row[0] for row in rows(ENDS)] == functions()
    assert len(rows(REDUCTIONS)) >= 30


def test_every_scalar_function_has_a_row() -> None:
    text = "\n".join(map(str, [*rows(POINTS), *rows(ENDS)]))
    names = {*UNARY, *piecewise.__dict__, *special.__all__}
    scalar = {n for n in names if n in PUBLIC and n not in NO_KINKS}
    missing = sorted(n for n in scalar if not re.search(rf"\b{n}\b", text))
    assert not missing


@pytest.mark.fast(4)
@pytest.mark.parametrize("row", rows(ENDS), ids=lambda row: row[0])
def test_zeros_and_infinities_are_as_documented(row: list[str]) -> None:
    name, *cells = row
    expected = [[float(v) for v in cell.split("; ")] for cell in cells]
    np.testing.assert_allclose(at_ends(name), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.fast(8)
@pytest.mark.parametrize("row", rows(POINTS), ids=lambda row: f"{row[0]} at {row[1]}")
def test_a_kink_is_as_documented(row: list[str]) -> None:
    expression, point, *numbers = row
    x, y, *_ = [*(float(v) for v in point.split(", ")), 0.0]
    expected = [float(v) if v != "-" else 0.0 for v in numbers]
    np.testing.assert_allclose(found(expression, x, y), expected, rtol=1e-12, atol=1e-14)


def scatter(shape: tuple[int, ...], places: list[int], values: Tensor, combine: str) -> Tensor:
    """`ted.scatter` at places that are written as numbers."""
    at = [ted.full((1,), k, "int64") for k in places]
    return ted.scatter(shape, ted.concatenate(at), values, combine)


KNOWN: dict[str, Any] = {"ted": ted, "scatter": scatter, "__builtins__": {}}


@pytest.mark.fast(10)
@pytest.mark.parametrize("evaluate", [interpreted, ted.compile])
@pytest.mark.parametrize("row", rows(REDUCTIONS), ids=lambda row: f"{row[0]} of {row[1]}")
def test_a_reduction_is_as_documented(row: list[str], evaluate: Callable[..., Any]) -> None:
    expression, elements, value, slopes = row
    point = np.array([float(v) for v in elements.split(", ")])
    x = ted.placeholder(point.shape, "float64", name="x")
    output = eval(expression.replace("ted.scatter", "scatter"), {**KNOWN, "x": x})
    found = [] if slopes == "-" else list(ted.differentiate(output, [x]))
    values = evaluate([x], [output, *found])(point)
    assert len(values) == 1 + len(found)
    np.testing.assert_allclose(float(values[0]), float(value), rtol=1e-15)
    if found:
        np.testing.assert_allclose(values[1], [float(v) for v in slopes.split(", ")], rtol=1e-15)


def test_a_row_of_minus_infinity_has_no_slope_of_higher_order_either() -> None:
    def loss(x: Tensor) -> Tensor:
        return ted.sum(ted.where(x[:, 0] > -1.0, 1.0, 0.5) * ted.logsumexp(x, axis=1))

    x = np.array([[-math.inf, -math.inf], [0.0, math.log(3.0)]])
    first = ted.grad(loss)
    np.testing.assert_allclose(first(x), [[0.0, 0.0], [0.25, 0.75]])
    second = ted.grad(lambda t: ted.sum(first(t)[:, 1]))(x)
    np.testing.assert_allclose(second, [[0.0, 0.0], [-0.1875, 0.1875]], rtol=1e-14)
