"""Which dim runs innermost, and what runs around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ted.linalg.loop_order import loop_order
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


# Read, write, extents, iterators: the order of the loops.
ORDERS = {
    "a copy runs along both": (((9, 9), "i, j"), ((9, 9), "i, j"), (9, 9), "pp", [0, 1]),
    "a transposition writes in order": (((9, 9), "j, i"), ((9, 9), "i, j"), (9, 9), "pp", [0, 1]),
    "whatever the dims are called": (((9, 9), "i, j"), ((9, 9), "j, i"), (9, 9), "pp", [1, 0]),
    "backwards is as good as forwards": (
        ((9, 9), "i, 8 - j"), ((9, 9), "i, 8 - j"), (9, 9), "pp", [0, 1]),
    "a sum of rows runs along the rows": (((20, 20), "i, j"), ((20,), "i"), (20, 20), "pr", [0, 1]),
    "a sum of columns runs along the result": (
        ((20, 20), "j, i"), ((20,), "i"), (20, 20), "pr", [1, 0]),
    "a jump of the write counts twice": (
        ((20, 20), "j, i"), ((40,), "2 * i"), (20, 20), "pr", [0, 1]),
    "a jump backwards is a jump": (
        ((20, 20), "j, i"), ((40,), "39 - 2 * i"), (20, 20), "pr", [0, 1]),
    "a dim of few points stays outside": (((9, 3), "i, j"), ((3, 9), "j, i"), (9, 3), "pp", [1, 0]),
    "or inside, where they lie together": (
        ((9,), "i"), ((9, 3), "i, j"), (9, 3), "pp", [0, 1]),
    "and nothing is between": (((9,), "i"), ((9, 4), "i, j"), (9, 3), "pp", [1, 0]),
    "a dim of four points does not": (((9, 4), "i, j"), ((9, 4), "i, j"), (9, 4), "pp", [0, 1]),
    "what depends on the point is a jump": (
        ((9, 9), "j, i"), ((9, 9), "i, j floordiv 2"), (9, 9), "pp", [1, 0]),
    "other subscripts count beside it": (
        ((9, 9, 9), "k floordiv 2, j, i"), ((9, 9, 9), "k, i, j"), (9, 9, 9), "ppp", [2, 0, 1]),
    "of equal ones the last of the result": (
        ((9,), "0"), ((9, 9), "i, j floordiv 2"), (9, 9), "pp", [0, 1]),
    "parallel dims are in the order of the result": (
        ((9, 9, 9), "k, j, i"), ((9, 9, 9), "j, i, k"), (9, 9, 9), "ppp", [1, 0, 2]),
    "reductions are inside parallel dims": (
        ((9, 9, 20, 9), "k, i, l, j"), ((9, 9), "i, j"), (9, 9, 20, 20), "pprr", [0, 2, 3, 1]),
    "what stays is better than what goes on": (
        ((20,), "j"), ((20,), "i"), (20, 20, 20), "prr", [0, 1, 2]),
    "or what goes back": (((20,), "19 - j"), ((20,), "i"), (20, 20, 20), "prr", [0, 1, 2]),
    "a parallel dim is as good as a reduction": (
        ((20, 20), "0, 0"), ((1,), "0"), (20, 20), "pr", [1, 0]),
    "nothing has no loops": (((9,), "3"), ((9,), "4"), (), "", []),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERS)
def test_loops_have_an_order(case: str) -> None:
    read, write, extents, iterators, expected = ORDERS[case]
    combiner = "add" if "r" in iterators else "set"
    subdomain = subdomain_of(write, [read], extents, iterators, combiner=combiner)
    assert loop_order(subdomain) == expected


@pytest.mark.parametrize(
    ("extents", "windows", "expected"),
    [((40, 3), True, [0, 1]), ((40, 3), False, [1, 0]), ((40, 8), True, [0, 1]),
     ((40, 9), True, [1, 0]), ((40, 4, 4), True, [0, 1, 2]), ((40, 4, 4), False, [1, 2, 0]),
     ((40, 3, 6), True, [1, 0, 2]), ((40, 2, 8), True, [0, 1, 2]), ((40, 7, 7), True, [1, 0, 2]),
     ((40, 2, 9), True, [1, 2, 0])],
)  # fmt: skip
def test_few_points_are_summed_inside_the_innermost_loop(extents, windows, expected) -> None:
    read = ((*extents[1:], 40), "j, i" if len(extents) == 2 else "j, k, i")
    subdomain = subdomain_of(((40,), "i"), [read], extents, "prr"[: len(extents)], combiner="add")
    assert loop_order(subdomain, windows=windows) == expected


@pytest.mark.parametrize(("combiner", "expected"), [("max", [0, 2, 1]), ("argmax", [0, 1, 2])])
def test_the_first_of_equals_needs_the_order_of_the_reductions(combiner, expected) -> None:
    subdomain = subdomain_of(
        ((20,), "i"), [((20, 20, 20), "i, k, j")], (20, 20, 20), "prr", combiner="max"
    )
    assert loop_order(replace(subdomain, combiner=combiner)) == expected
