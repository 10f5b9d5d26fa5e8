"""Programs of linalg: raised, they give what MLIR's own lowering gives, and have derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.frontend.systems import system_of
from ted.ir.equations import System
from ted.ir.to_ops import to_module
from ted.raising.modules import Raised, from_mlir
from ted.testing import check_grads, interpret
from unit.raising import upstream
from unit.raising.programs import BITS, COUNTER, INTEGERS, PROGRAMS, STACK


def arrays_for(system: System) -> list[Any]:
    rng = np.random.default_rng(5)
    found = []
    for tensor in system.inputs:
        shape = tensor.static_shape
        if tensor.dtype.is_float:
            found.append(rng.normal(size=shape).astype(tensor.dtype.dtype))
        else:
            found.append(rng.integers(0, 3, size=shape).astype(tensor.dtype.dtype))
    return found


def interpreted(raised: Raised, arrays: list[Any]) -> tuple[Any, ...]:
    inputs = [ted.placeholder(a.shape, str(a.dtype), f"x{k}") for k, a in enumerate(arrays)]
    outputs = raised(*inputs)
    listed = outputs if isinstance(outputs, tuple) else (outputs,)
    return tuple(interpret(to_module(system_of(inputs, listed)), arrays))


@pytest.mark.parametrize("name", PROGRAMS)
def test_raised_programs_give_what_mlir_gives(name: str) -> None:
    raised = from_mlir(PROGRAMS[name], "main")
    arrays = arrays_for(raised.system)
    found = interpreted(raised, arrays)
    wanted = [np.empty_like(f) for f in found]
    upstream.run(PROGRAMS[name], arrays, wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)


def test_integers_divide_and_extend_as_arith_says() -> None:
    raised = from_mlir(INTEGERS)
    x = np.array([-7, -6, -1, 0, 1, 6, 7, 9, -9], np.int32)
    y = np.array([2, -3, 5, 4, -2, -4, 3, 3, 3], np.int32)
    b = np.array([0, 1, 1, 0, 1, 0, 1, 0, 1], bool)
    quotient, rest, above, signs, odd, plain = interpreted(raised, [x, y, b])
    np.testing.assert_array_equal(quotient, np.trunc(x / y))
    np.testing.assert_array_equal(rest, np.fmod(x, y))
    np.testing.assert_array_equal(above, np.ceil(x / y))
    np.testing.assert_array_equal(signs, -b.astype(np.int32))
    np.testing.assert_array_equal(odd, (x % 2 == 1) ^ b)
    np.testing.assert_array_equal(plain, (x.view(np.uint32) // y.view(np.uint32)).view(np.int32))


def test_bools_compare_and_extend_as_integers_of_one_bit() -> None:
    a, b = np.array([0, 1, 0, 1], bool), np.array([0, 0, 1, 1], bool)
    *orders, index = interpreted(from_mlir(BITS), [a, b])
    for found, wanted in zip(orders, (a & ~b, a | ~b, ~a & b, ~a | b), strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(index, -a.astype(np.int64))


def test_indices_in_the_text_are_integers() -> None:
    text = """
func.func @main() -> tensor<2xi64> {
  %c = arith.constant dense<[3, 1]> : tensor<2xindex>
  %0 = arith.index_cast %c : tensor<2xindex> to tensor<2xi64>
  return %0 : tensor<2xi64>
}"""
    (found,) = interpreted(from_mlir(text), [])
    assert found.tolist() == [3, 1]


def test_rows_are_read_at_indices_and_shares_of_them_are_a_softmax() -> None:
    text = """
