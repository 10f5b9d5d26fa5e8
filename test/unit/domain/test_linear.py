"""Linear forms: sums, products and compositions, against their values at points."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted.domain import intervals
from ted.domain.linear import Form, dot, term

NUMBERS = st.integers(-5, 5)
FORMS = st.builds(
    lambda constant, a, b, c: Form[str](constant) + term("a") * a + term("b") * b + term("c") * c,
    NUMBERS, NUMBERS, NUMBERS, NUMBERS,
)  # fmt: skip
POINTS = st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS, "c": NUMBERS})


def value(form: Form[str], point: Mapping[str, int]) -> int:
    return form.constant + sum(point[name] * factor for name, factor in form.terms)


@given(FORMS, FORMS, NUMBERS, POINTS)
def test_arithmetic_is_that_of_the_values(left, right, number, point) -> None:
    a, b = value(left, point), value(right, point)
    assert value(left + right, point) == a + b
    assert value(left - right, point) == a - b
    assert value(left + number, point) == value(number + left, point) == a + number
    assert value(left - number, point) == a - number
    assert value(left * number, point) == a * number
    assert value(dot([left, right], [number, 3]), point) == a * number + b * 3


@given(FORMS, FORMS, POINTS)
def test_a_product_is_linear_if_one_side_is_a_number(left, right, point) -> None:
    found = left.times(right)
    assert (found is None) == bool(left.terms and right.terms)
    if found is not None:
        assert value(found, point) == value(left, point) * value(right, point)


@given(FORMS, FORMS, FORMS, FORMS, POINTS)
def test_forms_in_the_place_of_terms(outer, a, b, c, point) -> None:
    inner = {"a": a, "b": b, "c": c}
    values = {name: value(form, point) for name, form in inner.items()}
    assert value(outer.compose(inner), point) == value(outer, values)


def test_forms_in_the_place_of_dims_come_in_order() -> None:
    assert (term(0) * 2 + term(1) + 5).compose([term("i"), term("j") + 1]) == (
        term("i") * 2 + term("j") + 6
    )


@given(FORMS, FORMS)
def test_no_term_comes_twice_or_not_at_all(left, right) -> None:
    for form in (left + right, left - right, left * 0, left * 2):
        assert all(factor for _, factor in form.terms)
        assert len(form.dims) == len(form.terms)
        assert {name: form[name] for name in form.dims} == dict(form.terms)
        assert form["absent"] == 0


@given(FORMS, FORMS)
def test_equal_forms_have_equal_factors_in_any_order(left, right) -> None:
    assert left + right == right + left
    assert hash(left + right) == hash(right + left)
    same = (left.constant, {**dict(left.terms)}) == (right.constant, {**dict(right.terms)})
    assert (left == right) == same
    assert left != "text"


@pytest.mark.parametrize("factors", list(product(range(-2, 3), repeat=3)))
def test_the_ends_of_a_form_are_its_values(factors: tuple[int, int, int]) -> None:
    box = [(-2, 1), (0, 3), (2, 2)]
    form = dot([term(k) for k in range(3)], factors) + 4
    found = [
        4 + sum(f * p for f, p in zip(factors, point, strict=True))
        for point in product(*(range(low, high + 1) for low, high in box))
    ]
    assert intervals.of_form(form, box) == (min(found), max(found))
