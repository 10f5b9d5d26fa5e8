"""Bodies are read as sums of products, without distributing what would cancel."""

from __future__ import annotations

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import add, dim, div, load, mul, neg, sub
from ted.transforms.sums_of_products import MOST, collected, factors, product, summands

ROW, COLUMN, R = dim(0), dim(1), dim(2)
SUMMED = frozenset({2})


def read(name: str, *dims: Expr) -> Expr:
    return load(Tensor(name, (4,) * len(dims), FLOAT64), dims)


A, B, C, D, G = (
    read("a", ROW, R),
    read("b", R, COLUMN),
    read("c", ROW, R),
    read("d", R, COLUMN),
    read("g", COLUMN),
)


def texts(body: Expr) -> list[str]:
    return [" ".join(map(str, term)) for term in summands(body, SUMMED)]


def test_products_that_are_added_or_subtracted_are_terms() -> None:
    assert texts(add(mul(A, B), mul(C, D))) == ["a[d0, d2] b[d2, d1]", "c[d0, d2] d[d2, d1]"]
    assert texts(sub(mul(A, B), C)) == ["a[d0, d2] b[d2, d1]", "c[d0, d2] -1"]
    assert texts(neg(mul(A, B))) == ["a[d0, d2] b[d2, d1] -1"]


def test_what_the_sum_does_not_depend_on_is_a_factor_of_each_term() -> None:
    assert texts(mul(G, add(A, B))) == ["a[d0, d2] g[d1]", "b[d2, d1] g[d1]"]
    assert texts(div(add(A, B), G)) == ["a[d0, d2] 1/g[d1]", "b[d2, d1] 1/g[d1]"]


def test_a_product_of_sums_stays_one() -> None:
    difference = sub(A, B)
    assert summands(mul(difference, difference), SUMMED) == [(difference, difference)]


def test_a_body_with_too_many_terms_stays_whole() -> None:
    body = A
    for _ in range(200):  # shared: written out, there are 2 ** 20 terms
        body = add(body, body)
    assert summands(body, SUMMED) == [(body,)]
    power = A
    for _ in range(200):
        power = mul(power, power)
    assert factors(power) == (power,)
    assert len(factors(mul(mul(A, B), mul(C, D)))) == 4 <= MOST


def test_a_product_divides_by_what_its_factors_divide_by() -> None:
    (term,) = summands(div(mul(A, B), G), SUMMED)
    assert product(term) is div(mul(A, B), G)


def test_common_factors_are_collected_where_the_rest_is_over_the_same_dims() -> None:
    assert collected([(A, B), (A, D)]) == [(A, add(B, D))]
    assert collected([(A, B), (A, G)]) == [(A, B), (A, G)]
    assert collected([(A, B), (C, D)]) == [(A, B), (C, D)]
    assert collected([(A,), (A, B)]) == [(A,), (A, B)]
