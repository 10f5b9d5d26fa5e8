"""Arrays beside tensors: operators, subscripts, types, and what is no array of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
from ted.errors import ExecutionError, FrontendError
from ted.ir.constants import LITERAL_BYTES, frozen, uniform_value
from ted.ir.dtypes import BY_NAME, FLOAT64, promote
from unit.frontend.tracing import compiled, run

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
C = np.array([3.0, 1.0, 2.0])
MASK = np.array([True, False, True])
T = ted.placeholder((2, 3), "float64", name="t")

# The same program on arrays of numpy is what is expected.
SAME: dict[str, Callable[[Any], Any]] = {
    "on the right": lambda x: x * C + x / C - x**C,
    "on the left": lambda x: C - C * x + C / (x * x + 1) + C**x,
    "comparisons": lambda x: (x < C) | (x * 2 >= C) & (x != C),
    "lists of tensors": lambda x: (ted if isinstance(x, ted.Tensor) else np).asarray(
        [[x[0, 0], 2], (1.5, x[1, 2])]
    ),
    "lists": lambda x: [1.0, 2.0, 3.0] * x + x * (3, 2, 1) + x * [[1], [2]],
    "matrix products": lambda x: (x @ C) @ [1.0, 2.0] + C @ x.T @ np.ones(2),
    "in place": lambda x: x.__iadd__(C) if isinstance(x, np.ndarray) else x + C,
    "strided, transposed and reversed": lambda x: x + np.arange(12.0).reshape(3, 4).T[::2, ::-1],
    "another order of bytes": lambda x: x + C.astype(">f8"),
    "read-only": lambda x: x + np.broadcast_to(C[:1] * 2, (2, 3)),
    "an index": lambda x: x[:, np.array([2, 0, 2, 1])],
    "a list of indices": lambda x: x[:, [2, 0]],
    "from the end": lambda x: x[np.array([-1, 0, -2])],
    "two indices": lambda x: x[np.array([1, 0]), [2, -3]],
    "indices that broadcast": lambda x: x[np.array([[1], [0]]), np.array([0, 2])],
    "an index between slices": lambda x: x[None, :, np.array([0, 2]), None],
    "an index beside a number": lambda x: x[1, np.array([0, 2])],
    "an index of small type": lambda x: x[:, np.array([1, 2], np.uint8)],
    "no index": lambda x: x[:, []],
    "one index twice": lambda x: x[:, np.array([1, 1])],
    "a mask": lambda x: x[:, MASK],
    "a mask of two dims": lambda x: x[np.array([[True, False, True], [False, True, False]])],
    "a mask that holds nowhere": lambda x: x[:, np.zeros(3, bool)],
}  # fmt: skip


@pytest.mark.fast(6)
@pytest.mark.parametrize("name", SAME)
def test_results_are_those_of_numpy(name: str) -> None:
    expected = SAME[name](X.copy())
    for on in (run, compiled):
        found = on(SAME[name], X)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["an index", "from the end", "two indices", "a mask"])
def test_a_subscript_has_the_gradient_of_torch(name: str) -> None:
    x = torch.tensor(X, requires_grad=True)
    (SAME[name](x) ** 3).sum().backward()
    assert x.grad is not None
    found = ted.grad(lambda x: ted.sum(SAME[name](x) ** 3))(X)
    np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-14)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("other", ["float32", "bfloat16", "int64", "bool"])
def test_an_array_carries_its_type(name: str, other: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    tensor = ted.placeholder((2,), other)
    for array in (np.array([1, 0]).astype(dtype), np.array([1, 1]).astype(dtype)):
        assert ted.where(tensor > 0, tensor, array).dtype == promote(tensor.dtype, BY_NAME[name])


def test_lists_have_the_type_of_numpy_and_scalars_none() -> None:
    single = ted.placeholder((2,), "float32")
    for numbers, name in (([1.0, 2.0], "float64"), ([1, 2], "float32")):
        assert (single * numbers).dtype.name == name
    for weak in (np.float64(2.0), np.array(2.0), 2.0):
        assert (single + weak).dtype.name == (weak * single).dtype.name == "float32"


def test_every_kind_of_function_takes_arrays() -> None:
    table, index = np.arange(6.0).reshape(2, 3), np.array([2, 0])
    product = ted.reducer(lambda a, b: a * b, 1.0)

    def function(x: Any) -> Any:
        return (
            ted.concatenate([x, table]), ted.stack([C, x[0]]), ted.where(MASK, x, C),
            ted.where(x > 0, [1.0, 2.0, 3.0], table), ted.maximum(C, x), ted.sum(table, 0) + x[0],
            ted.sum(x, axis=1, where=MASK), ted.sum(x, axis=0, init=C), ted.clip(x, -C, C),
            ted.take(table, index, axis=1) + x[:, :2], ted.take_along_axis(x, index[:, None], 1),
            ted.einsum("ij,kj->ik", x, table), ted.pad(C, 1) + ted.sum(x),
            product(x, 0, where=MASK),
            product(C, 0) + x, ted.index_add(C, 0, index, x[:, 0]), ted.segment_sum(x, [1, 0], 2),
            ted.reshape(table, (3, 2)) @ x, ted.vectorize(lambda a, b: a * b)(x, C),
            ted.cast(C, "float32"),
        )  # fmt: skip

    def expected(x: Any) -> Any:
        return (
            np.concatenate([x, table]), np.stack([C, x[0]]), np.where(MASK, x, C),
            np.where(x > 0, [1.0, 2.0, 3.0], table), np.maximum(C, x), table.sum(0) + x[0],
            x.sum(1, where=MASK), x.sum(0) + C, np.clip(x, -C, C),
            table[:, index] + x[:, :2], np.take_along_axis(x, index[:, None], 1),
            x @ table.T, np.pad(C, 1) + x.sum(), np.where(MASK, x.prod(0), 1),
            C.prod() + x, C + np.array([x[1, 0], 0, x[0, 0]]), x[::-1],
            table.reshape(3, 2) @ x, x * C, C.astype("f4"),
        )  # fmt: skip

    for found, right in zip(run(function, X), expected(X), strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=1e-14)


@pytest.mark.parametrize("extent", [4, 200])
def test_a_table_is_read_in_lambdas_at_indices_and_at_data(extent: int) -> None:
    values = np.cos(np.arange(float(extent)))
    table = ted.constant(values, name="table")
    at = np.array([[3, 0, 1], [2, 2, extent - 1]])

    def function(x: Any, at: Any) -> Any:
        return ted.compute(
            (2, 3), lambda i, j: x[i, j] * table[at[i, j]] + table[i + j] * table[-1]
        )

    i, j = np.ogrid[:2, :3]
    expected = X * values[at] + values[i + j] * values[-1]
    for on in (run, compiled):
        np.testing.assert_allclose(on(function, X, at), expected, rtol=1e-14)
    found = ted.grad(lambda x, at: ted.sum(function(x, at) ** 2))(X, at)
    np.testing.assert_allclose(found, 2 * expected * values[at], rtol=1e-14)


def test_indices_in_a_literal_are_known_to_be_inside() -> None:
    index = ted.constant([2, 0, 1])
    program = ted.compile([T], ted.compute((3,), lambda i: T[0, index[i]]))
    assert "checked = " not in program.ir()
    outside = ted.constant([2, 0, 3])
    program = ted.compile([T], ted.compute((3,), lambda i: T[0, outside[i]]))
    assert "checked = " in program.ir()


def test_a_constant_is_a_frozen_copy_and_equal_ones_are_one() -> None:
    array = np.arange(3.0)
    one, other = (frozen(a, FLOAT64) for a in (array, array.copy()))
    assert one is other
    assert not np.shares_memory(one.array, array)
    with pytest.raises(ValueError, match="read-only"):
        one.array[0] = 1
    assert frozen(array.reshape(3, 1), FLOAT64) is not one
    assert frozen(array * np.array([-1.0, 1, 1]), FLOAT64) is not one, "-0.0 is not 0.0"


def test_one_number_everywhere_is_a_fill_bit_by_bit() -> None:
    assert uniform_value(np.full((2, 2), 3.5)) == 3.5
    assert uniform_value(np.array([0.0, -0.0])) is None
    assert np.isnan(uniform_value(np.array([np.nan, np.nan])))
    assert uniform_value(np.zeros((0, 3))) == 0
    assert ted.constant(np.ones((2, 3))).node.fill == 1.0
    assert ted.constant(7).node.fill == 7
    assert ted.constant([True, False]).node.fill is None


def test_a_conversion_is_exact_but_for_rounding() -> None:
    assert ted.constant([1, 2, 100], "int8").dtype.name == "int8"
    halves = run(lambda x: ted.constant([0.1, 3e38, np.inf], "bfloat16") + 0 * x, np.zeros(()))
    expected = np.array([0.1, 3e38, np.inf]).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(halves.astype(ml_dtypes.bfloat16), expected)
    assert ted.constant([0, 1], "bool").dtype.name == "bool"


class Strange:
    """What says that it is an array, and is none."""

    ndim = 1

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("nothing to see")


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "objects": (
        lambda: T + np.array(["a", None, 1], object),
        "add: an array must hold numbers of one type, got objects (str, NoneType, int) in",
    ),
    "ragged": (lambda: T * [[1, 2], [3]], "mul: list must be an array of numbers, got one that"),
    "complex": (lambda: T * (1j * C).astype("clongdouble"), 'convert it by .astype("float64")'),
    "text": (lambda: T + np.array(["a", "b", "c"]), "got <U1 in shape (3,); encode it as numbers"),
    "wide": (lambda: T + C.astype("longdouble"), 'convert it by .astype("float64")'),
    "times": (lambda: T + C.astype("M8[s]"), "got datetime64[s] in shape (3,); encode it"),
    "tensors": (lambda: T * [T, T], "got list that holds Tensor(t: float64[2, 3]); ted.stack"),
    "tensors deep": (lambda: ted.constant([[1.0], [T]]), "constant: a list of numbers is a"),
    "a tensor": (lambda: ted.constant(T), "constant: takes an array, got Tensor(t: float64[2, 3])"),
    "masked": (lambda: T + np.ma.masked_array(C, MASK), "got a masked one; write .filled(value)"),
    "refused": (lambda: T + Strange(), "got one that numpy refuses: nothing to see"),
    "shape": (lambda: C[:2] + T, "add: extents must be equal or 1 to broadcast, got shapes (2,)"),
    "inner extent": (lambda: T @ C[:2], "matmul: inner extents must agree, got (2, 3) (t) and"),
    "beside an element": (
        lambda: ted.compute((3,), lambda i: T[0, i] * C), "ted.constant(array)[i], with one index"
    ),
    "indexed": (lambda: ted.compute((3,), lambda i: C[i]), "ted.constant(array)[i] reads one at"),
    "too large": (lambda: ted.constant([1, 300], "int8"), "int8 must hold the values, got 300 of"),
    "fraction": (lambda: ted.constant([[1, 0.5]], "int32"), "got 0.5 of float64 at [0, 1]"),
    "infinite": (lambda: ted.constant([1e39], "float32"), "float32 must hold the values, got 1e+3"),
    "NaN": (lambda: ted.constant([np.nan], "int64"), "int64 must hold the values, got nan"),
    "dtype": (lambda: ted.constant([1], "float8"), "constant: dtype must be one of float64"),
    "name": (lambda: ted.constant([1], name=""), "constant: name must be a non-empty string"),
    "index outside": (lambda: T[:, np.array([0, 3])], "subscript 1: must be in [-3, 3), got 3 at"),
    "index below": (lambda: T[[-3]], "t: subscript 0: must be in [-2, 2), got -3 at [0]"),
    "index of floats": (lambda: T[C], "t: subscripts must be integers or bools, got an array"),
    "mask": (lambda: T[:, MASK[:2]], "t: subscript 1: a mask must have extent 3 of its dim, got 2"),
    "too many": (lambda: T[MASK[:2], [1, 0], [0, 0]], "at most 2 subscripts, got 3"),
    "operand of sum": (lambda: ted.sum([[1], [2, 3]]), "sum: list must be an array of numbers"),
    "mask of sum": (lambda: ted.sum(T, where=C), "sum: where must be a bool tensor"),
    "result": (
        lambda: ted.function(lambda x: {"a": np.array([None])})(C),
        "main: results at a: an array must hold numbers of one type, got objects (NoneType)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_array_of_numbers_is_refused(name: str) -> None:
    function, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        function()
    assert "test_captured_values.py" in str(caught.value)


def test_an_array_counts_from_the_end_of_any_extent() -> None:
    x = ted.placeholder((ted.size("n", min=2), 3), "float64", name="x")
    f = ted.compile([x], [x[np.array([0, 1, 0])], x[np.array([0, -1, 1])]])
    np.testing.assert_array_equal(f(X)[0], X[[0, 1, 0]])
    np.testing.assert_array_equal(f(X)[1], X[[0, -1, 1]])
    beyond = ted.compile([x], x[np.array([0, 2, 1])])
    with pytest.raises(ExecutionError, match="index out of range: tensor x has extent 2 in dim 0"):
        beyond(X)
    with pytest.raises(
        FrontendError, match=r"index i\*2, tensor x has extent n .* for n = 2; .*min="
    ):
        x[np.array([0, 2])]  # evenly spaced: no data


def test_a_literal_has_a_kibibyte_at_most() -> None:
    known = {n: "dense" in str(ted.module(T[0, 0] * np.arange(float(n)))) for n in (128, 129)}
    assert known == {128: True, 129: False}
    assert LITERAL_BYTES == 1024
