"""Factors of sizes: what they are multiples of, and how they are written."""

from fractions import Fraction

import pytest

from ted.domain.size_factors import LONGEST, Symbol, multiple_of, order_of, ratio_of, step_of
from ted.domain.sizes import Quotient, Size, symbolic

N, E = Symbol("n"), Symbol("e", 5, 4)


def test_a_symbol_refuses_what_it_does_not_promise() -> None:
    assert E.refusal(8) is None
    assert Symbol("k", 8, 4).refusal(8) is None
    assert Symbol("k", 8, 4).refusal(4) == "must be at least 8"
    assert E.refusal(6) == "must be a multiple of 4"
    assert N.refusal(LONGEST - 1) is None
    assert N.refusal(LONGEST) == "must be below 2**63"


@pytest.mark.parametrize(
    ("least", "step", "expected"), [(5, 4, 2), (8, 4, 2), (1, 1, 1), (0, 3, 0)]
)
def test_the_least_unit_is_rounded_up(least: int, step: int, expected: int) -> None:
    assert Symbol("k", least, step).least_unit == expected


def test_multiples_of_terms() -> None:
    quotient = Quotient(symbolic(N), 3)
    assert multiple_of((E, E)) == 16
    assert multiple_of((E, quotient)) == 4
    assert step_of(3, (E,)) == 12
    assert step_of(Fraction(1, 2), (E,)) == 2
    assert ratio_of(6, 3) == 2
    assert isinstance(ratio_of(6, 3), int)
    assert ratio_of(3, 2) == Fraction(3, 2)


def test_long_products_come_first_then_names() -> None:
    terms = [(N,), (E, N), (E,)]
    assert sorted(terms, key=order_of) == [(E, N), (E,), (N,)]


n, e = symbolic(N), symbolic(E)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (n + 0, "n"), (n // 2, "n//2"), (2 * (n // 2), "2*(n//2)"), (e // 2, "e//2"),
        ((n + 1) // 2, "(n + 1)//2"), ((n // 2) * n, "n*(n//2)"),
        (n - 3, "n - 3"), (-n + 3, "-n + 3"),
        (-(n // 2), "-(n//2)"), (n * e + n, "e*n + n"), (3 * n + 2, "3*n + 2"),
        (3 * e // 4, "3*(e//4)"), ((2 * n) // 3, "(2*n)//3"), (n - e // 2, "-(e//2) + n"),
    ],
)  # fmt: skip
def test_a_size_is_written_as_python_has_it(size: Size, text: str) -> None:
    assert str(size) == text