func.func @main(%x: tensor<3x4xf64>, %at: tensor<5xindex>) -> (tensor<3x5xf64>, tensor<5xindex>) {
  %e = tensor.empty() : tensor<3x5xf64>
  %f = tensor.empty() : tensor<5xindex>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<5xindex>) outs(%e : tensor<3x5xf64>) {
  ^bb0(%k: index, %o: f64):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i, %k] : tensor<3x4xf64>
    linalg.yield %v : f64
  } -> tensor<3x5xf64>
  %1 = linalg.softmax dimension(1) ins(%0 : tensor<3x5xf64>) outs(%e : tensor<3x5xf64>)
      -> tensor<3x5xf64>
  %2 = linalg.map {arith.addi} ins(%at, %at : tensor<5xindex>, tensor<5xindex>)
      outs(%f : tensor<5xindex>)
  return %1, %2 : tensor<3x5xf64>, tensor<5xindex>
}"""
    x, at = np.arange(12.0).reshape(3, 4), np.array([3, 0, 1, 1, 2])
    shares, twice = interpreted(from_mlir(text), [x, at])
    wanted = np.exp(x[:, at])
    np.testing.assert_allclose(shares, wanted / wanted.sum(1, keepdims=True))
    np.testing.assert_array_equal(twice, 2 * at)


# first, step, end, the predicate, the type; the steps, None where they are not counted
COUNTERS = [
    ("1", "2", "7", "slt", "i64", 3),
    ("1", "2", "7", "sle", "i64", 4),
    ("1", "2", "7", "ult", "i64", 3),
    ("9", "2", "7", "slt", "i64", 0),
    ("-3", "2", "7", "ult", "i64", None),  # without a sign it is above
    ("20", "90", "120", "slt", "i8", None),  # 200 is -56 in 8 bits
    ("7", "-2", "1", "sgt", "i64", 3),
    ("7", "-2", "1", "sge", "i64", 4),
    ("4", "-1", "0", "ne", "i64", 4),
    ("1", "2", "7", "ne", "i64", 3),
    ("5", "-2", "0", "ne", "i64", None),  # ends where 64 bits do
    ("7", "2", "1", "ne", "i64", None),
    ("-20", "-90", "-120", "sgt", "i8", None),
]


@pytest.mark.parametrize("row", COUNTERS)
def test_a_loop_is_counted_where_its_type_has_all_numbers(row: tuple[Any, ...]) -> None:
    text, steps = COUNTER, row[-1]
    for word, value in zip(("FIRST", "STEP", "END", "PREDICATE", "KIND"), row[:-1], strict=True):
        text = text.replace(word, value)
    raised = from_mlir(text)
    if steps is None:
        with pytest.raises(ted.errors.TedError, match="loop"):
            interpreted(raised, [np.ones(2)])
        return
    found, count = interpreted(raised, [np.ones(2)])
    np.testing.assert_array_equal(found, np.full(2, 2.0**steps))
    assert count == int(row[0]) + steps * int(row[1])


def test_a_loop_that_counts_in_floats_is_not_counted_before_it_runs() -> None:
    text = COUNTER.replace("cmpi", "cmpf").replace("addi", "addf")
    row = ("0.0", "1.5", "5.0", "olt", "f64")
    for word, value in zip(("FIRST", "STEP", "END", "PREDICATE", "KIND"), row, strict=True):
        text = text.replace(word, value)
    found, count = ted.function(from_mlir(text))(np.ones(2))
    np.testing.assert_array_equal(found, np.full(2, 2.0**4))
    assert count == 6.0


def test_a_stack_that_its_rows_read_is_a_state() -> None:
    x = np.arange(12.0).reshape(4, 3)
    wanted = x.copy()
    for k in range(4):
        wanted[k] = 2 * wanted[3 - k]
    (found,) = interpreted(from_mlir(STACK), [x])
    np.testing.assert_array_equal(found, wanted)


def test_a_row_that_is_written_again_is_no_stack() -> None:
    text = STACK.replace("%r into %o[%k,", "%r into %o[%c3,")
    text = text.replace("slice %o[%back", "slice %x[%back")
    x = np.arange(12.0).reshape(4, 3)
    (found,) = interpreted(from_mlir(text), [x])
    np.testing.assert_array_equal(found, [*x[:3], 2 * x[0]])


def test_rows_are_filled_backwards() -> None:
    text = STACK.replace("%r into %o[%k,", "%r into %o[%back,")
    text = text.replace("slice %o[%back", "slice %x[%k")
    x = np.arange(12.0).reshape(4, 3)
    (found,) = interpreted(from_mlir(text), [x])
    np.testing.assert_array_equal(found, 2 * x[::-1])


@pytest.mark.parametrize("start", ["0xFFF0000000000000", "4.5", "100.0"])
@pytest.mark.parametrize("at", [0, -7])
def test_the_greatest_element_is_compared_with_the_start(start: str, at: int) -> None:
    text = PROGRAMS["maximum by select, and where it is"]
    text = text.replace("0xFFF0000000000000", start).replace("constant 0 :", f"constant {at} :")
    nan = np.nan
    x = np.array([[1, nan, 5, 5], [-np.inf, -np.inf, nan, -np.inf], [4, 3, 2, 1]])
    found = interpreted(from_mlir(text), [x])
    wanted = [np.empty_like(f) for f in found]
    upstream.run(text, [x], wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_greatest_of_no_elements_is_the_start() -> None:
    text = PROGRAMS["maximum by select, and where it is"].replace("3x4x", "3x0x")
    top, at = interpreted(from_mlir(text), [np.empty((3, 0))])
    np.testing.assert_array_equal(top, np.full(3, -np.inf))
    np.testing.assert_array_equal(at, np.zeros(3, np.int32))


SMOOTH = [name for name in PROGRAMS if "compared" not in name]


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", SMOOTH)
def test_raised_programs_have_derivatives_of_two_orders(name: str) -> None:
    raised = from_mlir(PROGRAMS[name], "main")
    arrays = arrays_for(raised.system)

    def floats(*arguments: Any) -> Any:
        results = raised(*arguments)
        listed = results if isinstance(results, tuple) else (results,)
        return tuple(r for r in listed if r.dtype.is_float)

    check_grads(floats, arrays, order=2, modes=("rev", "fwd"))
