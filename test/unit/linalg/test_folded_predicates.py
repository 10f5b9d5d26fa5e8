"""Conditions on indices that have one answer on a box, and those that have not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted.linalg.folded_predicates import (
    decide_selects,
    decided_conditions,
    needed_operations,
)
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


BODY = """%i = "ted.index"() {{dim = 0 : i64}} : () -> index
%j = "ted.index"() {{dim = 1 : i64}} : () -> index
%c2 = arith.constant 2 : index
%c5 = arith.constant 5 : index
%c9 = arith.constant 9 : index
%zero = arith.constant 0.0 : f32
%data = arith.cmpf olt, %a, %zero : f32
{}
%s = arith.select %c, %a, %b : f32
"ted.yield"(%s) : (f32) -> ()"""
# Of i in [2, 5) and j in [5, 8).
BOX = ((2, 5), (3, 3))


def decided(condition: str) -> tuple[str, list[str]]:
    """What the body yields, and the operations that are left."""
    reads = [((9, 9), "i, j"), ((9, 9), "j, i")]
    subdomain = subdomain_of(((9, 9), "i, j"), reads, (9, 9), "pp", BODY.format(condition)).cut(
        *BOX
    )
    decide_selects(subdomain)
    *rest, end = [view.operation for view in subdomain.body.operations]
    names = {subdomain.body.arguments[0]: "first", subdomain.body.arguments[1]: "second"}
    return names.get(end.operands[0], "undecided"), [op.name for op in rest]


COMPARISONS = {
    "slt": {"i, c2": False, "c2, i": None, "i, c5": True, "c5, i": False, "j, i": False,
            "i, j": True, "j, c5": False, "c5, j": None, "i, i": None},
    "sle": {"i, c2": None, "c2, i": True, "i, c5": True, "c5, i": False, "j, i": False,
            "j, c5": None, "c5, j": True, "j, c9": True, "c9, j": False},
    "sgt": {"c2, i": False, "i, c2": None, "c5, i": True, "i, c5": False, "j, i": True},
    "sge": {"c2, i": None, "i, c2": True, "c5, i": True, "i, c5": False, "j, c5": True},
    "eq": {"i, c2": None, "i, c5": False, "c5, i": False, "c9, j": False, "c2, c2": True,
           "i, i": None},
    "ne": {"i, c2": None, "i, c5": True, "c5, i": True, "c2, c2": False},
    "ult": {"i, c5": None, "c5, i": None},
}  # fmt: skip
NAMES = {True: "first", False: "second", None: "undecided"}


@pytest.mark.parametrize(
    ("predicate", "operands"), [(p, o) for p, row in COMPARISONS.items() for o in row]
)
def test_a_comparison_is_decided_where_no_value_is_against_it(predicate, operands) -> None:
    left, right = operands.split(", ")
    found, _ = decided(f"%c = arith.cmpi {predicate}, %{left}, %{right} : index")
    assert found == NAMES[COMPARISONS[predicate][operands]]


@pytest.mark.parametrize(
    ("of", "limit", "expected"),
    [("arith.addi %i, %j", 7, False), ("arith.addi %i, %j", 11, None),
     ("arith.addi %i, %j", 12, True), ("arith.subi %j, %i", 1, False),
     ("arith.subi %j, %i", 2, None), ("arith.subi %j, %i", 6, True),
     ("arith.muli %i, %j", 10, False), ("arith.muli %i, %j", 28, None),
     ("arith.muli %i, %j", 29, True), ("arith.divsi %i, %j", 100, None)],
)  # fmt: skip
def test_sums_differences_and_products_have_ranges(
    of: str, limit: int, expected: bool | None
) -> None:
    found, _ = decided(
        f"%n = {of} : index\n%k = arith.constant {limit} : index\n"
        "%c = arith.cmpi slt, %n, %k : index"
    )
    assert found == NAMES[expected]


PARTS = {True: "%j, %c9", False: "%j, %c5", None: "%i, %i"}  # operands of `slt`


@pytest.mark.parametrize("operation", ["andi", "ori"])
@pytest.mark.parametrize("left", [True, False, None])
@pytest.mark.parametrize("right", [True, False, None])
def test_one_operand_may_decide(operation: str, left: bool | None, right: bool | None) -> None:
    decisive = operation == "ori"
    expected = None if None in (left, right) else not decisive
    found, _ = decided(
        f"%p = arith.cmpi slt, {PARTS[left]} : index\n%q = arith.cmpi slt, {PARTS[right]} : index\n"
        f"%c = arith.{operation} %p, %q : i1"
    )
    assert found == NAMES[decisive if decisive in (left, right) else expected]


def test_conditions_on_data_are_not_decided_but_conditions_beside_them_may() -> None:
    assert decided("%c = arith.cmpi slt, %c2, %j : index")[1] == []
    found, left = decided("%p = arith.cmpi slt, %j, %c5 : index\n%c = arith.ori %p, %data : i1")
    assert found == "undecided"
    assert left[-1] == "arith.select"
    assert decided("%p = arith.cmpi slt, %j, %c5 : index\n%c = arith.andi %p, %data : i1") == (
        "second", []
    )  # fmt: skip
    assert decided("%c = arith.xori %data, %data : i1")[0] == "undecided"


def test_a_read_at_data_is_made_even_if_it_is_not_chosen() -> None:
    """It may be an error, whatever is done with its value."""
    load = '%b2 = "ted.load"(%A1, %data, %i, %j) {mode = "check"} : '
    load += "(tensor<9x9xf32>, i1, index, index) -> f32"
    condition = f"{load}\n%c = arith.cmpi slt, %i, %c5 : index"
    body = BODY.format(condition).replace("%a, %b :", "%a, %b2 :")
    reads = [((9, 9), "i, j"), ((9, 9), "j, i")]
    subdomain = subdomain_of(((9, 9), "i, j"), reads, (9, 9), "pp", body).cut(*BOX)
    decided = decided_conditions(subdomain)
    names = [op.name for op in needed_operations(subdomain.body, decided)]
    assert "ted.load" in names
    assert "arith.cmpi" not in names
