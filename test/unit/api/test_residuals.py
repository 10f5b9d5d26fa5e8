"""A program and its gradient as two functions."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError

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
