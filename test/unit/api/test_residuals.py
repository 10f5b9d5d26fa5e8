"""A program and its gradient as two functions."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError, FrontendError

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def test_forward_gives_results_and_what_backward_needs() -> None:
    x, w = (ted.placeholder((2,), "float64", name=n) for n in "xw")
    n = ted.placeholder((2,), "int64", name="n")
    y = ted.exp(x) * w
    pair = ted.forward_backward([y, n * 2], [x, w, n])
    results, saved = pair.forward(X, Y, np.array([1, 2]))
    assert [r.tolist() for r in results] == [pytest.approx((np.exp(X) * Y).tolist()), [2, 4]]
    dx, dw = pair.backward(saved, np.array([1.0, 10.0]))
    scale = np.exp(X) * [1, 10]
    assert dx.tolist() == pytest.approx((scale * Y).tolist())
    assert dw.tolist() == pytest.approx(scale.tolist())
    (alone,), saved = ted.forward_backward(y, [x, w]).forward(X, Y)
    assert alone.tolist() == results[0].tolist()


@pytest.mark.parametrize("kinds", [("int64", "int64"), ("float64", "int64")])
def test_parts_need_a_float_on_both_sides(kinds: tuple[str, str]) -> None:
    x, n = (ted.placeholder((2,), kind, name=name) for name, kind in zip("xn", kinds, strict=True))
    with pytest.raises(DerivativeError, match="a float output and a float input, got none"):
        ted.forward_backward([n * 2], [x, n])


@pytest.mark.parametrize("wrong", ["a", -1, math.nan, None, True, 2 + 1j, [1], np.array([1.0])])
def test_what_is_computed_again_is_bounded_by_a_number(wrong: Any) -> None:
    x = ted.placeholder((2,), "float64", name="x")
    message = (
        "forward_backward: recompute is a number of operations an element, at least 0, got "
        f"{wrong!r}; 0 repeats no operation, math.inf every map"
    )
    with pytest.raises(FrontendError, match=re.escape(message)):
        ted.forward_backward(ted.exp(x), [x], wrong)


@pytest.mark.parametrize(("recompute", "saved"), [(0, 1), (np.float32(99), 0), (math.inf, 0)])
def test_a_cheap_map_is_saved_or_computed_again_as_the_bound_says(recompute: Any, saved: int):
    x = ted.placeholder((2,), "float64", name="x")
    pair = ted.forward_backward(ted.sum(ted.exp(x + 1.0)), [x], recompute)
    _, kept = pair.forward(X)
    np.testing.assert_allclose(pair.backward(kept, np.array(2.0))[0], 2 * np.exp(X + 1), rtol=1e-12)
    assert len(pair.split.residuals) == saved
