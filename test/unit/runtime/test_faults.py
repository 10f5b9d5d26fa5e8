"""What can go wrong inside compiled code: indices out of range and memory that runs out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ted import _runtime
from ted.errors import ExecutionError
from ted.runtime.buffers import ArgSpec, allocate
from ted.runtime.calls import bind
from unit.runtime.programs import compile_text

# y[i] = i-th index when it lies under 8; each index is checked first.
CHECKED = """
func.func private @ted_index_error(i64, i64, i64, i64)
func.func @main(%x: memref<4xi64>, %y: memref<4xi64>) {
  %c0 = arith.constant 0 : i64
  %id = arith.constant 7 : i64
  %extent = arith.constant 8 : i64
  affine.for %i = 0 to 4 {
    %v = memref.load %x[%i] : memref<4xi64>
    %good = arith.cmpi ult, %v, %extent : i64
    scf.if %good {
      memref.store %v, %y[%i] : memref<4xi64>
    } else {
      func.call @ted_index_error(%id, %c0, %v, %extent) : (i64, i64, i64, i64) -> ()
    }
  }
  return
}"""

# Two buffers of 1000 and 3000 bytes live at once; %n more bytes are then asked for.
HUNGRY = """
func.func @main(%x: memref<i64>, %y: memref<i8>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i8
  %n = memref.load %x[] : memref<i64>
  %size = arith.index_cast %n : i64 to index
  %a = memref.alloc() : memref<1000xi8>
  %b = memref.alloc() : memref<3000xi8>
  memref.store %one, %a[%c0] : memref<1000xi8>
  memref.store %one, %b[%c0] : memref<3000xi8>
  %c = memref.alloc(%size) {alignment = 128 : i64} : memref<?xi8>
  memref.store %one, %c[%c0] : memref<?xi8>
  %v = memref.load %c[%c0] : memref<?xi8>
  %w = memref.load %a[%c0] : memref<1000xi8>
  %s = arith.addi %v, %w : i8
  memref.store %s, %y[] : memref<i8>
  memref.dealloc %a : memref<1000xi8>
  memref.dealloc %b : memref<3000xi8>
  memref.dealloc %c : memref<?xi8>
  return
}"""

COPY = """
func.func @main(%x: memref<2x3x4xf32>, %y: memref<4x2x3xf32>) {
  %t = memref.transpose %x (i, j, k) -> (k, i, j)
    : memref<2x3x4xf32> to memref<4x2x3xf32, strided<[1, 12, 4]>>
  memref.copy %t, %y : memref<4x2x3xf32, strided<[1, 12, 4]>> to memref<4x2x3xf32>
  return
}"""


@pytest.fixture
def checked():
    specs = [ArgSpec(name, "int64", (4,)) for name in "xy"]
    return bind(compile_text(CHECKED), specs[:1], specs[1:], name="pick", symbol="main",
                accesses={7: ("B", "model.py:41")})  # fmt: skip


@pytest.fixture
def hungry():
    return bind(compile_text(HUNGRY), [ArgSpec("x", "int64", ())], [ArgSpec("y", "int8", ())])


@pytest.fixture
def memory_limit() -> Iterator[None]:
    old = _runtime.memory_set_limit(_runtime.memory_current() + 1_000_000)
    yield
    _runtime.memory_set_limit(old)


@pytest.mark.parametrize("bad", [8, -1, 2**62])
def test_the_first_bad_index_is_reported(checked, bad: int) -> None:
    with pytest.raises(ExecutionError) as error:
        checked(np.array([1, bad, 2, 99]))
    assert error.value.message == (
        f"pick: index out of range: tensor B has extent 8 in dim 0, got index {bad}, at model.py:41"
    )


def test_a_fault_does_not_outlive_its_call(checked) -> None:
    with pytest.raises(ExecutionError):
        checked(np.array([8, 8, 8, 8]))
    assert checked(np.array([1, 2, 3, 4]))[0].tolist() == [1, 2, 3, 4]


def test_concurrent_calls_keep_their_faults_apart(checked) -> None:
    def outcome(k: int) -> bool:
        try:
            return checked(np.array([1, 2, 3, 8 if k % 2 else 4]))[0][3] == 4
        except ExecutionError:
            return False

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(outcome, range(400))) == [True, False] * 200


def test_peak_bytes_are_results_and_temporaries(hungry) -> None:
    assert hungry(5)[0] == 2
    # One byte of result; the buffer that wants 128-byte alignment asks for 128 bytes more.
    assert hungry.peak_bytes == 1 + 1000 + 3000 + 5 + 128
    assert hungry(100)[0] == 2
    assert hungry.peak_bytes == 1 + 1000 + 3000 + 100 + 128


@pytest.mark.usefixtures("memory_limit")
def test_memory_that_runs_out_is_an_error_and_leaks_nothing(hungry) -> None:
    before = _runtime.memory_current()
    for size in (2_000_000, 2**60, -(2**60), 2**63 - 1):
        with pytest.raises(ExecutionError, match="main: out of memory: cannot allocate"):
            hungry(size)
        assert _runtime.memory_current() == before
    assert hungry(5)[0] == 2


def test_the_process_wide_peak_counts_results() -> None:
    gc.collect()
    _runtime.memory_reset_peak()
    start = _runtime.memory_current()
    assert _runtime.memory_peak() == start
    array = allocate(ArgSpec("y", "float64", (100,)))
    assert _runtime.memory_current() == start + 800
    del array
    assert _runtime.memory_current() == start
    assert _runtime.memory_peak() == start + 800


def test_strided_copies_resolve_to_the_runtime() -> None:
    copy = bind(compile_text(COPY), [ArgSpec("x", "float32", (2, 3, 4))],
                [ArgSpec("y", "float32", (4, 2, 3))])  # fmt: skip
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(copy(x)[0], x.transpose(2, 0, 1))
