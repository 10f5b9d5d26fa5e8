"""Which arguments are memory of results, and the type of a function whose results are in memory."""

from __future__ import annotations

import pytest

from ted.dialects import make_context
from ted.errors import PassFailed
from ted.linalg.results_in_memory import IN_PLACE, check_results, set_type, taken_over
from ted.linalg.ted_lower_tensors import TedLowerTensors
from ted.mlir import ir
from ted.mlir.queries import functions, terminator

TAKEN = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
    attributes {ted.in_place = array<i64: 1, 0>} {
  return %y : tensor<4xf32>
}"""


def test_arguments_are_taken_over_until_the_type_says_so() -> None:
    with make_context():
        module = ir.Module.parse(TAKEN)
        (function,) = functions(module)
        assert taken_over(function) == taken_over(function) == {1: 0}
        set_type(function)
        assert IN_PLACE not in function.operation.attributes
        assert taken_over(function) == {}


def test_only_tensors_of_known_size_have_memory() -> None:
    with make_context():
        module = ir.Module.parse("func.func @f(%x: f32) -> f32 { return %x : f32 }")
        (function,) = functions(module)
        with pytest.raises(PassFailed, match=r"some-pass: .* got f32 as result 0 of @f"):
            check_results(function, terminator(function.entry_block), "some-pass")


def test_memory_is_that_of_no_other_argument_and_numbers_are_no_memory() -> None:
    with make_context():
        module = ir.Module.parse("func.func @f(%x: memref<4xf32>, %n: index) { return }")
        (function,) = functions(module)
        set_type(function)
        assert "(%arg0: memref<4xf32> {llvm.noalias}, %arg1: index)" in str(module)


def test_a_module_without_tensors_is_not_touched() -> None:
    with make_context():
        module = ir.Module.parse("func.func @f(%x: memref<4xf32>) { return }")
        before = str(module)
        TedLowerTensors().run(module)
        assert str(module) == before
