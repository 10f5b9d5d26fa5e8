"""Combiners of the user's own: values, order, tuples, gradients of both orders, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.ir.equations import topological
from ted.testing import check_associative, check_grads
from unit.frontend.tracing import compiled, placeholders, run

RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(3, 7)), RNG.normal(size=(3, 7))


def combine_affine(a, b):
    """x -> b0 * (a0 * x + a1) + b1, which does not commute."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def combine_moments(a, b):
    """Welford's (mean, sum of squared distances, count)."""
    count = ted.maximum(a[2] + b[2], 1.0)
    distance, share = b[0] - a[0], b[2] / count
    return a[0] + distance * share, a[1] + b[1] + distance**2 * (a[2] * share), a[2] + b[2]


def combine_logs(a, b):
    """(maximum, sum of exponentials relative to it)."""
    top = ted.maximum(a[0], b[0])
    return top, a[1] * ted.exp(a[0] - top) + b[1] * ted.exp(b[0] - top)


def combine_best(a, b):
    better = b[0] > a[0]
    return ted.where(better, b[0], a[0]), ted.where(better, b[1], a[1])


PRODUCT = ted.reducer(lambda a, b: a * b, 1.0, name="product")
AFFINE = ted.reducer(combine_affine, (1.0, 0.0), name="affine")
MOMENTS = ted.reducer(combine_moments, (0.0, 0.0, 0.0), name="moments")
LOGS = ted.reducer(combine_logs, (-1e300, 0.0), name="logs")
BEST = ted.reducer(combine_best, (-math.inf, -1), name="best")


@pytest.mark.parametrize("length", [1, 2, 5, 70])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_identity_is_not_combined_with_elements(length, axis) -> None:
    shape = (length, 3) if axis == 0 else (3, length)
    x, y = np.full(shape, 0.5), np.ones(shape)
    x[(slice(None),) * axis + (0,)] = np.inf  # 0 * inf + 1, from the identity, is NaN
    found = run(lambda a, b: AFFINE((a, b), axis=axis), x, y)
    np.testing.assert_array_equal(found[0], np.full(3, np.inf))
    np.testing.assert_allclose(found[1], np.full(3, 2 - 0.5 ** (length - 1)), rtol=1e-14)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 8, 13])
def test_every_length_is_combined_in_order(length) -> None:
    x, y = RNG.normal(size=(2, length)), RNG.normal(size=(2, length))
    scale, shift = np.ones(2), np.zeros(2)
    for k in range(length):
        scale, shift = scale * x[:, k], shift * x[:, k] + y[:, k]
    found = run(lambda a, b: AFFINE((a, b), axis=1), x, y)
    np.testing.assert_allclose(found[0], scale, rtol=1e-13)
    np.testing.assert_allclose(found[1], shift, rtol=1e-13)


def test_several_axes_are_combined_row_major() -> None:
    x, y = RNG.normal(size=(3, 2, 5)), RNG.normal(size=(3, 2, 5))
    scale, shift = np.ones(2), np.zeros(2)
    for i in range(3):
        for k in range(5):
            scale, shift = scale * x[i, :, k], shift * x[i, :, k] + y[i, :, k]

    def function(a, b):
        return list(AFFINE((a, b), axis=(0, 2), keepdims=True))

    for evaluate in (run, compiled):
        found = evaluate(function, x, y)
        np.testing.assert_allclose(found[0], scale.reshape(1, 2, 1), rtol=1e-12)
        np.testing.assert_allclose(found[1], shift.reshape(1, 2, 1), rtol=1e-12)


def test_one_pass_moments() -> None:
    found = run(lambda x: MOMENTS((x, 0.0, 1.0)), X)
    np.testing.assert_allclose(found, [X.mean(), X.var() * X.size, X.size], rtol=1e-13)


def test_logarithms_of_sums_do_not_overflow() -> None:
    x = np.array([[1000.0, 1000.5, -3000.0], [-1000.0, -1001.0, -1000.5]])
    top, total = run(lambda a: LOGS((a, 1.0), axis=1), x)
    wanted = np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1)
    np.testing.assert_allclose(np.log(total) + top, wanted, rtol=1e-15)


def test_the_best_and_its_index_inside_a_lambda() -> None:
    r = ted.reduce_axis((1, 6), name="r")

    def function(x):
        return ted.compute((3,), lambda i: BEST((x[i, r] ** 2, r), axis=r, where=r > i + 1)[1])

    wanted = [max(range(i + 2, 6), key=lambda k: X[i, k] ** 2) for i in range(3)]
    np.testing.assert_array_equal(run(function, X), wanted)
    np.testing.assert_array_equal(compiled(function, X), wanted)


def test_masks_and_initial_values() -> None:
    mask = X > -0.3
    found = run(lambda x, m: PRODUCT(x, axis=1, where=m, init=2.0), X, mask)
    np.testing.assert_allclose(found, 2 * np.where(mask, X, 1.0).prod(1), rtol=1e-14)


def test_a_mask_may_leave_nothing() -> None:
    r = ted.reduce_axis(7)

    def function(x):
        return ted.compute((3,), lambda i: PRODUCT(x[i, r], axis=r, where=r < i))

    np.testing.assert_allclose(run(function, X), [1.0, X[1, 0], X[2, 0] * X[2, 1]])


