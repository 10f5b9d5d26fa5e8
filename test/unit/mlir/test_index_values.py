"""Forms and ranges of indices, against the values that they take in loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted.dialects import session
from ted.domain.linear import Form, term
from ted.mlir import ir
from ted.mlir.index_values import form_of, range_of
from ted.mlir.queries import operations

LOOPS = """
func.func @f(%n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c2 to %c5 step %c1 {{
    scf.for %j = %c0 to %i step %c1 {{
      %x = {}
      "test.use"(%x, %i, %j) : (index, index, index) -> ()
    }}
  }}
  return
}}
"""
POINTS = [(i, j) for i in range(2, 5) for j in range(i)]
KNOWN = {
    "arith.addi %i, %c2 : index": (term("i") + 2, lambda i, j: i + 2),
    "arith.subi %j, %i : index": (term("j") - term("i"), lambda i, j: j - i),
    "arith.muli %c5, %i : index": (term("i") * 5, lambda i, j: 5 * i),
    "arith.muli %i, %c5 : index": (term("i") * 5, lambda i, j: 5 * i),
    "arith.muli %i, %j : index": (None, lambda i, j: i * j),
    "arith.constant -3 : index": (Form(-3), lambda i, j: -3),
    "affine.apply affine_map<(d0, d1) -> (4 * d0 - d1 + 1)>(%i, %j)": (
        term("i") * 4 - term("j") + 1, lambda i, j: 4 * i - j + 1),
    "affine.apply affine_map<(d0)[s0] -> (d0 + 2 * s0)>(%i)[%c5]": (
        term("i") + 10, lambda i, j: i + 10),
    "affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%i)": (None, lambda i, j: i // 2),
    "affine.min affine_map<(d0) -> (d0 * 2, 7)>(%i)": (None, lambda i, j: min(2 * i, 7)),
    "affine.max affine_map<(d0)[s0] -> (d0 * 2, s0 + 1)>(%i)[%c5]": (
        None, lambda i, j: max(2 * i, 6)),
    "affine.apply affine_map<(d0)[s0] -> (d0 floordiv 2 + s0)>(%i)[%c5]": (
        None, lambda i, j: i // 2 + 5),
    "affine.min affine_map<(d0, d1) -> (d0 * 2, 3, d1 + 1)>(%i, %j)": (
        None, lambda i, j: min(2 * i, 3, j + 1)),
    "affine.max affine_map<(d0, d1) -> (d0 * 2, 6, d1)>(%i, %j)": (
        None, lambda i, j: max(2 * i, 6, j)),
}  # fmt: skip
UNKNOWN = ["arith.addi %i, %n : index", "affine.apply affine_map<(d0) -> (d0 + 1)>(%n)",
           "arith.divui %i, %c2 : index"]  # fmt: skip


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with session() as context:
        context.allow_unregistered_dialects = True
        yield


def parsed(text: str) -> tuple[ir.Module, list[ir.Value]]:
    """What is computed, and the counters i and j; the module keeps them."""
    module = ir.Module.parse(LOOPS.format(text))
    (use,) = operations(module.operation, "test.use")
    return module, list(use.operands)


@pytest.mark.parametrize("text", KNOWN)
def test_sums_and_multiples_of_counters_are_forms(text: str) -> None:
    module, (value, i, j) = parsed(text)
    names = {i: term("i"), j: term("j")}
    assert form_of(value, names.get) == KNOWN[text][0]
    assert module.operation.verify()


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_not_known_has_neither_form_nor_range(text: str) -> None:
    _, (value, i, j) = parsed(text)
    assert form_of(value, {i: term("i"), j: term("j")}.get) is None
    assert range_of(value) is None


@pytest.mark.parametrize("text", KNOWN)
def test_ranges_hold_all_values_and_are_exact_of_one_counter(text: str) -> None:
    module, (value, _, _) = parsed(text)
    assert module.operation.verify()
    found = [KNOWN[text][1](i, j) for i, j in POINTS]
    low, high = range_of(value) or (1, 0)
    assert low <= min(found) <= max(found) <= high
    if "%j" not in text:
        assert (low, high) == (min(found), max(found))


def test_given_ranges_are_believed_and_found_ones_are_noted() -> None:
    _, (value, i, j) = parsed("arith.addi %i, %j : index")
    known: dict[ir.Value, tuple[int, int] | None] = {j: (7, 9)}
    assert range_of(value, known) == (9, 13)
    assert known[i] == (2, 4)
