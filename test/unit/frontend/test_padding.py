"""Padding in every mode of NumPy: values against NumPy, gradients by differences."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import run

RANDOM = np.random.default_rng(7)
EPS = 2.0**-52  # a mean of two is within half of it of the larger one, by either formula
MODES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("constant", {}), ("constant", {"value": 3}), ("constant", {"value": (1, 2)}), ("edge", {}),
    ("reflect", {}), ("symmetric", {}), ("wrap", {}), ("maximum", {}), ("minimum", {}),
    ("mean", {}), ("median", {}), ("mean", {"stat_length": 2}),
    ("median", {"stat_length": ((1, 2),)}), ("linear_ramp", {}),
    ("linear_ramp", {"end_values": (5, -4)}),
)  # fmt: skip
ODD = (("reflect", {"reflect_type": "odd"}), ("symmetric", {"reflect_type": "odd"}))
SHAPES = ((5,), (3, 4), (1, 3), (2, 1, 3))
WIDTHS: tuple[Callable[[int], Any], ...] = (
    lambda rank: 1, lambda rank: (2, 1), lambda rank: 7, lambda rank: ((3, 0),) * rank,
    lambda rank: tuple((k, 2 * k) for k in range(rank)),
)  # fmt: skip


def padded(x: np.ndarray, width: Any, mode: str, options: dict[str, Any]) -> np.ndarray:
    """What numpy makes of the same."""
    words = {("constant_values" if k == "value" else k): v for k, v in options.items()}
    return np.pad(x, width, mode, **words)  # type: ignore[call-overload]


@pytest.mark.fast(5)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("which", range(len(WIDTHS)))
def test_every_mode_is_that_of_numpy(shape: tuple[int, ...], dtype: str, which: int) -> None:
    drawn = np.random.default_rng([which, *shape]).normal(size=shape)  # alone and with others
    x, width = (drawn * 10).astype(dtype), WIDTHS[which](len(shape))
    found = run(lambda t: [ted.pad(t, width, mode, **options) for mode, options in MODES], x)
    rounding = EPS * float(abs(x).max())
    for (mode, options), y in zip(MODES, found, strict=True):
        wanted = padded(x, width, mode, options)
        np.testing.assert_allclose(y, wanted, err_msg=mode, rtol=1e-14, atol=rounding)


def test_what_is_mirrored_may_be_turned_over() -> None:
    x = RANDOM.normal(size=(4, 5))
    found = run(lambda t: [ted.pad(t, (2, 3), mode, **options) for mode, options in ODD], x)
    for (mode, options), y in zip(ODD, found, strict=True):
        np.testing.assert_allclose(y, padded(x, (2, 3), mode, options), rtol=1e-13)


@pytest.mark.parametrize("mode", ["symmetric", "reflect", "mean", "linear_ramp", "maximum"])
def test_gradients_of_two_orders(mode: str) -> None:
    x = RANDOM.normal(size=(2, 3))
    check_grads(lambda t: ted.sum(ted.pad(t, ((1, 4), (0, 2)), mode) ** 3), [x], order=2)


def test_a_reflected_edge_may_repeat_a_symbolic_extent() -> None:
    x = RANDOM.normal(size=(4, 2))
    padding = ((0, 0), (1, 2))
    f = ted.function(lambda t: ted.pad(t, padding, "symmetric"), batch=0)
    np.testing.assert_array_equal(f(x), np.pad(x, padding, "symmetric"))


def test_complex_tensors_are_padded_by_parts() -> None:
    x = RANDOM.normal(size=3) + 1j
    found = ted.function(lambda z: ted.pad(z, 2, "symmetric"))(x)
    np.testing.assert_array_equal(found, np.pad(x, 2, "symmetric"))


def test_a_width_of_statistics_is_at_least_one() -> None:
    with pytest.raises(FrontendError, match=re.escape("pad: stat_length must be at least 1, got")):
        ted.pad(np.ones(3), 1, "mean", stat_length=0)
