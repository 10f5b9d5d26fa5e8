"""Which arrays take the results of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ted.codegen.manifest import ArraySpec
from ted.errors import ExecutionError
from ted.runtime.targets import targets_of

IN = (ArraySpec("x", (), "float64"), ArraySpec("w", (2,), "float64"))
OUT = (ArraySpec("y", (2,), "float64"), ArraySpec("z", (), "float64"))
W = np.zeros(2)


@pytest.mark.parametrize("number", [1.5, 2, True, np.float64(1.0)])
def test_a_number_that_is_donated_takes_nothing(number: Any) -> None:
    found = targets_of("f", IN, OUT, {0: 1, 1: 0}, [number, W], None)
    assert found.arrays[0] is W
    assert found.arrays[1] is None
    assert found.donated == {0: IN[1]}


def test_donated_arrays_take_results_where_nothing_else_is_said() -> None:
    x = np.zeros(())
    found = targets_of("f", IN, OUT, {1: 0}, [x, W], None)
    assert found.arrays[0] is None
    assert found.arrays[1] is x
    assert found.donated == {1: IN[0]}
    found = targets_of("f", IN, OUT, {1: 0}, [x, W], (W, x))
    assert (found.arrays, found.donated) == ((W, x), {})


def test_as_many_arrays_as_results_are_given() -> None:
    with pytest.raises(ExecutionError, match=r"f: out= expected 2 arrays \(y, z\), got 1"):
        targets_of("f", IN, OUT, {}, [1.0, W], W)
