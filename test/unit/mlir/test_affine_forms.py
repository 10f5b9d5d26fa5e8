"""Linear forms of affine expressions, against the values of the expressions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from ted.dialects import session
from ted.domain.linear import Form, term
from ted.mlir import ir
from ted.mlir.affine_forms import linear, single_dim, substitute

i, j = term(0), term(1)


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with session():
        yield


def expression(text: str) -> ir.AffineExpr:
    """An expression in dims i and j and symbols s and t."""
    return ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<(i, j)[s, t] -> ({text})>")).value \
        .results[0]  # fmt: skip


FORMS = {
    "7": Form(7),
    "i": i,
    "i + j": i + j,
    "2 * i - 3 * j + 1": i * 2 - j * 3 + 1,
    "(i + 2 * j) * 4 - i": i * 3 + j * 8,
    "i - i": Form(),
    "-(j - i) * 2": i * 2 - j * 2,
}
CURVED = ["i floordiv 2", "i mod 3 + j", "(i + 1) ceildiv 2", "2 * (j mod 2)", "(i floordiv 2) * 2"]


@pytest.mark.parametrize("text", FORMS)
def test_sums_and_multiples_are_linear(text: str) -> None:
    assert linear(expression(text)) == FORMS[text]


@pytest.mark.parametrize("text", CURVED)
def test_divisions_and_remainders_are_not(text: str) -> None:
    assert linear(expression(text)) is None


def test_symbols_follow_the_dims_where_their_number_is_given() -> None:
    assert linear(expression("i + 2 * s")) is None
    assert linear(expression("i + 2 * s - t"), 2) == i + term(2) * 2 - term(3)
    assert linear(expression("i * s"), 2) is None


@pytest.mark.parametrize("factors", list(product((-2, 0, 1), (-1, 0, 3), (-4, 0, 5))))
def test_a_dim_alone_is_told_from_a_number_and_from_two_dims(factors) -> None:
    a, b, constant = factors
    found = single_dim(expression(f"{a} * i + {b} * j + {constant}"))
    if a and b:
        assert found is None
    else:
        assert found == ((0, a) if a else (1, b) if b else (-1, 0)) + (constant,)


def test_what_is_not_linear_has_no_dim_alone() -> None:
    assert single_dim(expression("i mod 2")) is None


def test_dims_are_replaced_by_later_ones() -> None:
    later = ir.AffineExpr.get_dim(5)
    found = substitute([later * 9, ir.AffineExpr.get_constant(1)], expression("i + 2 * j"))
    assert linear(found) == term(5) * 9 + 2
