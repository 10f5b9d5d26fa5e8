"""What numbers, arrays of indices and ends of intervals mean, against NumPy and `math`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

import ted
from ted.errors import FrontendError
from ted.frontend import sorting_keys
from ted.frontend.elementwise import UNARY
from unit.frontend.tracing import run

X = np.arange(12.0).reshape(3, 4)
T = ted.placeholder((3, 4), "float64", name="t")
OF_NUMPY = ("arccos", "arcsin", "arcsinh", "arctan", "arctanh", "fabs", "fix", "rint", "ravel",
            "amax", "amin")  # fmt: skip
OTHERS = {"erf": math.erf, "erfc": math.erfc, "rsqrt": lambda x: 1 / math.sqrt(x),
          "round": round, "cbrt": scipy.special.cbrt}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_numbers_are_numbers(name: str) -> None:
    at = 1.5 if name == "acosh" else 0.3
    wanted = (OTHERS.get(name) or getattr(np, name))(at)
    assert getattr(ted, name)(at) == pytest.approx(wanted, rel=1e-15)


def test_an_angle_of_numbers_is_a_number() -> None:
    assert ted.atan2(1.0, -2.0) == math.atan2(1.0, -2.0)


def test_functions_of_numpy_take_tensors() -> None:
    x = np.array([[-0.6, 0.3], [0.5, 0.9]])
    found = run(lambda x: [getattr(np, n)(x) for n in OF_NUMPY] + [np.arctan2(x, 0.5 - x)], x)
    wanted = [getattr(np, n)(x) for n in OF_NUMPY] + [np.arctan2(x, 0.5 - x)]
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-15)


def test_a_cardinal_sine_keeps_its_digits_near_zero() -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-9, 1, 60)])
    np.testing.assert_allclose(run(ted.sinc, x), np.sinc(x), rtol=4e-16, atol=4e-17)


def test_slices_that_a_condition_chooses_are_along_their_axis() -> None:
    holds = np.array([False, True, False, True])
    found = run(lambda x: ted.compress(holds, x, axis=1, size=3, fill=-1.0), X)
    np.testing.assert_array_equal(found, np.c_[X[:, holds], [-1.0] * 3])


def test_slices_begin_at_an_array() -> None:
    found = run(lambda x: [ted.dynamic_slice(x, np.array([1, 2]), (2, 2)),
                           ted.dynamic_slice(x, [1, 2], (2, 2))], X)  # fmt: skip
    np.testing.assert_array_equal(found, [X[1:, 2:]] * 2)


def test_known_indices_need_no_check() -> None:
    assert 'mode = "check"' not in str(ted.module(T[np.array([2, -3])]))


def test_arrays_of_other_libraries_are_constants() -> None:
    for array in (X, torch.tensor(X)):
        np.testing.assert_array_equal(run(lambda a=array: ted.from_dlpack(a) * 1), X)


def test_equal_steps_are_those_of_numpy() -> None:
    found = run(lambda: [ted.linspace(1, 2, 5, "float64"), ted.linspace(3, -1, 4, "float64", False),
                         ted.linspace(1, 2, 1), ted.linspace(1, 2, 0)])  # fmt: skip
    wanted = [np.linspace(1, 2, 5), np.linspace(3, -1, 4, False), [1], []]
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-15)


def test_a_histogram_counts_what_is_within_its_ends() -> None:
    x = np.array([-0.1, 0.0, 0.5, 0.99, 1.0, 1.1, 0.25])
    (found,) = run(lambda x: [ted.histogram(x, 4, 0.0, 1.0)], x)
    np.testing.assert_array_equal(found, np.histogram(x, 4, (0.0, 1.0))[0])


def test_floats_and_their_positions_fit_one_number_up_to_an_extent() -> None:
    most = sorting_keys._MOST
    wide = [sorting_keys.is_wide(ted.placeholder((1, n, 1), kind)) for n, kind in (
        (most, "float32"), (most + 1, "float32"), (4, "float64"), (most + 1, "int32"))]  # fmt: skip
    assert wide == [False, True, True, False]


LIBRARY: Any = ted
INFO = LIBRARY.__array_namespace_info__()
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "an end at infinity": (lambda: ted.histogram(T, 2, 0.0, math.inf), "lower < upper"),
    "ends the wrong way round": (lambda: ted.histogram(T, 2, 1.0, 0.0), "lower < upper"),
    "a number of elements": (lambda: ted.from_dlpack(2.0), "takes an array with __dlpack__"),
    "another device": (lambda: INFO.dtypes(device="gpu"), "__array_namespace_info__: device"),
    "a condition of another extent": (lambda: ted.compress([True], T, axis=1, size=1),
                                      r"compress: the condition must have shape \(4,\)"),
    "no size": (lambda: ted.compress([True] * 4, T, axis=1), "compress: how many hold is data"),
    "starts": (lambda: ted.dynamic_slice(T, np.array([1]), (1, 1)), r"must have shape \(2,\)"),
    "a bound that is data": (lambda: ted.linspace(0, T[0, 0], 3), "linspace: bounds and num"),
    "an index outside": (lambda: T[np.array([1, 3])], r"must be in \[-3, 3\), got 3 at \[1\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, text = BAD[name]
    with pytest.raises(FrontendError, match=text):
        made()


def test_the_device_of_the_arrays_has_every_type() -> None:
    assert INFO.dtypes(device=INFO.default_device()) == INFO.dtypes()
