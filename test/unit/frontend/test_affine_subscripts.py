"""Index tensors that are affine in their dims are index arithmetic: no data, no checks, gathers."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import run

X = np.random.default_rng(7).normal(size=(18, 4))
TABLE = ted.constant(np.arange(4) * 4 + 1, name="table")


def n(count, dtype="int64"):
    return ted.arange(count, dtype)


# What is read, and the rows that it reads.
READS = {
    "a_multiple": (lambda x: x[n(6) * 3], np.arange(6) * 3),
    "a_grid": (lambda x: x[n(3)[:, None] * 4 + n(4)], np.arange(3)[:, None] * 4 + np.arange(4)),
    "a_reshape": (lambda x: x[(n(6) * 3).reshape(2, 3)], np.arange(6).reshape(2, 3) * 3),
    "a_slice": (lambda x: x[(n(9) * 2)[::-2]], (np.arange(9) * 2)[::-2]),
    "a_roll": (lambda x: x[ted.roll(n(6), 2, 0)], np.roll(np.arange(6), 2)),
    "a_remainder": (lambda x: x[(n(40) * 7) % 18], np.arange(40) * 7 % 18),
    "a_quotient": (lambda x: ted.take(x, n(6) // 2, 0), np.arange(6) // 2),
    "a_choice": (lambda x: x[ted.where(n(8) < 4, n(8), n(8) * 2)], [0, 1, 2, 3, 8, 10, 12, 14]),
    "from_the_end": (lambda x: x[n(6) - 6], np.arange(6) - 6),
    "narrow_integers": (lambda x: x[n(6, "int8") * 3], np.arange(6) * 3),
    "a_way_through_floats": (
        lambda x: x[ted.cast(ted.floor(n(9, "float32") / 2.0), "int32")], np.arange(9) // 2
    ),
    "an_array_of_numpy": (lambda x: x[np.arange(5) * -3 + 14], np.arange(5) * -3 + 14),
    "the_same_everywhere": (lambda x: x[n(3) * 5, ted.full((3,), 2, "int64")][:, None], None),
    "a_constant_in_a_lambda": (
        lambda x: ted.compute((4, 4), lambda i, j: x[TABLE[i], j]), np.arange(4) * 4 + 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READS)
def test_the_gradient_is_a_gather_without_checks(case) -> None:
    x = ted.placeholder(X.shape, "float64", name="x")
    y = READS[case][0](x * x)
    gradient = ted.differentiate(ted.sum(y * y), [x])
    report = gradient.report()
    assert not any(e.form == "scatter" for e in report.equations), report
    text = str(ted.module([y, *gradient]))
    assert 'mode = "check"' not in text
    assert case == "a_choice" or "ted.load" not in text


def test_values_and_gradients_are_those_of_the_rows() -> None:
    def function(x):
        return [read(x) for read, _ in READS.values()]

    found = run(function, X)
    for (_, rows), result in zip(READS.values(), found, strict=True):
        wanted = X[np.arange(3) * 5, 2][:, None] if rows is None else X[np.array(rows)]
        np.testing.assert_array_equal(result, wanted)
    some = [READS[case][0] for case in ("a_grid", "a_remainder", "a_choice")]
    check_grads(lambda x: sum(ted.sum(ted.sin(f(x))) for f in some), (X,), order=2)


NO_MAPS = {
    "data": lambda x, i: x[i],
    "data_in_between": lambda x, i: x[i * 2 + n(3)],
    "data_at_a_map": lambda x, i: x[i[n(3)]],
    "pieces": lambda x, i: x[ted.concatenate([n(2), n(3)])],
    "what_may_wrap": lambda x, i: x[(n(100, "int8") + 100)[:3] % 18],
    "a_sum": lambda x, i: x[ted.cumsum(n(3), 0)],
}


@pytest.mark.parametrize("case", NO_MAPS)
def test_what_is_no_map_of_the_dims_stays_data(case) -> None:
    x, i = ted.placeholder(X.shape, "float64"), ted.placeholder((3,), "int64")
    report = ted.differentiate(ted.sum(NO_MAPS[case](x, i)), [x]).report()
    assert [e.form for e in report.equations].count("scatter") == 1
    ids = np.array([2, 0, 2])
    wanted = {
        "data": ids, "data_in_between": ids * 2 + np.arange(3), "data_at_a_map": ids,
        "pieces": [0, 1, 0, 1, 2], "what_may_wrap": (np.arange(3) + 100) % 18, "a_sum": [0, 1, 3],
    }[case]  # fmt: skip
    np.testing.assert_array_equal(run(NO_MAPS[case], X, ids), X[np.array(wanted)])


def test_a_map_that_is_read_outside_is_an_error() -> None:
    x, ids = ted.placeholder((18,), name="x"), ted.arange(6) * 3
    with pytest.raises(FrontendError, match=r"index k \+ 1 in \[1, 6\].* has extent 6"):
        ted.compute((6,), lambda k: x[ids[k + 1]])
    with pytest.raises(FrontendError, match=r"index i\*3 in \[0, 18\], tensor x has extent 18"):
        x[ted.arange(7) * 3]


def test_a_long_chain_of_index_tensors_takes_no_long_time() -> None:
    ids = ted.arange(4)
    for _ in range(60):
        ids = (ids + ids) // 2
    x = ted.placeholder((4,), name="x")
    assert x[ids].shape == (4,)


def test_symbolic_sizes_have_affine_index_tensors() -> None:
    k = ted.size("k")
    x = ted.placeholder((2 * k, 3), "float64", name="x")
    y = x[ted.arange(k) * 2 + 1]
    gradient = ted.differentiate(ted.sum(y * y), [x])
    assert not any(e.form == "scatter" for e in gradient.report(k=4).equations)
    f = ted.compile([x], [y, *gradient])
    value = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(f(value)[0], value[1::2])


def test_data_counts_from_the_end_where_constants_do() -> None:
    i, j = np.array([[-1, 0, -18], [17, -5, 3]]), np.broadcast_to([[-1, 0]], (18, 2))

    def function(x, i, j):
        return [x[i], x[1:, j[:, 0]], x[i[0], -1], ted.take(x, i), ted.take_along_axis(x, j, 1)]

    wanted = [X[i], X[1:, j[:, 0]], X[i[0], -1], np.take(X, i), np.take_along_axis(X, j, 1)]
    for found, value in zip(run(function, X, i, j), wanted, strict=True):
        np.testing.assert_array_equal(found, value)
    check_grads(lambda x, i, j: ted.sum(x[i, -1] ** 3), (X, i, j), order=2)


def test_an_index_outside_is_named_as_it_was_written() -> None:
    def rows(x, i):
        return (x * 2.0)[i]

    f = ted.function(rows)
    np.testing.assert_array_equal(f(X, np.array([-18, 17])), 2 * X[[0, 17]])
    for bad in (-19, 18, np.iinfo(np.int64).min):
        message = f"rows: index out of range: tensor .* extent 18 in dim 0, got index {bad}, at "
        with pytest.raises(ExecutionError, match=message + "test_affine_subscripts.py:"):
            f(X, np.array([0, bad]))


def test_an_index_of_a_lambda_does_not_count_from_the_end() -> None:
    x, i = ted.placeholder((4,), name="x"), ted.placeholder((2,), "int64", name="i")
    f = ted.compile([x, i], ted.compute((2,), lambda k: x[i[k]]))
    with pytest.raises(ExecutionError, match="got index -1"):
        f(np.ones(4, "f4"), np.array([0, -1]))


def test_what_is_known_to_be_positive_is_not_compared() -> None:
    x = ted.placeholder((4, 4), "float64", name="x")
    text = str(ted.module(x[ted.argmax(x, axis=1)]))
    assert "arith.select" not in text
    assert 'mode = "check"' not in text
