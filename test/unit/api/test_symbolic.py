"""Sizes that follow from the shapes of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, ExecutionError


def sized() -> Any:
    n, m = ted.size("n"), ted.size("m", min=2)
    x = ted.placeholder((n, n + m), "float64", name="x")
    y = ted.placeholder((2 * m,), "float64", name="y")
    return ted.compile([x, y], [ted.sum(x) + ted.sum(y)])


def test_sizes_follow_from_the_shapes_of_arrays() -> None:
    f = sized()
    with pytest.raises(CompileError, match=r"depends on the sizes, .*\.specialise\(n=..., m"):
        f.peak_bytes  # noqa: B018
    assert f(np.ones((2, 5)), np.ones(6))[0] == 16
    assert f(np.ones((1, 3)), np.ones(4))[0] == 7
    assert f.peak_bytes > 0
    assert f.specialise(n=2, m=3) is f.specialise(m=3, n=2)
    assert f.specialise(n=2, m=3) is not f.specialise(n=2, m=2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.ones((2, 5)),), "takes 2 arrays, got 1"),
        ((np.ones((2, 5)), np.ones(5)), r"argument y: dim 0 must have"),
        ((np.ones((2, 5)), np.ones(8)),
         r"argument y: dim 0 must have extent 2\*m = 6 for m = 3, n = 2, got 8"),
        ((np.ones((2, 3)), np.ones(2)), "size m: must be at least 2"),
        ((np.ones(2), np.ones(6)), r"argument x: must be an array of x.*, got shape \(2,\)"),
        (("no", np.ones(6)), "argument x: must be an array of x.*, got str"),
        ((1.0, np.ones(6)), r"argument x: must be an array of x.*, got shape \(\)"),
    ],
)  # fmt: skip
def test_arrays_that_no_size_fits_are_refused(arrays: Any, message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        sized()(*arrays)


def test_a_program_of_all_sizes_has_one_stage() -> None:
    f = sized()
    assert "ted.sizes" in f.ir()
    with pytest.raises(CompileError, match=r"take that of .specialise\(n=..., m=...\)"):
        f.ir("asm")
    with pytest.raises(AttributeError, match="a function of symbolic sizes has no 'fast'"):
        _ = f.fast
    with pytest.raises(ExecutionError, match="one value for each of the sizes"):
        f.specialise(n=2)


def test_a_sum_of_two_unknown_sizes_waits_for_one_of_them() -> None:
    n, m = ted.size("n"), ted.size("m")
    x = ted.placeholder((n + m, n), "float64", name="x")
    y = ted.placeholder((3 * n + 2,), "float64", name="y")
    f = ted.compile([x, y], [ted.sum(x) + ted.sum(y)])
    assert f(np.ones((5, 2)), np.ones(8))[0] == 18
    only = ted.compile([y], [ted.sum(y)])
    assert only(np.ones(8))[0] == 8
    with pytest.raises(ExecutionError, match="got 9, which is that of no n"):
        only(np.ones(9))


@pytest.mark.parametrize("number", [True, 2, 2.5, np.float64(1.5), np.array(0.5)])
def test_numbers_are_arrays_without_dims(number: Any) -> None:
    x = ted.placeholder((ted.size("n"),), "float64", name="x")
    scale = ted.placeholder((), "float64", name="scale")
    f = ted.compile([x, scale], x * scale)
    assert f(np.ones(3), number).tolist() == [number] * 3
