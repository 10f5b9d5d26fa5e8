"""Gradients of products over points at divided and wrapped indices, zeros among the factors."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.testing import check_grads
from ted.testing.tracing import interpreted

X, Z = (ted.placeholder((n,), "float64", name=name) for n, name in ((9, "x"), (3, "z")))


def product(condition: bool) -> ted.Tensor:
    r = ted.reduce_axis(4, name="r")
    return ted.compute(
        (9,),
        lambda i: ted.prod(
            X[i % 4] * Z[i // 4] + X[r], axis=r, where=r < i % 3 if condition else None
        ),
        name="y",
    )


@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_products_at_divided_indices_have_gradients(condition: bool, order: int) -> None:
    random = np.random.default_rng(0)
    arrays = [random.uniform(0.5, 1.5, size=t.shape) for t in (X, Z)]
    y = product(condition)
    check_grads(([y.node], [X.node, Z.node]), arrays, order=order)


def test_results_without_factors_are_one_and_have_no_slope() -> None:
    y = product(condition=True)
    head = ted.placeholder((9,), "float64", name="head")
    dx, _ = ted.differentiate(y, [X, Z], head=head)
    ones, only = np.ones(9), np.eye(9)[3]
    inputs = [t.node for t in (X, Z, head)]
    (value, slope) = interpreted(inputs, [y.node, dx.node])(ones, np.ones(3), only)
    assert value[3] == 1.0
    np.testing.assert_array_equal(slope, np.zeros(9))
