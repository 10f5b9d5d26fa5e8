"""The interpreter on memory: what it computes, and the reads and writes that it must refuse."""

from __future__ import annotations

import numpy as np
import pytest

from ted.errors import ExecutionError
from ted.testing import interpret
from ted.testing.interpreter_memory import as_memory
from ted.testing.interpreter_values import Cells


def run(body: str, *memory: Cells, kinds: tuple[str, ...] = ("4xf64", "2x2xf64")) -> None:
    arguments = ", ".join(f"%{n}: memref<{kind}>" for n, kind in zip("xyz", kinds, strict=False))
    text = f"""
    memref.global "private" constant @primes : memref<3xf64> = dense<[2.0, 3.0, 5.0]>
    func.func private @ted_index_error(index)
    func.func @main({arguments}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %zero = arith.constant 0.0 : f64
      {body}
      return
    }}"""
    interpret(text, memory)


def given(*values: float) -> Cells:
    return as_memory(Cells(np.array(values, np.float64)))


def nothing(*shape: int) -> Cells:
    return Cells(np.full(shape, np.nan), np.ones(shape, np.bool_))


VIEWS = """
  %v = memref.subview %y[%c1, 0] [1, 2] [1, 1]
      : memref<2x2xf64> to memref<2xf64, strided<[1], offset: ?>>
  %w = memref.expand_shape %x [[0, 1]] output_shape [2, 2] : memref<4xf64> into memref<2x2xf64>
  %a = memref.alloc() : memref<2xf64>
  scf.for %i = %c0 to %c2 step %c1 {
    %e = memref.load %w[%c1, %i] : memref<2x2xf64>
    memref.store %e, %a[%i] : memref<2xf64>
  }
  memref.copy %a, %v : memref<2xf64> to memref<2xf64, strided<[1], offset: ?>>
  memref.dealloc %a : memref<2xf64>
"""


def test_views_share_cells_and_marks() -> None:
    x, y = given(1, 2, 3, 4), nothing(2, 2)
    run(VIEWS, x, y)
    assert y.data[1].tolist() == [3, 4]
    assert y.undefined is not None
    assert y.undefined.tolist() == [[True, True], [False, False]]


def test_operations_of_linalg_and_constants_work_in_place() -> None:
    x, y = given(1, 2, 3, 4), nothing(2, 2)
    run(
        """
        %p = memref.get_global @primes : memref<3xf64>
        %q = memref.subview %p[1] [2] [1] : memref<3xf64> to memref<2xf64, strided<[1], offset: 1>>
        linalg.fill ins(%zero : f64) outs(%y : memref<2x2xf64>)
        %w = memref.expand_shape %x [[0, 1]] output_shape [2, 2]
            : memref<4xf64> into memref<2x2xf64>
        linalg.matmul ins(%w, %w : memref<2x2xf64>, memref<2x2xf64>) outs(%y : memref<2x2xf64>)
        %r = memref.subview %y[0, 0] [1, 2] [1, 1]
            : memref<2x2xf64> to memref<2xf64, strided<[1]>>
        linalg.add ins(%q, %q : memref<2xf64, strided<[1], offset: 1>>,
                                memref<2xf64, strided<[1], offset: 1>>)
                   outs(%r : memref<2xf64, strided<[1]>>)
        """, x, y,
    )  # fmt: skip
    assert y.data.tolist() == [[6, 10], [15, 22]]


REFUSED = {
    "a total that starts from nothing": (
        """%w = memref.expand_shape %x [[0, 1]] output_shape [2, 2]
               : memref<4xf64> into memref<2x2xf64> loc("model.py":5:1)
           linalg.matmul ins(%w, %w : memref<2x2xf64>, memref<2x2xf64>)
               outs(%y : memref<2x2xf64>) loc("model.py":7:1)""",
        r"linalg\.matmul: reads what has been written, got nothing at index \[0, 0\] of "
        r"argument 1 \(model\.py:7",
    ),
    "an element in a loop": (
        """%t = memref.alloc() : memref<4xf64> loc("totals"("model.py":2:1))
           scf.for %i = %c0 to %c2 step %c1 {
             memref.store %zero, %t[%c0] : memref<4xf64>
             %e = memref.load %t[%i] : memref<4xf64> loc("model.py":9:1)
           }""",
        r"memref\.load: reads .*, got nothing at index \[1\] of totals \(model\.py:9",
    ),
    "a copy of what nobody wrote": (
        """%t = memref.alloc() : memref<2x2xf64>
           linalg.fill ins(%zero : f64) outs(%t : memref<2x2xf64>)
           memref.copy %y, %t : memref<2x2xf64> to memref<2x2xf64>
           %e = memref.load %t[%c0, %c1] : memref<2x2xf64>""",
        r"memref\.load: reads .*, got nothing at index \[0, 1\] of memory of memref\.alloc",
    ),
    "memory that has been freed": (
        """%t = memref.alloc() : memref<f64>
           memref.store %zero, %t[] : memref<f64>
           memref.dealloc %t : memref<f64>
           %e = memref.load %t[] : memref<f64>""",
        r"memref\.load: reads .*, got nothing at index \[\] of memory of memref\.alloc",
    ),
    "memory of the turn before": (
        """scf.for %i = %c0 to %c2 step %c1 {
             %t = memref.alloca() : memref<f64>
             %first = arith.cmpi eq, %i, %c0 : index
             scf.if %first {
               memref.store %zero, %t[] : memref<f64>
             }
             %e = memref.load %t[] : memref<f64>
           }""",
        r"memref\.load: reads .*, got nothing at index \[\] of memory of memref\.alloca",
    ),
    "a store behind the end": (
        """%i = affine.apply affine_map<(d0) -> (d0 + 3)> (%c1)
           memref.store %zero, %x[%i] : memref<4xf64> loc("model.py":3:1)""",
        r"memref\.store: an index in \[0, 4\), got 4 \(model\.py:3",
    ),
    "a view behind the end": (
        "%v = memref.subview %x[%c2] [3] [1] : memref<4xf64> to memref<3xf64, strided<[1], "
        "offset: ?>>",
        r"memref\.subview: a slice in \[0, 4\), got 3 elements from 2",
    ),
    "an index that is told to the runtime": (
        "func.call @ted_index_error(%c1) : (index) -> ()",
        r"every index is inside of its tensor, got one outside",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_memory_does_not_hold_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    with pytest.raises(ExecutionError, match=message):
        run(body, given(1, 2, 3, 4), nothing(2, 2))
