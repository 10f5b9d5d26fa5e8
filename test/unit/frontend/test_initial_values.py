"""`init=` of reductions over dims of whole tensors: tensors that broadcast to the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

RNG = np.random.default_rng(11)
X, COLUMN, ROW = RNG.normal(size=(3, 5)), RNG.normal(size=3), RNG.normal(size=(1, 5))
SCALAR = np.array(0.3)
P = ted.placeholder((3, 5), "float64", name="P")
AFFINE = ted.reducer(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0), name="affine")
PRODUCT = ted.reducer(lambda a, b: a * b, 1.0, name="product")


def affine(a: np.ndarray, b: np.ndarray, scale: Any, shift: Any) -> list[np.ndarray]:
    for k in range(a.shape[1]):
        scale, shift = scale * a[:, k], shift * a[:, k] + b[:, k]
    return [scale, shift]


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "sum": (lambda x, b: ted.sum(x * x, 1, init=b), lambda x, b: (x * x).sum(1) + b, COLUMN),
    "sum_keeps_dims": (
        lambda x, b: ted.sum(x, 0, init=b, keepdims=True), lambda x, b: x.sum(0)[None] + b, ROW
    ),
    "sum_of_some": (
        lambda x, b: ted.sum(x, 1, init=b, where=x > 0),
        lambda x, b: np.where(x > 0, x, 0).sum(1) + b, COLUMN,
    ),
    "prod": (lambda x, b: ted.prod(x, 1, init=b), lambda x, b: x.prod(1) * b, COLUMN),
    "max": (
        lambda x, b: ted.max(x, 1, init=b), lambda x, b: np.maximum(x.max(1), b), COLUMN
    ),
    "min_keeps_dims": (
        lambda x, b: ted.min(x, 1, init=b, keepdims=True),
        lambda x, b: np.minimum(x.min(1), b)[:, None], SCALAR,
    ),
    "sum_of_all": (lambda x, b: ted.sum(x, init=b), lambda x, b: x.sum() + b, SCALAR),
    "computed": (
        lambda x, b: ted.sum(x, 1, init=ted.sin(b) * b), lambda x, b: x.sum(1) + np.sin(b) * b,
        COLUMN,
    ),
    "reducer": (lambda x, b: PRODUCT(x, axis=1, init=b), lambda x, b: b * x.prod(1), COLUMN),
    "reducer_keeps_dims": (
        lambda x, b: PRODUCT(x, axis=0, init=b, keepdims=True), lambda x, b: b * x.prod(0), ROW
    ),
    "tuple": (
        lambda x, b: list(AFFINE((x, ted.cos(x)), axis=1, init=(b, 2.0))),
        lambda x, b: affine(x, np.cos(x), b, 2.0), COLUMN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_tensor_starts_a_reduction(case: str) -> None:
    function, wanted, start = CASES[case]
    for evaluate in (run, compiled):
        found, expected = evaluate(function, X, start), wanted(X, start)
        if not isinstance(expected, list):
            found, expected = [found], [expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.fast(3)
@pytest.mark.parametrize("case", CASES)
def test_it_has_gradients_of_both_orders(case: str) -> None:
    function, _, start = CASES[case]
    check_grads(function, (X, start), order=2)


REFUSED = {
    "shape": (lambda: ted.sum(P, 1, init=ROW_OF_FIVE), r"sum: init: extents must be equal or 1"),
    "stretches": (lambda: ted.sum(P, 1, init=P), r"sum: init: must broadcast to \(3,\)"),
    "reducer": (lambda: PRODUCT(P, axis=1, init=P), r"product: init: must broadcast to \(3,\)"),
    "tuple": (
        lambda: AFFINE((P, P), axis=0, init=(P, 0.0)), r"affine: init: must broadcast to \(5,\)"
    ),
    "array": (lambda: ted.sum(P, 1, init={1}), "init must be a number, a value of the lambda"),
    "one_for_two": (lambda: AFFINE((P, P), axis=0, init=P), "init: a tuple of 2 values"),
}  # fmt: skip
ROW_OF_FIVE = ted.placeholder((5,), "float64", name="R")


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_broadcast_to_the_result_is_refused(case: str) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message):
        action()
