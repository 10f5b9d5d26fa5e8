"""Python numbers in programs: what a type holds is rounded to it, all else is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.ir.dtypes import ELEMENT_TYPES, DType
from unit.frontend.tracing import run

INTEGER = ted.placeholder((3,), "int32", name="integer")
SHORT = ted.placeholder((3,), "int8", name="short")
HALF = ted.placeholder((3,), "float16", name="half")
AT = ted.placeholder((2,), "int64", name="at")
SOME = ted.ones((2,), "int32")
ADD = ted.reducer(lambda a, b: a + b, 0, name="add")
HALVES = ted.reducer(lambda a, b: 0.5, 0, name="halves")

NUMBERS: list[Any] = [
    True, 0, 1, 2, -1, 127, 128, -128, -129, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1,
    2**63, -(2**63), 10**400, -(10**5000), 0.0, -0.0, 1.0, 3.0, 3.5, -0.5, 1e-300, 1e300, 2.0**63,
    math.nan, math.inf, -math.inf, np.float32(2.5), np.int8(7), np.float64(300.0),
]  # fmt: skip


def edges(dtype: DType) -> list[Any]:
    """The largest number of a float type, and those on both sides of where it becomes infinite."""
    info = ml_dtypes.finfo(dtype.name)
    last = int(float(info.max)) - int(float(np.nextafter(info.max, info.dtype.type(0))))
    turn = int(float(info.max)) + last // 2
    return [int(float(info.max)), turn - 1, turn, 1 - turn, -turn]


def holds(value: Any, dtype: DType) -> bool:
    """By definition, and of floats by numpy."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not dtype.is_float:
        ends = np.iinfo(dtype.name) if dtype.kind == "int" else None
        low, high = (int(ends.min), int(ends.max)) if ends else (0, 1)
        return low <= plain <= high and plain == int(plain)
    try:
        with np.errstate(over="ignore"):
            rounded = np.asarray(float(plain)).astype(dtype.name)
    except OverflowError:
        return False
    return bool(np.isfinite(rounded)) == math.isfinite(plain)


@pytest.mark.parametrize("dtype", ELEMENT_TYPES, ids=str)
def test_a_number_is_the_one_that_was_written_or_refused(dtype: DType) -> None:
    for value in [*NUMBERS, *(edges(dtype) if dtype.is_float else ())]:
        if holds(value, dtype):
            (found,) = run(lambda value=value: [ted.full((), value, dtype)])
            plain = float(value) if dtype.is_float else int(value)
            assert str(found) == str(np.asarray(plain).astype(dtype.name))
            continue
        message = rf"full: the constant must fit the type {dtype}, got .*; {dtype} holds "
        with pytest.raises(FrontendError, match=message):
            ted.full((), value, dtype)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "full": (lambda: ted.full((2,), 3.5, "int32"), "full: the constant must fit the type int32"),
    "pad": (lambda: ted.pad(INTEGER, 1, value=2.5), "pad: the constant must fit the type int32"),
    "pad_half": (lambda: ted.pad(HALF, 1, value=-1e6), "holds numbers up to 65504, and math.inf"),
    "sum": (lambda: ted.sum(INTEGER, init=0.5), "sum: init: the constant must fit"),
    "max": (lambda: ted.max(INTEGER, init=math.nan), "max: init: the constant must fit"),
    "max_of_a_tensor": (
        lambda: ted.max(INTEGER, init=ted.full((), 0.5)),
        r'the type int32, got one of float32; convert it with .astype\("int32"\)',
    ),
    "min_of_a_wider_integer": (
        lambda: ted.min(INTEGER, init=AT[0]), "min: init: the value must fit the type int32"
    ),
    "reducer": (lambda: ADD(INTEGER, init=0.5), "add: init: the constant must fit the type int32"),
    "reducer_of_a_tensor": (
        lambda: ADD(INTEGER, init=ted.full((), 0.5)), "add: init: the value must fit"
    ),
    "combiner": (lambda: HALVES(INTEGER), "halves: the constant must fit the type int32"),
    "compute": (
        lambda: ted.compute((2,), lambda i: 3.5, dtype="int32"), "whole numbers; ted.cast cuts off"
    ),
    "scatter": (
        lambda: ted.scatter((3,), AT, SOME, init=0.5), "scatter: the constant must fit the type"
    ),
    "where": (lambda: ted.where(SHORT > 0, SHORT, 300), "got 300; int8 holds -128 to 127"),
    "operator": (lambda: HALF * 70000, "mul: the constant must fit the type float16, got 70000"),
    "reduced": (
        lambda: ted.compute((2,), lambda i: ted.sum(10**400, axis=ted.reduce_axis(3))),
        "sum: the constant must fit the type float32, got an integer of 1329 bits",
    ),
    "power": (lambda: HALF ** (10**400), "power: the constant|pow: the constant"),
    "arange": (lambda: ted.arange(129, "int8"), "arange: the constant must fit the type int8"),
    "arange_of_bools": (lambda: ted.arange(3, "bool"), "got 2; bool holds 0 and 1"),
    "cast": (lambda: ted.cast(300, "int8"), "cast: the constant must fit the type int8, got 300"),
    "cast_far": (lambda: ted.cast(10**400, "int8"), "cast: the constant must fit the type int8"),
    "cast_nan": (lambda: ted.cast(math.nan, "int8"), "cast: the constant must fit .* got nan"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_no_constant_is_cut_off_in_silence(case: str) -> None:
    program, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message) as caught:
        program()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


WHOLE = np.array([4, -2, 7], np.int32)
R = ted.reduce_axis(3, name="r")
KEPT: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a_whole_float": (lambda x: ted.sum(x, init=2.0), 11),
    "a_narrower_tensor": (lambda x: ted.max(x, init=ted.full((), 9, "int8")), 9),
    "an_index": (lambda x: ted.compute(
        (2,), lambda i: ted.max(x[R], axis=R, init=i * 8), dtype="int32"), [7, 8]),
    "data_beside_an_index": (lambda x: ted.compute(
        (), lambda: ted.max(R, axis=R, init=ted.cast(x[2], "int64"))), 7),
    "a_wider_float": (lambda x: ted.sum(ted.cast(x, "float32"), init=ted.full((), 0.5, "float64")),
        9.5),
    "a_float_among_integers": (lambda x: ted.where(x > 0, x, 0.5), [4, 0.5, 7]),
    "the_last_of_a_range": (lambda x: ted.arange(128, "int8")[125:] + x, [129, 124, 134]),
    "nothing_of_a_range": (lambda x: ted.arange(0, "bool"), np.zeros(0, bool)),
    "a_cast_towards_zero": (lambda x: x + ted.cast(-3.7, "int32"), [1, -5, 4]),
    "a_cast_to_a_condition": (lambda x: ted.where(ted.cast(0.5, "bool"), x, 0), WHOLE),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_what_fits_keeps_its_value(case: str) -> None:
    function, expected = KEPT[case]
    np.testing.assert_array_equal(run(function, WHOLE), expected)
