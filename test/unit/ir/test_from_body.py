"""Bodies of ops as expressions: every spelling has the values that the interpreter gives it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ted.dialects import make_context
from ted.errors import VerifyError
from ted.ir.from_ops import from_module
from ted.ir.to_ops import system_to_module
from ted.mlir import ir
from ted.testing.interpreter import interpret

NAN = float("nan")
FLOATS = np.array(list(itertools.product([-1.5, 0.0, 2.0, NAN], repeat=2))).T
INTEGERS = np.array(list(itertools.product([-7, -1, 0, 3, 8], repeat=2)), "int32").T


def program(kind: str, count: int, body: str, extra: str = "") -> str:
    """`y[i] = body(a[i], b[i])`, where the body ends with %r of the kind."""
    t = f"tensor<{count}x{kind}>"
    return f"""
    func.func @main(%x: {t}, %y: {t}) -> {t} {{
      %e = tensor.empty() : {t}
      {extra}
      %0 = "ted.compute"(%x, %y, %e) ({{
      ^bb0(%a: {kind}, %b: {kind}):
        {body}
        "ted.yield"(%r) : ({kind}) -> ()
      }}) {{
        extents = array<i64: {count}>, iterators = ["parallel"],
        domain = affine_set<(d0) : (0 == 0)>,
        reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
        write = affine_map<(d0) -> (d0)>, combiner = "set"
      }} : ({t}, {t}, {t}) -> {t}
      func.return %0 : {t}
    }}"""


def same_after_reading(text: str, *arrays: np.ndarray) -> np.ndarray:
    """The result of the ops, which that of the equations read from them must equal."""
    with make_context():
        module = ir.Module.parse(text)
        (expected,) = interpret(module, arrays)
        (found,) = interpret(system_to_module(from_module(module)), arrays)
    np.testing.assert_array_equal(found, expected)
    return expected


PREDICATES = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult",
              "ule", "une", "uno", "true"]  # fmt: skip


@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons_of_floats_with_nan(predicate: str) -> None:
    body = f"""%c = arith.cmpf {predicate}, %a, %b : f64
        %one = arith.constant 1.0 : f64
        %two = arith.constant 2.0 : f64
        %r = arith.select %c, %one, %two : f64"""
    same_after_reading(program("f64", 16, body), *FLOATS)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge"])
def test_comparisons_of_integers(predicate: str) -> None:
    body = f"%c = arith.cmpi {predicate}, %a, %b : i32\n%r = arith.extui %c : i1 to i32"
    same_after_reading(program("i32", 25, body), *INTEGERS)


@pytest.mark.parametrize("predicate", ["eq", "ne", "ult", "ule", "ugt", "uge"])
def test_comparisons_of_truth_values(predicate: str) -> None:
    pairs = np.array(list(itertools.product([False, True], repeat=2))).T
    body = f"%r = arith.cmpi {predicate}, %a, %b : i1"
    same_after_reading(program("i1", 4, body), *pairs)


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.xori %a, %b : i32", "%r = arith.andi %a, %b : i32",
        "%r = arith.ori %a, %b : i32", "%r = arith.subi %a, %b : i32",
        "%r = arith.maxsi %a, %b : i32", "%r = arith.minsi %a, %b : i32",
        "%c = arith.constant 3 : i32\n%r = arith.floordivsi %a, %c : i32",
        "%c = arith.constant 3 : i32\n%q = arith.floordivsi %a, %c : i32\n"
        "%p = arith.muli %q, %c : i32\n%r = arith.subi %a, %p : i32",
        "%c = arith.constant 3 : i32\n%q = arith.floordivsi %a, %c : i32\n"
        "%p = arith.muli %c, %q : i32\n%r = arith.subi %a, %p : i32",
        "%c = arith.constant 3 : i32\n%q = arith.floordivsi %b, %c : i32\n"
        "%p = arith.muli %q, %c : i32\n%r = arith.subi %a, %p : i32",
        "%c = arith.constant 2 : i32\n%r = arith.shli %a, %c : i32",
        "%c = arith.constant 2 : i32\n%r = arith.shrsi %a, %c : i32",
    ],
)  # fmt: skip
def test_operations_of_integers(body: str) -> None:
    same_after_reading(program("i32", 25, body), *INTEGERS)


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.xori %a, %b : i1", "%r = arith.andi %a, %b : i1", "%r = arith.ori %a, %b : i1",
        "%t = arith.constant true\n%r = arith.xori %a, %t : i1",
        "%t = arith.constant true\n%r = arith.xori %t, %a : i1",
    ],
)  # fmt: skip
def test_operations_of_truth_values(body: str) -> None:
    pairs = np.array(list(itertools.product([False, True], repeat=2))).T
    same_after_reading(program("i1", 4, body), *pairs)


@pytest.mark.parametrize(
    "body",
    [
        "%r = math.fma %a, %b, %a : f64", "%r = arith.negf %a : f64",
        "%r = math.floor %a : f64", '%r = "ted.stop_gradient"(%a) : (f64) -> f64',
        "%r = arith.maximumf %a, %b : f64", "%r = math.roundeven %a : f64",
        '%i = "ted.index"() {dim = 0 : i64} : () -> index\n'
        "%n = arith.index_cast %i : index to i64\n"
        "%r = arith.sitofp %n : i64 to f64",
    ],
)  # fmt: skip
def test_operations_of_floats(body: str) -> None:
    same_after_reading(program("f64", 16, body), *FLOATS)


@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_reads_outside_are_clipped_or_dropped(mode: str) -> None:
    body = f"""%n = arith.fptosi %b : f64 to i64
        %at = arith.index_cast %n : i64 to index
        %true = arith.constant true
        %r = "ted.load"(%x, %true, %at) {{mode = "{mode}"}}
          : (tensor<4xf64>, i1, index) -> f64"""
    x, places = np.array([2.0, 3, 5, 7]), np.array([-2.0, 0, 3, 9])
    found = same_after_reading(program("f64", 4, body), x, places)
    assert found.tolist() == ([2, 2, 7, 7] if mode == "clip" else [0, 2, 7, 0])


def test_a_load_under_a_predicate_is_zero_elsewhere() -> None:
    body = """%zero = arith.constant 0.0 : f64
        %p = arith.cmpf olt, %zero, %b : f64
        %n = arith.fptosi %b : f64 to i64
        %at = arith.index_cast %n : i64 to index
        %r = "ted.load"(%x, %p, %at) {mode = "check"} : (tensor<4xf64>, i1, index) -> f64"""
    x, places = np.array([2.0, 3, 5, 7]), np.array([-2.0, 1, 3, 0])
    found = same_after_reading(program("f64", 4, body), x, places)
    assert found.tolist() == [0, 3, 7, 0]


@pytest.mark.parametrize(
    ("kind", "body"),
    [("f64", "%r = math.copysign %a, %b : f64"), ("i32", "%r = math.ctpop %a : i32")],
)
def test_an_operation_without_an_expression_is_named(kind: str, body: str) -> None:
    with make_context():
        module = ir.Module.parse(program(kind, 4, body))
        with pytest.raises(
            VerifyError, match=r"ops that equations know, got math\.(copysign|ctpop)"
        ):
            from_module(module)