GRADIENTS = {
    "affine": lambda x, y: list(AFFINE((x, y), axis=1)),
    "affine_masked": lambda x, y: list(AFFINE((x, y), axis=1, where=y > -0.5, init=(2.0, 1.0))),
    "moments": lambda x, y: list(MOMENTS((x * y, 0.0, 1.0), axis=1)),
    "moments_of_all": lambda x, y: list(MOMENTS((x * y, 0.0, 1.0))),
    "logs": lambda x, y: list(LOGS((x, y), axis=1)),
    "best": lambda x, y: BEST((x * y, 0), axis=1)[0],
    "product": lambda x, y: PRODUCT(ted.sin(x) * y, axis=0),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_of_both_orders(case) -> None:
    check_grads(GRADIENTS[case], (X, Y), order=2)


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_zeros_in_a_product_are_exact(zeros) -> None:
    x = np.arange(1.0, 6.0)
    x[:zeros] = 0.0
    found = ted.grad(lambda a: PRODUCT(a))(x)
    wanted = [np.prod(np.delete(x, k)) for k in range(5)]
    np.testing.assert_array_equal(found, wanted)
    check_grads(lambda a: PRODUCT(a), (x,), order=2)


def test_infinite_values_that_are_masked_give_no_nan() -> None:
    x = np.array([2.0, np.inf, 3.0])
    found = ted.grad(lambda a: PRODUCT(a, where=ted.isfinite(a)))(x)
    np.testing.assert_array_equal(found, [3.0, 0.0, 2.0])


def test_half_precision_is_rounded_once() -> None:
    total = ted.reducer(lambda a, b: a + b, 0.0)
    found = run(lambda x: total(x), np.full(4097, 1.0, "float16"))
    assert found.dtype == np.float16
    assert found == np.float16(4097)


def test_a_tree_shares_its_levels_among_components() -> None:
    (x,) = placeholders(RNG.normal(size=(4, 64)))
    results = MOMENTS((x, 0.0, 1.0), axis=1)
    assert len(topological([t.node for t in results])) == 1 + 3 * 7  # 6 levels and the results


def test_a_guarded_tree_does_not_grow_exponentially() -> None:
    (x,) = placeholders(RNG.normal(size=(4, 1024)))
    r = ted.reduce_axis(1024)
    result = ted.compute(
        (4,), lambda i: ted.where(i > 0, MOMENTS((x[i, r], 0.0, 1.0), axis=r)[1], 0.0)
    )
    assert len(topological([result.node])) < 50


# ------------------------------------------------------------------ the checker


@pytest.mark.parametrize("reducer", [PRODUCT, AFFINE, MOMENTS, LOGS, BEST], ids=lambda r: r.name)
def test_what_is_associative_passes(reducer) -> None:
    columns = {
        "product": X, "affine": (X, Y), "moments": (X, 0 * X, 0 * X + 1),
        "logs": (X, abs(Y)), "best": (X, np.arange(21).reshape(X.shape)),
    }  # fmt: skip
    check_associative(reducer, columns[reducer.name])


WRONG = {
    "difference": (ted.reducer(lambda a, b: a - b, 0.0, name="difference"), X),
    "mean": (ted.reducer(lambda a, b: (a + b) / 2, 0.0, name="mean"), X),
    "only_partial_results_differ": (
        ted.reducer(lambda a, b: (a[0] + b[0], a[1] + b[1] + a[1] * b[0]), (0.0, 0.0)),
        (X, np.abs(Y) * 0 + 1.0),
    ),
    "integers": (ted.reducer(lambda a, b: a // 2 + b, 0), np.arange(9)),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_not_associative_is_found(case) -> None:
    reducer, samples = WRONG[case]
    with pytest.raises(FrontendError, match=r"\(a \. b\) \. c = a \. \(b \. c\), got .* a = "):
        check_associative(reducer, samples)


def test_a_wrong_identity_is_found() -> None:
    with pytest.raises(FrontendError, match=r"e \. a = a for the identity e, got 0.0 and"):
        check_associative(ted.reducer(lambda a, b: a * b, 0.0), X)


def test_samples_have_one_array_per_component() -> None:
    with pytest.raises(FrontendError, match="each of 2 components"):
        check_associative(AFFINE, (X,))


# ------------------------------------------------------------------ refusals

P = ted.placeholder((3, 7), name="x")
REFUSED = {
    "identity_missing": (lambda: ted.reducer(max), "needs an identity, a number or a tuple"),
    "identity_kind": (lambda: ted.reducer(max, P), "needs an identity"),
    "combiner_kind": (lambda: ted.reducer(3, 0), "must be a function of two values, got 3"),
    "one_for_two": (lambda: AFFINE(P), "takes a tuple of 2 values"),
    "two_for_one": (lambda: PRODUCT((P, P)), "takes one value"),
    "combiner_gives_one": (
        lambda: ted.reducer(lambda a, b: a[0], (0.0, 0.0))((P, P)), "must give a tuple of 2 values"
    ),
    "combiner_widens": (
        lambda: ted.reducer(lambda a, b: a.astype("float64"), 0.0)(P),
        "keeps the types of its operands, got float64 for component 0 of type float32",
    ),
    "axis": (lambda: PRODUCT(P, axis=2), r"axis must be in \[-2, 2\), got 2"),
    "where": (lambda: PRODUCT(P, where=P), "where must be a bool tensor"),
    "init": (lambda: AFFINE((P, P), init=1.0), "init: a tuple of 2 values"),
    "kind": (lambda: PRODUCT("x"), "tensors, values of a lambda or numbers, got 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_reduction_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message):
        action()
