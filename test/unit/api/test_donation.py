"""Donated inputs: results take over the arrays that were passed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, ExecutionError

READ_ONLY = "main: donated argument 'state': expected an array to write, got one that is read-only"
READ_TOO = "main: donated argument 'x' and argument 'y' overlap in memory, and the call would"
OVERLAP = "main: donated argument 'x' and donated argument 'y' overlap in memory"


class Slice:
    """An array of another library: a part of an array on the device."""

    def __init__(
        self, array: ted.cuda.DeviceArray, start: int, stop: int, read_only: bool = False
    ) -> None:
        self.__cuda_array_interface__ = {
            **array.__cuda_array_interface__,
            "shape": (stop - start,),
            "data": (array.pointer + 4 * start, read_only),
        }


def step(target: str = "cpu") -> Any:
    state, drive = ted.placeholder((5,), name="state"), ted.placeholder((5,), name="drive")
    results = [state * 0.5 + drive, ted.sum(state)]
    return ted.compile([state, drive], results, target, donate=(state,))


def both_donated(target: str = "cpu") -> Any:
    x, y = ted.placeholder((4,), name="x"), ted.placeholder((4,), name="y")
    return ted.compile([x, y], [x + y, x - y], target, donate=(x, y))


def test_the_result_is_the_donated_array() -> None:
    f, state, drive = step(), np.arange(5, dtype="f4"), np.ones(5, "f4")
    expected = state * 0.5 + drive
    new, total = f(state, drive)
    assert new is state
    np.testing.assert_array_equal(state, expected)
    assert total == 10.0


def test_every_use_of_the_old_value_comes_before_its_loss() -> None:
    x = ted.placeholder((6,), name="x")
    f = ted.compile([x], [ted.flip(x), ted.cumsum(x, axis=0)], donate=(x,))
    array = np.arange(6, dtype="f4")
    turned, sums = f(array)
    assert turned is array
    np.testing.assert_array_equal(turned, np.arange(6)[::-1])
    np.testing.assert_array_equal(sums, np.cumsum(np.arange(6)))


def test_out_goes_before_donation() -> None:
    f, state = step(), np.arange(5, dtype="f4")
    into = np.empty(5, "f4")
    new, _ = f(state, np.zeros(5, "f4"), out=[into, None])
    assert new is into
    np.testing.assert_array_equal(state, np.arange(5))


@pytest.mark.parametrize("number", [2.0, np.float32(2), True])
def test_a_number_cannot_become_a_result(number: Any) -> None:
    count, x = ted.placeholder((), name="count"), ted.placeholder((3,), name="x")
    f = ted.compile([count, x], [count + 1.0, x * count], donate=(count, x))
    array = np.arange(3, dtype="f4")
    after, product = f(number, array)
    assert after == number + 1
    assert product is array
    np.testing.assert_array_equal(product, np.arange(3) * np.float32(number))


def test_a_donated_array_of_another_type_is_refused_as_the_argument_that_it_is() -> None:
    with pytest.raises(ExecutionError, match="argument 'state': expected dtype float32"):
        step()(np.arange(5.0), np.ones(5, "f4"))


def test_a_read_only_donation_is_refused_by_name() -> None:
    state = np.arange(5, dtype="f4")
    state.flags.writeable = False
    with pytest.raises(ExecutionError, match=READ_ONLY):
        step()(state, np.ones(5, "f4"))


def test_donations_that_overlap_are_refused_by_name() -> None:
    memory = np.zeros(6, "f4")
    with pytest.raises(ExecutionError, match=OVERLAP):
        both_donated()(memory[:4], memory[2:])


def turned(target: str = "cpu") -> Any:
    x, y = ted.placeholder((4,), name="x"), ted.placeholder((4,), name="y")
    return ted.compile([x, y], [x + ted.flip(y)], target, donate=(x,))


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 2), (2, 0)])
def test_an_argument_in_the_memory_of_a_donated_one_is_refused_by_name(
    first: int, second: int
) -> None:
    memory = np.arange(6, dtype="f4")
    with pytest.raises(ExecutionError, match=READ_TOO):
        turned()(memory[first : first + 4], memory[second : second + 4])
    assert memory.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_donated_array_may_lie_beside_others() -> None:
    memory = np.arange(9, dtype="f4")
    turned()(memory[:4], memory[4:8])
    assert memory.tolist() == [7, 7, 7, 7, 4, 5, 6, 7, 8]
    turned()(memory[::2][:4], memory[1::2])
    assert memory.tolist() == [14, 7, 12, 7, 11, 5, 13, 7, 8]


def test_the_same_array_for_a_donated_argument_of_a_function() -> None:
    f, x = ted.function(lambda a, b: a + b, donate=0), np.ones(3)
    with pytest.raises(ExecutionError, match="'a' and argument 'b' overlap in memory"):
        f(x, x)
    assert f(x, 2 * x).tolist() == [3, 3, 3]


def test_the_memory_of_a_donated_array_on_a_gpu() -> None:
    f = turned("cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        memory = ted.cuda.asarray(np.zeros(8, "f4"))
        with pytest.raises(ExecutionError, match=READ_TOO):
            f(Slice(memory, 0, 4), Slice(memory, 0, 4))


def test_a_read_only_donation_on_a_gpu_is_refused_by_name() -> None:
    f = step("cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        state, drive = (ted.cuda.asarray(np.ones(5, "f4")) for _ in range(2))
        with pytest.raises(ExecutionError, match=READ_ONLY):
            f(Slice(state, 0, 5, read_only=True), drive)


def test_donations_on_a_gpu_that_overlap_are_refused_by_name() -> None:
    f = both_donated("cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        memory = ted.cuda.asarray(np.zeros(8, "f4"))
        with pytest.raises(ExecutionError, match=OVERLAP):
            f(Slice(memory, 0, 4), Slice(memory, 0, 4))


def test_only_inputs_that_fit_an_output_are_donated() -> None:
    x, y = ted.placeholder((4,), name="x"), ted.placeholder((3,), name="y")
    with pytest.raises(CompileError, match="takes inputs"):
        ted.compile([x], [x * 2], donate=(y,))
    with pytest.raises(CompileError, match=r"needs an output of its shape and type.*y\[3\]"):
        ted.compile([x, y], [x * ted.sum(y)], donate=(y,))
    with pytest.raises(CompileError, match="needs an output"):
        ted.compile([x], [x * 2], donate=(x, x))
