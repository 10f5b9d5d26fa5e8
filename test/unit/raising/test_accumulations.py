"""Bodies of reductions: which combiner they are, and which are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ted.ir import scalar
from ted.ir.dtypes import BOOL, FLOAT64, INT64, DType
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.raising.accumulations import accumulation, best


def element(name: str, dtype: DType = FLOAT64) -> Expr:
    return scalar.load(Tensor(name, (), dtype), ())


T, A, B = element("total"), element("a"), element("b")
P, Q = element("total", BOOL), element("p", BOOL)


def select(name: str, a: Expr, b: Expr, yes: Expr, no: Expr) -> Expr:
    return scalar.select(scalar.compare(name, a, b), yes, no)


ROWS: dict[str, tuple[Expr, str, Expr]] = {
    "sum": (scalar.add(T, A), "add", A),
    "sum from the right": (scalar.add(A, T), "add", A),
    "two values": (scalar.add(scalar.add(T, A), B), "add", scalar.add(A, B)),
    "difference": (scalar.sub(T, A), "add", scalar.sub(scalar.const(0, FLOAT64), A)),
    "sum less another value": (scalar.sub(scalar.add(T, A), B), "add", scalar.sub(A, B)),
    "difference and a value": (
        scalar.add(scalar.sub(T, A), B),
        "add",
        scalar.add(scalar.sub(scalar.const(0, FLOAT64), A), B),
    ),
    "product": (scalar.mul(T, A), "mul", A),
    "product of two": (scalar.mul(scalar.mul(T, A), B), "mul", scalar.mul(A, B)),
    "maximum": (scalar.extremum("maximum", A, T), "max", A),
    "minimum": (scalar.extremum("minimum", T, A), "min", A),
    "or": (scalar.lor(P, Q), "max", Q),
    "and": (scalar.land(Q, P), "min", Q),
    "sum where": (
        select("lt", A, B, scalar.add(T, A), T),
        "add",
        select("lt", A, B, A, scalar.const(0, FLOAT64)),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_joins_the_total_once_is_a_combiner(name: str) -> None:
    body, combiner, value = ROWS[name]
    found = accumulation(body, P if body.dtype == BOOL else T)
    assert found is not None
    assert (found.combiner, found.value) == (combiner, value)


NAN = scalar.compare("ne", A, A)
GUARDED = {c: scalar.select(NAN, scalar.const(v, FLOAT64), A) for c, v in
           (("max", float("-inf")), ("min", float("inf")))}  # fmt: skip

M, C = element("total", INT64), element("c", INT64)

# What of them is NaN is passed over, or stays; integers have none.
CHOICES: dict[str, tuple[Expr, str, Expr]] = {
    "greater": (select("lt", T, A, A, T), "max", GUARDED["max"]),
    "greater or equal": (select("le", T, A, A, T), "max", GUARDED["max"]),
    "less": (select("lt", A, T, A, T), "min", GUARDED["min"]),
    "greater or NaN": (scalar.select(scalar.lor(scalar.compare("lt", T, A), NAN), A, T), "max", A),
    "not less": (select("lt", C, M, M, C), "max", C),
    "not greater": (select("lt", M, C, M, C), "min", C),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_the_greater_or_the_lesser_is_an_extremum(name: str) -> None:
    body, combiner, value = CHOICES[name]
    found = accumulation(body, M if value is C else T)
    assert found is not None
    assert (found.combiner, found.value) == (combiner, value)


OTHERS: dict[str, Expr] = {
    "a decayed sum": scalar.add(scalar.mul(T, B), A),
    "the total twice": scalar.add(T, scalar.mul(T, A)),
    "a difference from the right": scalar.sub(A, T),
    "a quotient": scalar.div(T, A),
    "the last one": A,
    "a choice by another value": select("lt", B, T, A, T),
    "a choice of equals": select("eq", A, T, A, T),
    "a total of NaN that gives way": select("lt", A, T, T, A),
    "the greatest below a number": scalar.select(
        scalar.land(scalar.compare("lt", T, A), scalar.compare("lt", A, scalar.const(3, FLOAT64))),
        A,
        T,
    ),
    "sums or products": select("lt", A, B, scalar.add(T, A), scalar.mul(T, A)),
    "a function of the total": scalar.apply("sin", scalar.add(T, A)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_more_with_the_total_is_no_combiner(name: str) -> None:
    assert accumulation(OTHERS[name], T) is None


N, K = element("at", INT64), scalar.cast(scalar.dim(1), INT64)


def payload(condition: Expr) -> Expr:
    return scalar.select(condition, K, N)


def greater(a: Expr, b: Expr) -> Expr:
    return scalar.compare("lt", b, a)


def first(a: Expr, b: Expr, better: Callable[[Expr, Expr], Expr]) -> Expr:
    equal = scalar.land(scalar.compare("eq", a, b), scalar.compare("lt", K, N))
    return scalar.lor(better(a, b), equal)


def test_a_value_and_what_belongs_to_it_are_the_best_one() -> None:
    least, greatest = (scalar.extremum(n, A, T) for n in ("minimum", "maximum"))
    rows = [
        (greatest, payload(greater(A, T)), "argmax", A, "first"),
        (greatest, payload(first(A, T, greater)), "argmax", A, "least"),
        (select("lt", T, A, A, T), payload(greater(A, T)), "argmax", GUARDED["max"], "first"),
        (least, payload(scalar.compare("lt", A, T)), "argmin", A, "first"),
    ]
    for value, at, combiner, given, of_equals in rows:
        found = best([value, at], [T, N])
        assert found is not None
        assert (found.combiner, found.value, found.payload) == (combiner, given, K)
        assert found.of_equals == of_equals


def test_choices_that_differ_are_not_the_best_one() -> None:
    greatest = scalar.extremum("maximum", A, T)
    assert best([greatest, payload(scalar.compare("lt", A, T))], [T, N]) is None
    assert best([greatest, payload(scalar.compare("le", T, A))], [T, N]) is None
    assert best([scalar.add(A, T), payload(greater(A, T))], [T, N]) is None
    assert best([greatest, payload(greater(A, B))], [T, N]) is None
    with_nan = scalar.lor(greater(A, T), NAN)
    assert best([select("lt", T, A, A, T), payload(with_nan)], [T, N]) is None
