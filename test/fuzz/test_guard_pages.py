"""Machine code stays inside its memory; and guard pages notice where it does not."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import ted
from fuzz.guard_pages import (
    AT_END,
    AT_START,
    Call,
    compiled,
    died,
    guarded,
    in_guarded_memory,
    operator_calls,
    outcome,
    random_calls,
)
from numeric.operators import OPERATORS
from ted import _runtime

NAMES = [o.name for o in OPERATORS]
SEGMENTATION_FAULT = "died, status -11"
ABORT = "died, status -6"


def reading_at(offset: int, mode: int) -> str:
    def run(array: np.ndarray) -> None:
        with guarded(mode):
            copy = in_guarded_memory(array)
        ctypes.c_char.from_address(copy.ctypes.data + offset).value  # noqa: B018

    return died(run, np.zeros(12, np.uint8))


def writing_at(offset: int, mode: int) -> str:
    def run(size: int) -> None:
        with guarded(mode):
            memory = _runtime.Buffer(size)
        address = np.frombuffer(memory, np.uint8).ctypes.data
        ctypes.c_char.from_address(address + offset).value = b"x"
        del memory

    return died(run, 12)


def test_what_passes_the_end_dies():
    assert reading_at(11, AT_END) == ""
    assert reading_at(12, AT_END) == SEGMENTATION_FAULT


def test_what_passes_the_start_dies():
    assert reading_at(0, AT_START) == ""
    assert reading_at(-1, AT_START) == SEGMENTATION_FAULT


def test_what_is_written_beside_the_data_is_found_later():
    assert writing_at(0, AT_END) == ""
    assert writing_at(-1, AT_END) == ABORT
    assert writing_at(12, AT_START) == ABORT


def test_a_tile_that_is_turned_round_stays_inside_its_memory():
    def calls(shapes: tuple[tuple[int, ...], ...]) -> list[Call]:
        x, w = (
            ted.placeholder(shape, "float32", name=n) for n, shape in zip("xw", shapes, strict=True)
        )
        y = ted.nn.conv2d(x[None], w, layout="NCHW")
        return [compiled([x, w], [y], [np.ones(shape, np.float32) for shape in shapes])]

    assert outcome(calls, ((64, 16, 58), (64, 64, 3, 3))) == ""


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_stay_inside_their_memory(seed: int):
    assert outcome(random_calls, seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 15))
def test_many_random_programs_stay_inside_their_memory(seed: int):
    assert outcome(random_calls, seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_operators_stay_inside_their_memory(name: str):
    assert outcome(operator_calls, name) == ""
