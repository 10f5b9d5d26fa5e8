"""Compilation of tensors: results, arrays to fill, stages, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import CompileError, TedError

X = ted.placeholder((2, 3), "float64", name="x")
N = ted.placeholder((3,), "int32", name="n")
ARRAY = np.arange(6.0).reshape(2, 3)


def test_results_come_in_the_order_of_the_outputs() -> None:
    y, z = X * 2.0, ted.sum(X, axis=0)
    f = ted.compile([X], [z, y])
    found = f(ARRAY)
    assert [r.tolist() for r in found] == [[3, 5, 7], (2 * ARRAY).tolist()]
    assert f.peak_bytes >= 0
    same = ted.compile([X], [X, y, y])(ARRAY)
    assert [r.tolist() for r in same] == [ARRAY.tolist(), *[(2 * ARRAY).tolist()] * 2]


def test_the_peak_is_counted_before_the_first_call() -> None:
    x = ted.placeholder((300, 300), "float32", name="x")
    f = ted.compile([x], [ted.sum(ted.cumsum(x @ x, axis=0) @ x)], "cpu,threads=1")
    counted = f.peak_bytes
    assert counted == f.memory().peak_bytes > 300 * 300 * 4
    f(np.ones((300, 300), "f4"))
    assert counted <= f.peak_bytes <= counted + 2**18


def test_arrays_are_filled_on_demand() -> None:
    f = ted.compile([X], [X + 1.0])
    out = np.full((2, 3), np.nan)
    (found,) = f(ARRAY, out=[out])
    assert found is out
    assert out.tolist() == (ARRAY + 1).tolist()


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("ted", "ted.compute"), ("linalg", "linalg.generic"), ("buffers", "memref"),
        ("llvm", "llvm.func"),
    ],
)  # fmt: skip
def test_stages_can_be_read(stage: str, text: str) -> None:
    f = ted.compile([X], [X * X])
    assert text in f.ir(stage)
    assert stage in f.stages
    assert f.stages[-1] == "asm"
    with pytest.raises(CompileError, match="ir: a stage in"):
        f.ir("nothing")


def test_what_cannot_be_compiled_is_refused() -> None:
    other = ted.placeholder((2, 3), "float64", name="other")
    with pytest.raises(TedError, match="other"):
        ted.compile([X], [X + other])
    with pytest.raises(CompileError):
        ted.compile([X], [X + 1.0], target="nowhere")


def test_inputs_that_nothing_reads_are_taken_all_the_same() -> None:
    f = ted.compile([X, N], [X * 3.0])
    assert f(ARRAY, np.zeros(3, "int32"))[0].tolist() == (3 * ARRAY).tolist()
    empty = ted.compile([N], [ted.cast(N, "float64")])
    assert empty(np.array([1, 2, 3], "int32"))[0].tolist() == [1, 2, 3]


def test_a_tensor_alone_gives_an_array_alone() -> None:
    assert ted.compile([X], X * 2.0)(ARRAY).tolist() == (2 * ARRAY).tolist()
    n = ted.size("n")
    v = ted.placeholder((n,), "float64", name="v")
    assert ted.compile([v], v * 2.0)(np.ones(3)).tolist() == [2, 2, 2]
    taken = np.ones(3)
    found = ted.compile([v], v * 2.0, donate=[v])(taken)
    assert found is taken
    assert taken.tolist() == [2, 2, 2]


def test_a_donated_array_becomes_the_result_of_its_shape() -> None:
    given = ARRAY.copy()
    total, moved = ted.compile([X], [ted.sum(X), X + 1.0], donate=[X])(given)
    assert moved is given
    assert total == ARRAY.sum()
