"""Bodies that are 0 where a read is 0."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted.linalg.index_set_splitting import is_zero_without
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


# %a is 0 everywhere, %b is not known.
ZERO = [
    "%r = arith.mulf %a, %b : f32", "%r = arith.mulf %b, %a : f32", "%r = arith.addf %a, %a : f32",
    "%r = arith.subf %a, %a : f32", "%r = arith.negf %a : f32", "%r = arith.divf %a, %b : f32",
    '%r = "ted.stop_gradient"(%a) : (f32) -> f32',
    "%w = arith.extf %a : f32 to f64\n%r = arith.truncf %w : f64 to f32",
    "%k = arith.constant 0.0 : f32\n%r = arith.addf %a, %k : f32",
    "%k = arith.constant 0.0 : f32\n%r = arith.mulf %b, %k : f32",
    "%y = arith.cmpf olt, %a, %b : f32\n%r = arith.select %y, %a, %a : f32",
]  # fmt: skip
OTHER = [
    "%r = arith.addf %a, %b : f32", "%r = arith.addf %b, %a : f32", "%r = arith.subf %b, %a : f32",
    "%r = arith.subf %a, %b : f32", "%r = arith.divf %b, %a : f32", "%r = arith.negf %b : f32",
    "%r = math.cos %a : f32", "%k = arith.constant 1.0 : f32\n%r = arith.addf %a, %k : f32",
    "%y = arith.cmpf olt, %a, %b : f32\n%r = arith.select %y, %a, %b : f32",
    "%y = arith.cmpf olt, %a, %b : f32\n%r = arith.select %y, %b, %a : f32",
]  # fmt: skip


def is_zero(
    body: str, kinds: tuple[str, str] = ("f32", "f32"), guard: str = "i - 9 >= 0",
    combiner: str = "add",
) -> bool:  # fmt: skip
    """Whether an equation adds nothing whose read %a has a guard; none of 0 <= i < 9 holds this."""
    read, end = ((9,), "i"), f'\n"ted.yield"(%r) : ({kinds[0]}) -> ()'
    return is_zero_without(
        subdomain_of(read, [read, read], (9,), "p", body + end, kinds, combiner=combiner,
                 guards=[guard])
    )  # fmt: skip


@pytest.mark.parametrize("body", ZERO)
def test_nothing_is_added(body: str) -> None:
    assert is_zero(body)


@pytest.mark.parametrize("body", OTHER)
def test_something_may_be_added(body: str) -> None:
    assert not is_zero(body)


INTEGERS = {
    "i32": ["muli %x, %b", "muli %b, %x", "addi %x, %x", "subi %x, %x", "andi %b, %x"],
    "i64": ["extsi %x", "extui %x"], "i8": ["trunci %x"],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "op"), [(k, op) for k, row in INTEGERS.items() for op in row])
def test_integers_are_0_by_the_same_rules(kind: str, op: str) -> None:
    body = f"%r = arith.{op} : {'i32' if kind == 'i32' else f'i32 to {kind}'}"
    assert is_zero(body.replace("%x", "%a"), (kind, "i32"))
    assert not is_zero(body.replace("%x", "%b"), (kind, "i32"))


def test_only_sums_may_be_left_out_and_only_where_a_read_is_0() -> None:
    body = "%r = arith.mulf %a, %b : f32"
    assert not is_zero(body, combiner="set")
    assert not is_zero(body, combiner="max")
    assert not is_zero(body, guard="i - 8 >= 0")
    assert not is_zero("%r = arith.constant 0.0 : f32", guard="0 == 0")
