"""What a result is does not depend on which others are asked for, or in which order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import ted
from numeric.shared_results import PROGRAMS


def _arrays(inputs: list[ted.Tensor]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [
        np.array([1, 2]) if str(x.dtype) == "int64" else rng.standard_normal(x.shape)
        for x in inputs
    ]


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.endswith("_9")])
def test_results_together_are_those_alone(name: str) -> None:
    inputs, outputs = PROGRAMS[name]()
    arrays = _arrays(inputs)
    alone = {out: ted.compile(inputs, out)(*arrays) for out in outputs}
    for order in permutations(outputs):
        for out, found in zip(order, ted.compile(inputs, list(order))(*arrays), strict=True):
            np.testing.assert_array_equal(found, alone[out])


@pytest.mark.fast(1)
@pytest.mark.parametrize("donates", [False, True])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.endswith("0_9")])
def test_results_together_on_a_gpu_are_those_of_the_cpu(name: str, donates: bool) -> None:
    inputs, outputs = PROGRAMS[name]()
    arrays = _arrays(inputs)
    donated = inputs[:1] if donates else []
    for order in permutations(outputs):
        expected = ted.compile(inputs, list(order))(*arrays)
        f: Any = ted.compile(inputs, list(order), target="cuda:sm_80", donate=donated)
        with ted.testing.emulated_gpu(order="random", seed=1):
            results = f(*map(ted.cuda.asarray, arrays))
            for found, value in zip(results, expected, strict=True):
                np.testing.assert_allclose(found.numpy(), value, rtol=1e-12)


def test_the_same_result_twice_is_two_equal_arrays() -> None:
    x = ted.placeholder((3,), "float64", name="x")
    y = ted.exp(x)
    first, second = ted.compile([x], [y, y])(np.zeros(3))
    first += 1
    np.testing.assert_array_equal(second, np.ones(3))


@pytest.mark.parametrize("count", [2, 3])
def test_a_result_made_in_another_shape_and_its_copy(count: int) -> None:
    x = ted.placeholder((2,), "float64", name="x")
    twice = ted.repeat(x, 2, 0)
    outputs = [twice, twice[:, None], twice[None, :]][:count]
    for order in permutations(outputs):
        results = ted.compile([x], list(order))(np.array([1.0, -1.0]))
        for out, found in zip(order, results, strict=True):
            np.testing.assert_array_equal(found, np.reshape([1.0, 1.0, -1.0, -1.0], out.shape))


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("swapped", [False, True])
def test_one_element_is_added_at_data_to_another_result(swapped: bool, target: str) -> None:
    x = ted.placeholder((2,), "float64", name="x")
    place = ted.placeholder((1,), "int64", name="place")
    squares = x * x
    more = ted.index_add(squares, 0, place, ted.ones((1,), "float64"))
    outputs = [more, squares] if swapped else [squares, more]
    arrays = [np.array([2.0, 3.0]), np.array([1])]
    f = ted.compile([x, place], outputs, target=target)
    with ted.testing.emulated_gpu():
        found = f(*arrays) if target == "cpu" else f(*map(ted.cuda.asarray, arrays))
        values = [(r if target == "cpu" else r.numpy()).tolist() for r in found]
    assert values == ([[4, 10], [4, 9]] if swapped else [[4, 9], [4, 10]])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_memory_of_a_result_in_which_another_chain_was_computed(swapped: bool, target: str) -> None:
    x, places = ted.placeholder((2, 1), name="x"), ted.placeholder((2,), "int32", name="places")
    values = ted.placeholder((2, 2), name="values")
    wide = ted.concatenate([x, x, x], 1)
    dropped = ted.index_add(wide, 1, places, values, mode="drop")
    checked = ted.index_add(wide, 1, places % 15, values, mode="check")
    results = [checked, ted.transpose(dropped, (1, 0))]
    f: Any = ted.compile([x, places, values], results[::-1] if swapped else results, target=target)
    arrays = (
        np.array([[2], [-3]], "f4"), np.array([1, 2], "i4"), np.array([[1, 2], [3, 4]], "f4")
    )  # fmt: skip
    if target == "cpu":
        found = f(*arrays)
    else:
        with ted.testing.emulated_gpu("sm_80"):
            found = [r.numpy() for r in f(*map(ted.cuda.asarray, arrays))]
    first, second = found[::-1] if swapped else found
    np.testing.assert_array_equal(first, [[2, 3, 4], [-3, 0, 1]])
    np.testing.assert_array_equal(second, np.transpose(first))
