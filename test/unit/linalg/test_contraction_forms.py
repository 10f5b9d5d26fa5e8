"""Which equations are sums of products of two operands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted.linalg.contraction_forms import is_contraction
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


def is_one(
    body: str, reads: str = "i, k; k, j", iterators: str = "ppr", combiner: str = "add",
    kinds: tuple[str, str] = ("f32", "f32"), guards: tuple[str, ...] = (),
) -> bool:  # fmt: skip
    """Whether an equation over i, j, k is a contraction."""
    extents = (9, 9, 9)[: len(iterators)]
    write = ((9, 9), "i, j")
    accesses = [((9, 9), subscripts) for subscripts in reads.split("; ")]
    end = f'\n"ted.yield"(%r) : ({kinds[0]}) -> ()'
    return is_contraction(
        subdomain_of(write, accesses, extents, iterators, body + end, kinds, combiner=combiner,
                 guards=guards)
    )  # fmt: skip


PRODUCT = "%r = arith.mulf %a, %b : f32"


def test_a_product_with_a_sum_and_dims_of_its_own_for_each_factor_is_one() -> None:
    assert is_one(PRODUCT)
    assert is_one("%r = arith.mulf %b, %a : f32", "k, j; i, k")
    assert is_one("%r = arith.muli %a, %b : i32", kinds=("i32", "i32"))
    wide = "%p = arith.extf %a : f16 to f32\n%q = arith.extf %b : f16 to f32\n"
    assert is_one(wide + "%r = arith.mulf %p, %q : f32", kinds=("f32", "f16"))


@pytest.mark.parametrize(
    ("body", "reads"),
    [(PRODUCT, "i, k; i, k"), (PRODUCT, "i, j; k, j"), (PRODUCT, "i, 0; 0, j"),
     (PRODUCT, "k, k; k, j"), ("%r = arith.addf %a, %b : f32", "i, k; k, j"),
     ("%r = arith.mulf %a, %a : f32", "i, k; k, j"),
     ("%e = math.exp %a : f32\n%r = arith.mulf %e, %b : f32", "i, k; k, j"),
     ("%p = arith.mulf %a, %b : f32\n%r = arith.mulf %p, %c : f32", "i, k; k, j; i, j")],
)  # fmt: skip
def test_other_products_and_dims_are_none(body: str, reads: str) -> None:
    assert not is_one(body, reads)


def test_what_is_not_summed_or_not_there_is_none() -> None:
    assert not is_one(PRODUCT, combiner="max")
    assert not is_one(PRODUCT, "i, 0; 0, j", "pp")
    assert not is_one(PRODUCT, guards=("i - 9 >= 0",))
    assert is_one(PRODUCT, guards=("i - 8 >= 0",))
