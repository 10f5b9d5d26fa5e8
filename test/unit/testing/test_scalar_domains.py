"""What operations mean on numbers of a field, and on real numbers: each by its definition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ted.dialects import session
from ted.mlir import ir
from ted.testing.dual_numbers import PARTIALS
from ted.testing.equivalence import _distance
from ted.testing.interpreter_tensors import copied
from ted.testing.prime_field import (
    INFINITY,
    PRIME,
    Element,
    PrimeField,
    element_of,
    formal,
    hashed,
    simplest,
)
from ted.testing.real_numbers import Reals
from ted.testing.validation import _close


@pytest.fixture(autouse=True)
def mlir() -> Iterator[None]:
    with session():
        yield


def applied(domain: Any, text: str, kinds: Sequence[str], given: Sequence[Any]) -> Any:
    """What an operation on %a, %b, ... of these types makes of numbers."""
    names = "abc"[: len(kinds)]
    arguments = ", ".join(f"%{n}: {k}" for n, k in zip(names, kinds, strict=True))
    module = ir.Module.parse(f"func.func @f({arguments}) {{ %r = {text} return }}")
    op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
    return domain.function(op)(*given)


HALF, TWO, NAN = Element(1) / Element(2), Element(2), hashed("nan")
F, BYTE = "f32", "i8"
# An operation, the types of what it takes, that, and what it makes of that.
ON_THE_FIELD: list[tuple[str, tuple[str, ...], tuple[Any, ...], Any]] = [
    ("arith.addf %a, %b : f32", (F, F), (HALF, TWO), Element(5) / Element(2)),
    ("arith.subf %a, %b : f32", (F, F), (HALF, TWO), Element(-3) / Element(2)),
    ("arith.mulf %a, %b : f32", (F, F), (HALF, TWO), Element(1)),
    ("arith.divf %a, %b : f32", (F, F), (HALF, TWO), Element(1) / Element(4)),
    ("arith.negf %a : f32", (F,), (HALF,), Element(-1) / Element(2)),
    ("arith.extf %a : f32 to f64", (F,), (HALF,), HALF),
    ("arith.truncf %a : f32 to f16", (F,), (HALF,), HALF),
    ("arith.maximumf %a, %b : f32", (F, F), (HALF, TWO), TWO),
    ("arith.maxnumf %a, %b : f32", (F, F), (TWO, HALF), TWO),
    ("arith.minimumf %a, %b : f32", (F, F), (HALF, TWO), HALF),
    ("arith.minnumf %a, %b : f32", (F, F), (TWO, -HALF), -HALF),
    ("math.absf %a : f32", (F,), (-HALF,), HALF),
    ("math.fma %a, %b, %c : f32", (F, F, F), (HALF, TWO, TWO), Element(3)),
    ("math.copysign %a, %b : f32", (F, F), (-HALF, TWO), HALF),
    ("math.copysign %a, %b : f32", (F, F), (HALF, -TWO), -HALF),
    ("math.isnan %a : f32", (F,), (NAN,), True),
    ("math.isnan %a : f32", (F,), (HALF,), False),
    ("math.isinf %a : f32", (F,), (-INFINITY,), True),
    ("math.isinf %a : f32", (F,), (TWO,), False),
    ("math.isfinite %a : f32", (F,), (INFINITY,), False),
    ("math.isfinite %a : f32", (F,), (TWO,), True),
    ("arith.sitofp %a : i8 to f32", (BYTE,), (np.int8(-3),), Element(-3)),
    ("arith.sitofp %a : i1 to f32", ("i1",), (np.bool_(True),), Element(-1)),
    ("arith.uitofp %a : i8 to f32", (BYTE,), (np.int8(-3),), Element(253)),
    ("arith.uitofp %a : i1 to f32", ("i1",), (np.bool_(True),), Element(1)),
    ("arith.fptosi %a : f32 to i8", (F,), (Element(-11) / Element(4),), -2),
    ("arith.fptoui %a : f32 to i8", (F,), (Element(11) / Element(4),), 2),
    ("arith.constant 0.1 : f32", (), (), Element(1) / Element(10)),
    ("arith.constant 3 : i8", (), (), 3),
    ("math.sin %a : f32", (F,), (HALF,), formal("math.sin", HALF)),
    ("math.exp %a : f32", (F,), (Element(0),), Element(1)),
]


@pytest.mark.parametrize("row", ON_THE_FIELD, ids=lambda row: row[0])
def test_operations_on_the_field(row: Any) -> None:
    text, kinds, given, wanted = row
    assert applied(PrimeField(), text, kinds, given) == wanted


ON_REAL_NUMBERS: list[tuple[str, tuple[str, ...], tuple[Any, ...], float]] = [
    ("arith.constant 0.1 : f32", (), (), 0.1),
    ("arith.constant 0x7F800000 : f32", (), (), math.inf),
    ("arith.extf %a : f32 to f64", (F,), (np.float64(0.3),), 0.3),
    ("arith.truncf %a : f32 to f16", (F,), (np.float64(0.3),), 0.3),
    ("arith.sitofp %a : i8 to f32", (BYTE,), (np.int8(-3),), -3.0),
    ("arith.uitofp %a : i8 to f32", (BYTE,), (np.int8(-3),), 253.0),
    ("math.fma %a, %b, %c : f32", (F, F, F), (0.5, 4.0, 1.0), 3.0),
    ("arith.mulf %a, %b : f16", ("f16", "f16"), (np.float64(3e4), np.float64(3e4)), 9e8),
    ("arith.constant 3 : i8", (), (), 3),
]


@pytest.mark.parametrize("row", ON_REAL_NUMBERS, ids=lambda row: row[0])
def test_operations_on_real_numbers(row: Any) -> None:
    text, kinds, given, wanted = row
    assert applied(Reals(), text, kinds, given) == wanted


def test_numbers_and_combiners_of_real_numbers_are_of_float64() -> None:
    reals = Reals()
    assert reals.number("f16", 0.1) == 0.1
    assert reals.number("bf16", -math.inf) == -math.inf
    assert reals.number("i8", 44) == 44
    assert reals.array_type("bf16") == np.float64
    assert reals.array_type("i8") == np.int8
    assert reals.combiner("add", "f16")(np.float64(2048), np.float64(1)) == 2049


# A type, and primes around the greatest denominator that is told from other numbers.
TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
DENOMINATORS = {"f64": (1048573, 1048583), "f32": (2039, 2053), "f16": (61, 67), "bf16": (61, 67)}


@pytest.mark.parametrize("kind", DENOMINATORS)
def test_constants_are_simple_fractions_within_their_rounding(kind: str) -> None:
    simple, other = DENOMINATORS[kind]
    near = [float(np.asarray(1 / n, TYPES[kind])) for n in (simple, other)]
    assert simplest(near[0], kind) == Fraction(1, simple)
    assert simplest(near[1], kind) == Fraction(near[1])
    assert element_of(near[0], kind) == Element(1) / Element(simple)
    assert element_of(math.nan, kind) == NAN
    assert [element_of(x, kind) for x in (math.inf, -math.inf)] == [INFINITY, -INFINITY]
    assert -INFINITY < Element(-(2**20)) < HALF < Element(2**20) < INFINITY
    assert Element(PRIME) == Element(0)


def test_the_slope_of_asinh_is_a_quotient_beyond_large_numbers() -> None:
    for x in (Element(100), Element(-100), Element(10**9)):
        (slope,) = PARTIALS["math.asinh"](Element(0), x)
        assert slope == Element(1) / formal("math.sqrt", Element(1) + x * x)
    for sign in (1, -1):
        (slope,) = PARTIALS["math.asinh"](Element(0), Element(sign * (10**9 + 1)))
        assert slope == Element(1) / Element(10**9 + 1)


def test_scalars_are_their_own_copies() -> None:
    assert copied(3.5) == 3.5


DISTANCES = [
    (1.0, 1.0, 0), (1.0, 1.5, 0.5), (-4.0, -5.0, 0.25), (math.inf, math.inf, 0),
    (math.inf, -math.inf, 1), (math.nan, math.nan, 0), (math.nan, 0.0, 1), (0.0, math.inf, 1),
    (1e-9, 0.0, 1e-9),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "apart"), DISTANCES)
def test_distances_are_of_the_largest_number(one: float, other: float, apart: float) -> None:
    np.testing.assert_allclose(_distance(np.array([one]), np.array([other])), [apart])


def test_integers_are_apart_or_not() -> None:
    np.testing.assert_array_equal(_distance(np.array([1, 2]), np.array([1, 300])), [0, 1])


def test_what_is_close_differs_by_roundings_of_the_largest_number() -> None:
    a = np.array([1e8, 1.0, math.nan])
    assert _close(a, a + np.array([0, 1e-7, 0]))
    assert not _close(a, a + np.array([0, 1e-2, 0]))
    assert not _close(a, a[:2])
    assert not _close(np.zeros(2), np.array([0.0, 1e-3]))
    assert not _close(a, np.array([1e8, math.nan, 1.0]))
