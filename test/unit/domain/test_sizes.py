"""Symbolic extents: canonical forms, ranges and comparisons against numbers."""

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest

from ted.domain.sizes import Size, Symbol, divided, evaluate, surely_at_most, symbolic
from ted.errors import DomainError

N, M = Symbol("n", 3), Symbol("m", 4, 4)
n, m = symbolic(N), symbolic(M)
VALUES = [{"n": a, "m": b} for a, b in itertools.product((3, 4, 7, 12), (4, 8, 20))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (n + 1 - 1, n), (n - n, 0), ((2 * n + 4) // 2, n + 2), (m // 4 * 4, m), (n * m, m * n),
        ((n * 4 + m) // 4, n + m // 4), ((m + 1) // 4, m // 4), ((n // 2) // 3, n // 6),
        ((n + 1) * (m - 2), n * m - 2 * n + m - 2), (m % 4, 0), (3 * (m // 2) % 2, 0),
    ],
)  # fmt: skip
def test_equal_spellings_are_equal(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("seed", range(40))
def test_arithmetic_and_ranges_agree_with_numbers(seed: int) -> None:
    rng = random.Random(seed)
    text = "n"
    for _ in range(rng.randint(1, 7)):
        k = rng.randint(1, 8)
        step = ["({0}) + {1}", "{1} - ({0})", "({0}) * {1}", "({0}) // {1}", "({0}) % {1}",
                "({0}) + m", "({0}) * m"][rng.randrange(7)]  # fmt: skip
        text = step.format(text, k)
    made = eval(text, {"n": n, "m": m})
    for values in VALUES:
        expected = eval(text, dict(values))
        got = made if isinstance(made, int) else made.evaluate(values)
        assert got == expected, text
        if isinstance(made, Size):
            assert made.range[0] <= expected <= made.range[1], text


@pytest.mark.parametrize(
    "holds", [n >= 3, n - 2 > 0, 2 * (n // 2) <= n, n * m >= n, n // 2 >= 1, m - 3 < m, m >= 4]
)
def test_what_follows_from_the_minima_is_decided(holds: bool) -> None:
    assert holds is True


def test_what_does_not_follow_is_refused_with_the_way_out() -> None:
    with pytest.raises(DomainError, match=r"\(n >= 3\), got n > 3; promise more by ted.size"):
        _ = n > 3
    assert not surely_at_most(n, 5)
    assert surely_at_most(3, n)


def test_a_division_by_a_size_is_refused() -> None:
    with pytest.raises(DomainError, match="the divisor must be a positive integer, got m // n"):
        _ = m // n  # pyright: ignore[reportOperatorIssue]


def test_a_product_is_divided_by_its_factors_only() -> None:
    assert divided(6 * n * m, 2 * n) == 3 * m
    assert divided(n * m, n * m) == 1
    assert divided(n * m, n * n) is None
    assert divided(n + m, n) is None


def test_extents_are_never_negative() -> None:
    assert evaluate(n - 10, {"n": 3}) == 0


def test_a_size_says_which_values_it_refuses() -> None:
    assert Symbol("m", 4, 4).refusal(2) == "must be at least 4"
    assert Symbol("m", 4, 4).refusal(6) == "must be a multiple of 4"
    assert Symbol("m", 4, 4).refusal(8) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (-(-n // 3), (n + 2) // 3), (5 * n // 2, 2 * n + n // 2), ((n // 2 + 1) // 3, (n + 2) // 6),
        (n**2, n * n), (abs(n), n), (+n, n), (divmod(m, 4), (m // 4, 0)), (n + np.int64(3), 3 + n),
        (-n // np.int64(2), -((n + 1) // 2)), (n**0, 1),
    ],
)  # fmt: skip
def test_more_spellings_are_equal(one: object, other: object) -> None:
    assert one == other


def test_numbers_beyond_floats_compare_exactly() -> None:
    assert n + 10**400 > 10**400
    assert not surely_at_most(n + 2**60, 2**60 + 2)
    assert surely_at_most(2**60 + 3, n + 2**60)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: n / 2, r"in a value write ted.cast\(size, 'float64'\) \(test_sizes.py"),
        (lambda: 2 / n, "got 2 / n"), (lambda: 1.5 * n, r"n \* 1.5"), (lambda: n < 1.5, "n < 1.5"),
        (lambda: 7 // n, "the divisor must be a positive integer, got 7 // n"),
        (lambda: 7 % n, "got 7 % n"), (lambda: n // 0, "got n // 0"), (lambda: n % 0, "got n % 0"),
        (lambda: n % -1, "got n % -1"), (lambda: n % m, "got n % m"),
        (lambda: 2**n, r"the exponent must be a number, got 2 \*\* n"),
        (lambda: n**-1, r"got n \*\* -1"), (lambda: range(n), "a number is needed here"),
        (lambda: [0] * n, "only when a function is called, got n"), (lambda: float(n), "got n"),
        (lambda: n < m, "or state one size by another, as in n = m"),
    ],
)  # fmt: skip
def test_what_a_size_cannot_do_is_refused_at_the_line(wrong: Callable, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        wrong()


@pytest.mark.parametrize(
    "size", [-(n // 2) + m, -((n + 1) // 2), 2 * (n // 2) - n, -m // 4 - n * m]
)
def test_a_text_is_the_size_in_python(size: Size) -> None:
    for values in VALUES:
        assert eval(str(size), dict(values)) == size.evaluate(values)
