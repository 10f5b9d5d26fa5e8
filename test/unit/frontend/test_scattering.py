"""Writes at indices that are data: values, modes, gradients of both orders, races, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, placeholders, run

RNG = np.random.default_rng(3)
VALUES = RNG.normal(size=(6, 3))
START = RNG.normal(size=(5, 3))
SEGMENTS = np.array([0, 2, 2, 4, 0, 2])
NEUTRAL = {"add": 0.0, "max": -math.inf, "min": math.inf, "set": 0.0, "mul": 1.0}
JOIN = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "set": lambda _, new: new,
    "mul": np.multiply,
}  # fmt: skip


def expected(combine, mode, ids, values, start):
    result = np.full((5, 3), NEUTRAL[combine]) if start is None else np.array(start)
    for place, row in zip(ids, values, strict=True):
        if mode == "drop" and not 0 <= place < 5:
            continue
        at = np.clip(place, 0, 4)
        result[at] = JOIN[combine](result[at], row)
    return result


@pytest.mark.fast(2)
@pytest.mark.parametrize("init", ["none", "tensor", "number"])
@pytest.mark.parametrize(("mode", "shift"), [("check", 0), ("clip", 2), ("drop", -1)])
@pytest.mark.parametrize("combine", JOIN)
def test_scatter_combines_at_data(combine, mode, shift, init) -> None:
    ids = SEGMENTS + shift

    def function(i, v, s):
        begin = {"none": None, "tensor": s * 2, "number": 0.25}[init]
        result = ted.scatter((5, 3), i, v * v, combine=combine, init=begin, mode=mode)
        return result if init != "none" else ted.where(ted.isfinite(result), result, 7.0)

    start = {"none": None, "tensor": START * 2, "number": np.full((5, 3), 0.25)}[init]
    wanted = expected(combine, mode, ids, VALUES**2, start)
    wanted = np.where(np.isfinite(wanted), wanted, 7.0)
    np.testing.assert_allclose(run(function, ids, VALUES, START), wanted, rtol=1e-15)
    check_grads(function, (ids, VALUES, START), order=2)


@pytest.mark.fast(1)
@pytest.mark.parametrize("combine", ["add", "max", "min"])
def test_an_unchecked_scatter_is_not_checked_and_nor_is_its_gradient(combine) -> None:
    def function(i, v):
        return ted.scatter((5, 3), i, v * v, combine, 0.25, "unchecked")

    wanted = expected(combine, "check", SEGMENTS, VALUES**2, np.full((5, 3), 0.25))
    np.testing.assert_allclose(compiled(function, SEGMENTS, VALUES), wanted, rtol=1e-15)
    check_grads(function, (SEGMENTS, VALUES), order=2, modes=("fwd", "rev"))
    i, v = placeholders(SEGMENTS, VALUES)
    y = function(i, v)
    head = ted.placeholder((5, 3), "float64", name="dy")
    f = ted.compile([i, v, head], [y, *ted.differentiate(y, [v], head=head)])
    assert "ted_index_error" not in f.ir("linalg")
    assert 'combiner = "' + combine in f.ir("ted")
    with pytest.raises(ExecutionError, match=r"write .* stays inside, got index \[5, 0\]"):
        run(function, SEGMENTS + 1, VALUES)


@pytest.mark.parametrize("combine", JOIN)
def test_scatter_compiles(combine) -> None:
    wanted = expected(combine, "check", SEGMENTS, VALUES, START)
    found = compiled(
        lambda i, v, s: ted.scatter((5, 3), i, v, combine=combine, init=s), SEGMENTS, VALUES, START
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_several_index_tensors_address_several_dims() -> None:
    rows, columns = np.array([[0, 1], [1, 0]]), np.array([[2, 2], [2, 0]], "int32")
    values = RNG.normal(size=(2, 2, 4))
    wanted = np.zeros((2, 3, 4))
    np.add.at(wanted, (rows, columns), values)

    def function(i, j, v):
        return ted.scatter((2, 3, 4), (i, j), v)

    np.testing.assert_allclose(run(function, rows, columns, values), wanted)
    check_grads(function, (rows, columns, values), order=2)


def test_dims_that_index_the_write_directly_are_parallel() -> None:
    ids, values = ted.placeholder((6,), "int64"), ted.placeholder((6, 3), "float64")
    (equation,) = ted.scatter((5, 3), ids, values).node.equations
    assert equation.extents == (3, 6)
    assert equation.parallel == 1


def test_a_tied_extremum_gives_even_parts() -> None:
    ids, values = np.zeros(4, "int64"), np.array([1.0, 3.0, 3.0, 2.0])

    def function(v, i):
        return ted.sum(ted.scatter((1,), i, v, combine="max") * 4.0)

    found = ted.grad(function)(values, ids)
    np.testing.assert_array_equal(found, [0.0, 2.0, 2.0, 0.0])


def test_infinite_and_zero_values_scatter_without_nan() -> None:
    ids, values = np.array([0, 9, 1]), np.array([0.0, np.inf, 2.0])

    def function(v, i):
        return ted.sum(ted.scatter((2,), i, v, mode="drop") ** 2)

    np.testing.assert_array_equal(ted.grad(function)(values, ids), [0.0, 0.0, 4.0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_index_add_adds_slices(axis) -> None:
    x, ids = RNG.normal(size=(4, 3, 5)), np.array([2, 0, 2])
    slices = RNG.normal(size=tuple(3 if k == axis % 3 else n for k, n in enumerate(x.shape)))
    wanted = x.copy()
    np.add.at(np.moveaxis(wanted, axis, 0), ids, np.moveaxis(slices, axis, 0))

    def function(a, i, v):
        return ted.index_add(a, axis, i, v)

    np.testing.assert_allclose(run(function, x, ids, slices), wanted, rtol=1e-15)
    check_grads(lambda a, i, v: function(a * a, i, v * v), (x, ids, slices), order=2)


def test_segment_sum_and_bincount_count() -> None:
    wanted = np.zeros((5, 3))
    np.add.at(wanted, SEGMENTS, VALUES)
    np.testing.assert_allclose(run(lambda v, s: ted.segment_sum(v, s, 5), VALUES, SEGMENTS), wanted)
    found = run(lambda s, w: [ted.bincount(s, 5), ted.bincount(s, 5, w)], SEGMENTS, VALUES[:, 0])
    np.testing.assert_array_equal(found[0], np.bincount(SEGMENTS, minlength=5))
    np.testing.assert_allclose(found[1], np.bincount(SEGMENTS, VALUES[:, 0], 5))
    check_grads(lambda v, s: ted.segment_sum(v * v, s, 5), (VALUES, SEGMENTS), order=2)
    check_grads(lambda w, s: ted.bincount(s, 5, w * w), (VALUES[:, 0], SEGMENTS), order=2)


def test_a_histogram_leaves_out_what_is_outside() -> None:
    x = np.array([0.0, 0.1, 0.25, 0.5, 0.99, 1.0, 1.1, -0.1, np.nan, np.inf])
    wanted, _ = np.histogram(x[np.isfinite(x)], 4, (0.0, 1.0))
    np.testing.assert_array_equal(run(lambda a: ted.histogram(a, 4, 0.0, 1.0), x), wanted)


@pytest.mark.parametrize("upper", [1.0, (1.0, 0.5)])
def test_a_histogram_of_points_is_that_of_numpy(upper: Any) -> None:
    x, y, w = np.random.default_rng(3).normal(size=(3, 40))
    x[:2], y[2:4] = (-1.0, 1.0), (np.nan, 0.5)
    limits = [(-1.0, end) for end in (upper if isinstance(upper, tuple) else (upper, upper))]
    known = ~np.isnan(y)
    expected = np.histogram2d(x[known], y[known], (4, 2), limits)[0]
    found = run(lambda x, y: ted.histogram2d(x, y, (4, 2), -1.0, upper), x, y)
    np.testing.assert_array_equal(found, expected)
    wanted = np.histogramdd(np.stack([x, x, y], 1)[known], (4, 1, 2), [limits[0], *limits],
                            weights=w[known])[0]  # fmt: skip
    ends = tuple(end for _, end in [limits[0], *limits])

    def weighed(x: Any, y: Any, w: Any) -> Any:
        return ted.histogramdd(ted.stack([x, x, y], 1), (4, 1, 2), -1.0, ends, w)

    np.testing.assert_allclose(run(weighed, x, y, w), wanted, rtol=1e-13)
    check_grads(lambda w: weighed(x, y, w * w), (w,), order=2)


def test_half_precision_sums_are_rounded_once() -> None:
    values = np.full(4096, 1.0, "float16")
    found = run(
        lambda i, v: ted.scatter((1,), i, v), np.zeros(4096, "int64"), values
    )  # a float16 sum would stop at 2048
    assert found.dtype == np.float16
    assert found[0] == 4096


def test_an_index_outside_is_an_error_when_the_program_runs() -> None:
    i, v = ted.placeholder((2,), "int64", name="ids"), ted.placeholder((2,), name="v")
    function = ted.compile([i, v], ted.scatter((3,), i, v))
    with pytest.raises(ExecutionError, match="3"):
        function(np.array([0, 3]), np.ones(2, "float32"))
    with pytest.raises(ExecutionError, match="-1"):
        function(np.array([0, -1]), np.ones(2, "float32"))


I6, V63 = ted.placeholder((6,), "int64", name="ids"), ted.placeholder((6, 3), name="v")
REFUSED = {
    "shape_of_values": (lambda: ted.scatter((5, 4), I6, V63), r"\(6, 4\), got \(6, 3\) \(v\)"),
    "indices_of_floats": (lambda: ted.scatter((5, 3), V63, V63), "must be integers, got float32"),
    "index_tensors_differ": (
        lambda: ted.scatter((5, 3), (I6, I6[:2]), V63), r"one shape, got \(6,\) and \(2,\)"
    ),
    "too_many_indices": (lambda: ted.scatter((5,), (I6, I6), I6), "one to 1 index tensors"),
    "combine": (lambda: ted.scatter((5, 3), I6, V63, combine="sub"), "'set' or 'mul', got 'sub'"),
    "mode": (
        lambda: ted.scatter((5, 3), I6, V63, mode="wrap"), "'drop' or 'unchecked', got 'wrap'"
    ),
    "init": (lambda: ted.scatter((5, 3), I6, V63, init=V63), r"init must have shape \(5, 3\)"),
    "clip_nowhere": (lambda: ted.scatter((0, 3), I6, V63, mode="clip"), "needs an element"),
    "index_add_values": (
        lambda: ted.index_add(V63, 0, I6[:2], V63), r"must have shape \(2, 3\), got \(6, 3\)"
    ),
    "index_add_rank": (lambda: ted.index_add(V63, 0, V63.astype("int64"), V63), "1 dim"),
    "bins": (lambda: ted.histogram(V63, 0, 0.0, 1.0), "at least 1 bin"),
    "coordinates": (
        lambda: ted.histogram2d(V63, V63, (2, 3, 4), 0, 1), "bins: one for each of 2 coordinates",
    ),
    "no points": (lambda: ted.histogramdd([], 2, 0, 1), "histogramdd: coordinates have one shape"),
    "points": (
        lambda: ted.histogram2d(V63, I6, 2, 0, 1), r"coordinates have one shape, got \[\(6, 3\), "
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message):
        action()
