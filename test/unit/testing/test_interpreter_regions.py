"""The interpreter on linalg, scf and tensor: against numpy, and against what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest

from ted.dialects import session
from ted.errors import ExecutionError
from ted.mlir import ir
from ted.testing import interpret
from ted.testing.interpreter_values import TooManyPoints, at_most

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5))
C = RNG.normal(size=(3, 5))


def run(text: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return interpret(text, [np.array(a) for a in arrays])


def test_named_operations_are_their_maps_and_regions() -> None:
    (result,) = run(
        """
        func.func @main(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>, %c: tensor<3x5xf64>)
            -> tensor<3x5xf64> {
          %0 = linalg.matmul ins(%a, %b : tensor<3x4xf64>, tensor<4x5xf64>)
              outs(%c : tensor<3x5xf64>) -> tensor<3x5xf64>
          func.return %0 : tensor<3x5xf64>
        }""", A, B, C,
    )  # fmt: skip
    np.testing.assert_allclose(result, A @ B + C, rtol=1e-14)


def test_windows_indices_and_several_results() -> None:
    windows, places = run(
        """
        func.func @main(%x: tensor<6xf64>, %e: tensor<4xf64>, %i: tensor<4xi64>)
            -> (tensor<4xf64>, tensor<4xi64>) {
          %w = tensor.empty() : tensor<3xf64>
          %0:2 = linalg.generic {
            indexing_maps = [affine_map<(i, r) -> (i + r)>, affine_map<(i, r) -> (r)>,
                             affine_map<(i, r) -> (i)>, affine_map<(i, r) -> (i)>],
            iterator_types = ["parallel", "reduction"]
          } ins(%x, %w : tensor<6xf64>, tensor<3xf64>)
            outs(%e, %i : tensor<4xf64>, tensor<4xi64>) {
          ^bb0(%a: f64, %n: f64, %s: f64, %k: i64):
            %j = linalg.index 1 : index
            %v = arith.index_cast %j : index to i64
            %t = arith.addf %s, %a : f64
            %u = arith.addi %k, %v : i64
            linalg.yield %t, %u : f64, i64
          } -> (tensor<4xf64>, tensor<4xi64>)
          func.return %0#0, %0#1 : tensor<4xf64>, tensor<4xi64>
        }""", np.arange(6.0), np.zeros(4), np.ones(4, np.int64),
    )  # fmt: skip
    assert windows.tolist() == [3, 6, 9, 12]
    assert places.tolist() == [4, 4, 4, 4]


RUNNING = """
func.func @main(%x: tensor<5xf64>, %n: tensor<i64>) -> (tensor<5xf64>, tensor<5xf64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %i = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %i : i64 to index
  %0 = scf.for %t = %one to %end step %one iter_args(%h = %x) -> tensor<5xf64> {
    %p = affine.apply affine_map<(d0)[s0] -> (d0 - s0)>(%t)[%one]
    %q = affine.min affine_map<(d0) -> (d0, 3)>(%t)
    %a = tensor.extract %h[%p] : tensor<5xf64>
    %b = tensor.extract %h[%q] : tensor<5xf64>
    %even = arith.cmpi eq, %t, %q : index
    %s = scf.if %even -> f64 {
      %u = arith.addf %a, %b : f64
      scf.yield %u : f64
    } else {
      scf.yield %a : f64
    }
    %k = tensor.insert %s into %h[%t] : tensor<5xf64>
    scf.yield %k : tensor<5xf64>
  }
  func.return %0, %x : tensor<5xf64>, tensor<5xf64>
}"""


def test_loops_write_to_tensors_of_their_own() -> None:
    given = np.array([1.0, 2, 3, 4, 5])
    result, same = run(RUNNING, given, np.array(5))
    assert result.tolist() == [1, 3, 6, 10, 10]
    assert same.tolist() == given.tolist() == [1, 2, 3, 4, 5]


def test_an_index_outside_is_an_error_with_its_operation() -> None:
    with pytest.raises(ExecutionError, match=r"tensor\.insert: an index in \[0, 5\), got 5"):
        run(RUNNING, np.arange(5.0), np.array(6))


def test_threads_see_what_was_shared_before_them() -> None:
    (result,) = run(
        """
        func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
          %three = arith.constant 3 : index
          %0 = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<4xf64>) {
            %j = affine.apply affine_map<(d0) -> (-d0 + 3)>(%i)
            %s = tensor.extract_slice %o[%j] [1] [1] : tensor<4xf64> to tensor<1xf64>
            scf.forall.in_parallel {
              tensor.parallel_insert_slice %s into %o[%i] [1] [1]
                  : tensor<1xf64> into tensor<4xf64>
            }
          }
          func.return %0 : tensor<4xf64>
        }""", np.arange(4.0),
    )  # fmt: skip
    assert result.tolist() == [3, 2, 1, 0]


def test_what_was_never_written_is_nan_where_it_is_used_and_nowhere_else() -> None:
    (result,) = run(
        """
        func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
          %e = tensor.empty() : tensor<3xf64>
          %s = tensor.extract_slice %x[0] [2] [1] : tensor<3xf64> to tensor<2xf64>
          %f = tensor.insert_slice %s into %e[0] [2] [1] : tensor<2xf64> into tensor<3xf64>
          %0 = linalg.generic {
            indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
            iterator_types = ["parallel"]
          } ins(%f : tensor<3xf64>) outs(%x : tensor<3xf64>) {
          ^bb0(%a: f64, %o: f64):
            %p = arith.addf %a, %o : f64
            linalg.yield %p : f64
          } -> tensor<3xf64>
          func.return %0 : tensor<3xf64>
        }""", np.arange(3.0),
    )  # fmt: skip
    np.testing.assert_array_equal(result, [0, 2, np.nan])


def test_results_are_stored_in_memory_that_is_given() -> None:
    out = np.zeros(3)
    interpret(
        """
        func.func @main(%x: memref<3xf64>, %y: memref<3xf64>) {
          %0 = bufferization.to_tensor %x restrict : memref<3xf64> to tensor<3xf64>
          %1 = bufferization.to_tensor %y restrict writable : memref<3xf64> to tensor<3xf64>
          %2 = linalg.add ins(%0, %0 : tensor<3xf64>, tensor<3xf64>)
              outs(%1 : tensor<3xf64>) -> tensor<3xf64>
          bufferization.materialize_in_destination %2 in restrict writable %y
              : (tensor<3xf64>, memref<3xf64>) -> ()
          func.return
        }""", [np.arange(3.0), out],
    )  # fmt: skip
    assert out.tolist() == [0, 2, 4]


def test_a_program_that_is_too_long_is_left() -> None:
    with at_most(3), pytest.raises(TooManyPoints, match="at most 3 points, got more"):
        run(RUNNING, np.arange(5.0), np.array(5))


def test_an_operation_without_meaning_is_named() -> None:
    with pytest.raises(ExecutionError, match=r"an op with known meaning, got tensor\.dim"):
        run(
            """
            func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
              %zero = arith.constant 0 : index
              %n = tensor.dim %x, %zero : tensor<3xf64>
              func.return %x : tensor<3xf64>
            }""", A[0, :3],
        )  # fmt: skip


def test_loops_carry_numbers_in_order() -> None:
    last, before = run(
        """
        func.func @main(%n: tensor<i64>, %a: tensor<i64>, %b: tensor<i64>)
            -> (tensor<i64>, tensor<i64>) {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %k = tensor.extract %n[] : tensor<i64>
          %end = arith.index_cast %k : i64 to index
          %x = tensor.extract %a[] : tensor<i64>
          %y = tensor.extract %b[] : tensor<i64>
          %0:2 = scf.for %t = %zero to %end step %one iter_args(%p = %x, %q = %y) -> (i64, i64) {
            %s = arith.addi %p, %q : i64
            scf.yield %q, %s : i64, i64
          }
          %c = tensor.splat %0#0 : tensor<i64>
          %d = tensor.splat %0#1 : tensor<i64>
          func.return %c, %d : tensor<i64>, tensor<i64>
        }""", np.array(7), np.array(0), np.array(1),
    )  # fmt: skip
    assert (last, before) == (13, 21)


def test_functions_of_another_module_are_those_that_have_no_body_here() -> None:
    one = """func.func {} @{}(%x: tensor<f64>) -> tensor<f64> {{
      %a = tensor.extract %x[] : tensor<f64>
      %b = arith.{} %a, %a : f64
      %c = tensor.splat %b : tensor<f64>
      func.return %c : tensor<f64> }}"""
    with session():
        module = ir.Module.parse(f"""module {{
          {one.format("private", "own", "addf")}
          func.func private @other(tensor<f64>) -> tensor<f64>
          func.func @main(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{
            %0 = func.call @own(%x) : (tensor<f64>) -> tensor<f64>
            %1 = func.call @other(%x) : (tensor<f64>) -> tensor<f64>
            func.return %0, %1 : tensor<f64>, tensor<f64> }} }}""")
        texts = (one.format("", name, "mulf") for name in ("own", "other"))
        bodies = ir.Module.parse("\n".join(texts))
        assert interpret(module, [np.array(3.0)], bodies=bodies) == (6.0, 9.0)
