"""Loops over sets of points: their order, what is tested inside, which of them are parallel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ted.linalg.domain_forms import points
from ted.linalg.loops import emit_loops
from ted.linalg.subdomain import Subdomain, constraints_of
from ted.mlir import ir
from ted.mlir.queries import defining
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


def loops(subdomain: Subdomain, *conditions: str) -> tuple[list[str], int]:
    """What each loop carries, over the points with one of the conditions; how much is tested."""
    where: Any = None
    for condition in conditions:
        constraints = constraints_of(ir.Attribute.parse(f"affine_set<(i, j) : ({condition})>"))
        part = points(subdomain.extents, constraints)
        where = part if where is None else where.union(part)
    start = defining(subdomain.inits[0])
    assert start is not None
    with ir.InsertionPoint.after(start), ir.Location.unknown():
        emit_loops(subdomain, where, list(subdomain.inits))
    text = str(start.parent)
    return re.findall(r"scf\.for .* -> \((\w+)", text), text.count("scf.if")


COLUMNS = {
    "the box": ([], ["tensor", "tensor"], 0),
    "a triangle": (["i - j >= 0"], ["tensor", "tensor"], 0),
    "a remainder": (["(i + j) mod 2 == 0"], ["tensor", "tensor"], 1),
    "a bound of the sum alone": (["i mod 3 - j >= 0"], ["tensor", "f32"], 0),
    "one of both": (["i mod 3 - j >= 0, 5 - i >= 0", "(i + j) mod 2 == 0, i - 6 >= 0"],
                    ["tensor"] * 4, 2),
    "none of both": (["i mod 3 - j >= 0, 5 - i >= 0", "i mod 4 - j >= 0, i - 6 >= 0"],
                     ["tensor", "f32"] * 2, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_sums_of_columns_run_along_them_unless_the_rows_need_no_test(case: str) -> None:
    conditions, carried, tested = COLUMNS[case]
    subdomain = subdomain_of(((12,), "i"), [((12, 12), "j, i")], (12, 12), "pr", combiner="add")
    assert loops(subdomain, *conditions) == (carried, tested)


def test_a_test_of_elements_is_around_them_and_one_of_points_inside() -> None:
    rows = subdomain_of(((12,), "i"), [((12, 12), "i, j")], (12, 12), "pr", combiner="add")
    assert loops(rows, "(i + j) mod 2 == 0") == (["tensor", "f32"], 1)
    maps = subdomain_of(((12, 12), "i, j"), [((12, 12), "i, j")], (12, 12), "pp")
    assert loops(maps, "(i + j) mod 2 == 0") == (["tensor", "tensor"], 1)
