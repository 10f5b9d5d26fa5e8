"""Totals of f16 and bf16 in f32 while an element is added to more than once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted.linalg.wide_accumulators import in_wide_totals
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


def casts(kind: str, iterators: str, combiner: str, at_data: bool = False) -> list[str]:
    """What is computed around the loops of an equation, and of what their totals are."""
    index = "%k = arith.constant 3 : index\n" if at_data else ""
    values = f"(%a, %k) : ({kind}, index)" if at_data else f"(%a) : ({kind})"
    subdomain = subdomain_of(
        ((9,), "s0" if at_data else "i"), [((9, 9), "i, j")], (9, 9), iterators,
        f'{index}"ted.yield"{values} -> ()', (kind, kind), combiner=combiner,
        symbols="[s0]" if at_data else "",
    )  # fmt: skip
    found = []

    def emit(totals: list[ir.Value]) -> list[ir.Value]:
        found.append(f"emit {element_type(totals[0])}")
        return totals

    start = defining(subdomain.inits[0])
    assert start is not None
    with ir.InsertionPoint.after(start), subdomain.location:
        (result,) = in_wide_totals(subdomain, list(subdomain.inits), emit)
    if result == subdomain.inits[0]:
        return found
    back = defining(result)
    assert back is not None
    assert back.operands[1] == subdomain.inits[0]  # into the memory of the first
    there = defining(back.operands[0])
    assert there is not None
    assert there.operands[0] == subdomain.inits[0]
    inner = [op.regions[0].blocks[0].operations[0].operation.name for op in (there, back)]
    return [inner[0], *found, inner[1]]


WIDE = ["arith.extf", "emit f32", "arith.truncf"]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_sum_of_16_bits_is_widened_once_and_rounded_once(kind: str) -> None:
    assert casts(kind, "pr", "add") == WIDE
    assert casts(kind, "pr", "max") == WIDE
    assert casts(kind, "rr", "add", at_data=True) == WIDE


def test_a_total_that_is_stored_once_and_one_of_32_bits_stay() -> None:
    assert casts("bf16", "pp", "set") == ["emit bf16"]
    assert casts("f32", "pr", "add") == ["emit f32"]
    assert casts("f64", "pr", "add") == ["emit f64"]
