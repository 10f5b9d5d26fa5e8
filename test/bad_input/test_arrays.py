"""Arrays that programs get: refused with the argument's name, or computed as numpy would."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError

X = ted.placeholder((3, 4), "float32", name="x")
N = ted.placeholder((4,), "int64", name="n")
ROWS = ted.reduce_axis(3, name="rows")


@pytest.fixture(scope="module")
def double():
    return ted.compile([X], X * 2, name="double")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, np.float32), "argument 'x': expected rank 2 (shape (3, 4)), got rank 1"),
        (np.zeros((1, 3, 4), np.float32), "argument 'x': expected rank 2 (shape (3, 4)), got rank"),
        (np.zeros((4, 3), np.float32), "argument 'x': expected shape (3, 4), got (4, 3)"),
        (np.zeros((3, 0), np.float32), "argument 'x': expected shape (3, 4), got (3, 0)"),
        (np.zeros((3, 4)), "argument 'x': expected dtype float32, got float64"),
        (np.zeros((3, 4), np.uint8), "argument 'x': expected dtype float32, got uint8"),
        (np.zeros((3, 4), bool), "argument 'x': expected dtype float32, got bool"),
        (
            np.full((3, 4), None),
            "argument 'x': expected an array of float32, got an array",
        ),
    ],
    ids=["rank_low", "rank_high", "shape", "empty", "dtype", "unsigned", "bool", "objects"],
)
def test_an_array_of_another_signature_is_refused_by_name(double, array, message) -> None:
    with pytest.raises(ExecutionError) as error:
        double(array)
    assert str(error.value).startswith(f"double: {message}")


@pytest.mark.parametrize("bad", [4, -5, 2**40, -(2**63), 2**63 - 1])
def test_an_index_out_of_range_names_tensor_and_index(bad: int) -> None:
    pick = ted.compile([X, N], ted.compute((4,), lambda j: X[0, N[j]], name="pick"))
    with pytest.raises(ExecutionError, match=rf"x.*{bad}"):
        pick(np.zeros((3, 4), np.float32), np.array([0, 1, bad, 2]))


def test_the_call_after_an_index_out_of_range_is_right() -> None:
    pick = ted.compile([X, N], ted.compute((4,), lambda j: X[1, N[j]], name="pick"))
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    with pytest.raises(ExecutionError):
        pick(array, np.array([0, 9, 0, 0]))
    assert pick(array, np.array([3, 0, 1, 1])).tolist() == [7, 4, 5, 5]


LAYOUTS = {
    "transposed": lambda a: np.asfortranarray(a),
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "big_endian": lambda a: a.astype(">f4"),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), np.float32, offset=1).reshape(
        a.shape
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("writeable", [True, False])
def test_layout_and_read_only_flag_of_an_input_do_not_matter(double, layout, writeable) -> None:
    array = LAYOUTS[layout](np.arange(12, dtype=np.float32).reshape(3, 4))
    if not writeable:
        array.flags.writeable = False
    before = array.copy()
    np.testing.assert_array_equal(double(array), before * 2)
    np.testing.assert_array_equal(array, before)


EMPTY = {
    "elementwise": (lambda a: a * 2, lambda a: a * 2),
    "sum": (lambda a: ted.sum(a, axis=1), lambda a: a.sum(1)),
    "sum_of_all": (lambda a: ted.sum(a), lambda a: a.sum()),
    "product": (lambda a: ted.prod(a, axis=1), lambda a: a.prod(1)),
    "maximum": (lambda a: ted.max(a, axis=1), lambda a: a.max(1, initial=-np.inf)),
    "matmul": (lambda a: ted.matmul(a, ted.transpose(a)), lambda a: a @ a.T),
    "concatenated": (lambda a: ted.concatenate([a, a], 1), lambda a: np.concatenate([a, a], 1)),
}


@pytest.mark.parametrize("shape", [(3, 0), (0, 4), (0, 0)])
@pytest.mark.parametrize("case", EMPTY)
def test_zero_extents_compute_like_numpy(case: str, shape: tuple[int, ...]) -> None:
    ours, theirs = EMPTY[case]
    a = ted.placeholder(shape, "float32", name="a")
    array = np.zeros(shape, np.float32)
    found = ted.compile([a], ours(a))(array)
    np.testing.assert_array_equal(found, theirs(array))
    assert found.shape == theirs(array).shape


def test_the_gradient_of_an_empty_sum_is_empty() -> None:
    a = ted.placeholder((0, 3), "float32", name="a")
    (gradient,) = ted.differentiate(ted.sum(a * a), [a])
    assert ted.compile([a], gradient)(np.zeros((0, 3), np.float32)).shape == (0, 3)


NAN = {
    "sum": (lambda a: ted.sum(a, axis=1), lambda a: a.sum(1)),
    "maximum": (lambda a: ted.max(a, axis=1), lambda a: a.max(1)),
    "minimum": (lambda a: ted.min(a, axis=1), lambda a: a.min(1)),
    "argmax": (lambda a: ted.argmax(a, axis=1), lambda a: a.argmax(1)),
    "argmin": (lambda a: ted.argmin(a, axis=1), lambda a: a.argmin(1)),
    "relu": (lambda a: ted.maximum(a, 0.0), lambda a: np.maximum(a, 0)),
    "where": (lambda a: ted.where(a > 0, a, 1.0), lambda a: np.where(a > 0, a, 1)),
    "clip": (lambda a: ted.clip(a, -1.0, 1.0), lambda a: np.clip(a, -1, 1)),
    "compared": (lambda a: a == a, lambda a: a == a),
    "matmul": (lambda a: ted.matmul(a, ted.transpose(a)), lambda a: a @ a.T),
}


@pytest.mark.parametrize("case", NAN)
def test_nan_passes_like_in_numpy(case: str) -> None:
    ours, theirs = NAN[case]
    array = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    array[0, 3] = array[1, 0] = array[2, 39] = array[2, 7] = np.nan
    array[4] = np.nan
    a = ted.placeholder(array.shape, "float32", name="a")
    np.testing.assert_allclose(ted.compile([a], ours(a))(array), theirs(array), rtol=1e-5)
