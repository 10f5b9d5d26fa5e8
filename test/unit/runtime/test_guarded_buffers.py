"""Buffers against a page without access: counted, limited, returned, and watched."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

from ted import _runtime
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import bind
from unit.runtime.programs import compile_text

OFF, AT_END, AT_START = 0, 1, 2
SIZES = (0, 1, 4096, 10_000)

# A buffer of 100 bytes beside the result.
COPYING = """
func.func @main(%x: memref<25xf32>, %y: memref<25xf32>) {
  %t = memref.alloc() {alignment = 64 : i64} : memref<25xf32>
  affine.for %i = 0 to 25 {
    %v = affine.load %x[%i] : memref<25xf32>
    affine.store %v, %t[%i] : memref<25xf32>
  }
  affine.for %i = 0 to 25 {
    %v = affine.load %t[%i] : memref<25xf32>
    affine.store %v, %y[%i] : memref<25xf32>
  }
  memref.dealloc %t : memref<25xf32>
  return
}"""


@pytest.fixture(params=[AT_END, AT_START])
def mode(request: pytest.FixtureRequest) -> Iterator[int]:
    assert _runtime.memory_set_guard(request.param) == OFF
    yield request.param
    assert _runtime.memory_set_guard(OFF) == request.param


def test_guarded_memory_is_counted_and_returned(mode: int):
    gc.collect()
    before = _runtime.memory_current()
    blocks = [_runtime.Buffer(size) for size in SIZES]
    assert _runtime.memory_current() == before + sum(SIZES)
    del blocks
    assert _runtime.memory_current() == before


def test_a_limit_holds_for_guarded_memory(mode: int):
    old = _runtime.memory_set_limit(_runtime.memory_current() + 100)
    try:
        with pytest.raises(MemoryError):
            _runtime.Buffer(101)
    finally:
        _runtime.memory_set_limit(old)


def test_guarded_data_lies_against_a_page(mode: int):
    for size in SIZES[1:]:
        data = np.frombuffer(_runtime.Buffer(size), np.uint8)
        edge = data.ctypes.data + (size if mode == AT_END else 0)
        assert edge % 4096 == 0


def test_compiled_code_takes_guarded_buffers(mode: int):
    f = bind(
        compile_text(COPYING), [ArgSpec("x", "float32", (25,))], [ArgSpec("y", "float32", (25,))]
    )
    x = np.arange(25, dtype=np.float32)
    np.testing.assert_array_equal(f(x)[0], x)


def test_what_was_taken_before_is_given_back_as_it_was():
    gc.collect()
    before = _runtime.memory_current()
    plain = _runtime.Buffer(64)
    _runtime.memory_set_guard(AT_END)
    guarded = _runtime.Buffer(64)
    _runtime.memory_set_guard(OFF)
    del plain, guarded
    assert _runtime.memory_current() == before
