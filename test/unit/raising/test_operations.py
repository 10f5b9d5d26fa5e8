"""Operations that programs of other systems have now and then: values, by their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import TedError
from ted.mlir.torch_programs import linalg_module
from ted.raising.modules import Raised, from_mlir
from unit.frontend.tracing import run
from unit.raising.test_raising import interpreted

X, Y = np.arange(1.0, 7.0).reshape(2, 3), np.array([[3.0, -1, 2], [0.5, 4, -2]])
ROW = np.array([3.0, -1, 2, 5, -4, 2])
N, T, F = np.array(2), np.array(True), np.array(False)

BODY = """
func.func @main({0}) -> ({1}) {{
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
{2}
}}"""


def body(takes: str, gives: str, text: str) -> str:
    return BODY.format(takes, gives, text)


def loop(condition: str, first: int, step: int, kind: str = "i32") -> str:
    """Sums of elements, for as long as a condition of the counter holds."""
    return f"""
func.func @main(%x: tensor<6xf64>) -> (f64) {{
  %first = arith.constant {first} : {kind}
  %step = arith.constant {step} : {kind}
  %zero = arith.constant 0.0 : f64
  %0:2 = scf.while (%i = %first, %t = %zero) : ({kind}, f64) -> ({kind}, f64) {{
    %end = arith.constant 5 : {kind}
    %go = arith.cmpi {condition} : {kind}
    scf.condition(%go) %i, %t : {kind}, f64
  }} do {{
  ^bb0(%i: {kind}, %t: f64):
    %at = arith.index_cast %i : {kind} to index
    %v = tensor.extract %x[%at] : tensor<6xf64>
    %u = arith.addf %t, %v : f64
    %j = arith.addi %i, %step : {kind}
    scf.yield %j, %u : {kind}, f64
  }}
  return %0#1 : f64
}}"""


REDUCED = """
  %e = tensor.empty() : tensor<2xf64>
  %s = linalg.fill ins(%zero : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %0 = linalg.generic {{indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i)>],
      iterator_types = ["parallel", "reduction"]}} ins(%x : tensor<2x3xf64>)
      outs(%s : tensor<2xf64>) {{
  ^bb0(%a: f64, %t: f64):
{0}
    linalg.yield %q : f64
  }} -> tensor<2xf64>
  return %0 : tensor<2xf64>"""
SCATTER = """
func.func @main(%u: tensor<2x{1}xf64>, %i: tensor<2x1xi32>, %x: tensor<4x{1}xf64>)
    -> tensor<4x{1}xf64> {{
  %0 = tm_tensor.scatter {{dimension_map = array<i64: 0>}} unique_indices(false)
    ins(%u, %i : tensor<2x{1}xf64>, tensor<2x1xi32>) outs(%x : tensor<4x{1}xf64>) {{
  ^bb0(%a: f64, %b: f64):
    %c = arith.{0} %b, %a : f64
    tm_tensor.yield %c : f64
  }} -> tensor<4x{1}xf64>
  return %0 : tensor<4x{1}xf64>
}}"""
SCAN = """
func.func @main(%x: tensor<2x3xf64>, %s: tensor<2xf64>) -> (tensor<2x3xf64>, tensor<2xf64>) {{
  %e = tensor.empty() : tensor<2x3xf64>
  %0:2 = tm_tensor.scan dimension(1) inclusive({1}) ins(%x : tensor<2x3xf64>)
    outs(%e, %s : tensor<2x3xf64>, tensor<2xf64>) {{
  ^bb0(%a: f64, %b: f64):
    {0}
    tm_tensor.yield %c : f64
  }} -> tensor<2x3xf64>, tensor<2xf64>
  return %0#0, %0#1 : tensor<2x3xf64>, tensor<2xf64>
}}"""
TOTALS, STARTS = np.array([[2.0, 4, 2], [1, 8, 3]]), np.array([1.0, 2])
BRANCHES = """
func.func @main(%c: tensor<i1>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "stablehlo.if"(%c) ({
    %1 = stablehlo.exponential %x : tensor<3xf64>
    stablehlo.return %1 : tensor<3xf64>
  }, {
    %1 = stablehlo.negate %x : tensor<3xf64>
    stablehlo.return %1 : tensor<3xf64>
  }) : (tensor<i1>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}"""
CASES = """
func.func @main(%k: tensor<i32>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "stablehlo.case"(%k) ({
    stablehlo.return %x : tensor<3xf64>
  }, {
    %1 = stablehlo.negate %x : tensor<3xf64>
    stablehlo.return %1 : tensor<3xf64>
  }, {
    %1 = stablehlo.add %x, %x : tensor<3xf64>
    stablehlo.return %1 : tensor<3xf64>
  }) : (tensor<i32>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}"""
WINDOW = """
func.func @main(%x: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %i = stablehlo.constant dense<1.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    %2 = stablehlo.multiply %1, %b : tensor<f64>
    stablehlo.return %2 : tensor<f64>
  }) : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}"""
EMPTY = """
func.func @main(%x: tensor<0x2xf64>, %y: tensor<0x2xi32>) -> (tensor<2xf64>, tensor<2xi32>) {
  %a = stablehlo.constant dense<2.0> : tensor<f64>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = "stablehlo.reduce"(%x, %y, %a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: tensor<f64>, %q: tensor<i32>, %r: tensor<f64>, %s: tensor<i32>):
    %1 = stablehlo.add %p, %r : tensor<f64>
    %2 = stablehlo.add %q, %s : tensor<i32>
    stablehlo.return %1, %2 : tensor<f64>, tensor<i32>
  }) : (tensor<0x2xf64>, tensor<0x2xi32>, tensor<f64>, tensor<i32>)
    -> (tensor<2xf64>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf64>, tensor<2xi32>
}"""
POWERS = """
func.func @main(%x: tensor<2x3xi32>) -> tensor<2xi32> {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.power %b, %n : tensor<i32>
    %2 = stablehlo.add %a, %1 : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
WRAPPED = """
func.func @main(%n: i32) -> i32 {
  %first = arith.constant 0 : i32
  %step = arith.constant 100 : i32
  %one = arith.constant 1 : i32
  %0:2 = scf.while (%i = %first, %t = %n) : (i32, i32) -> (i32, i32) {
    %end = arith.constant 120 : i8
    %byte = arith.trunci %i : i32 to i8
    %go = arith.cmpi slt, %byte, %end : i8
    scf.condition(%go) %i, %t : i32, i32
  } do {
  ^bb0(%i: i32, %t: i32):
    %u = arith.addi %t, %one : i32
    %j = arith.addi %i, %step : i32
    scf.yield %j, %u : i32, i32
  }
  return %0#1 : i32
}"""
STEPS = next(k for k in range(99) if (100 * k + 128) % 256 - 128 >= 120)
BITS = "func.func @main(%x: tensor<6x{0}>) -> tensor<6x{1}> {{\n" + (
    "  %0 = tensor.bitcast %x : tensor<6x{0}> to tensor<6x{1}>\n  return %0 : tensor<6x{1}>\n}}"
)
TOP = """
func.func @main(%x: tensor<2x3xf64>) -> (tensor<2x2xf64>, tensor<2x2xi32>) {
  %0:2 = chlo.top_k(%x, k = 2) : tensor<2x3xf64> -> (tensor<2x2xf64>, tensor<2x2xi32>)
  return %0#0, %0#1 : tensor<2x2xf64>, tensor<2x2xi32>
}"""


def _stepped(x: Any, start: Any) -> Any:
    """Halves of what is before, and the element."""
    rows = [start]
    for k in range(3):
        rows.append(rows[-1] / 2 + x[:, k])
    return np.stack(rows[1:], 1), rows[-1]


def imported(text: str) -> Raised:
    """A program, of dialects of torch's as well."""
    return from_mlir(linalg_module(text) if "tm_tensor" in text else text, "main")


# name: text, arguments, results
ROWS: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "an extent": (
        body("%x: tensor<2x3xf64>", "index, index", "  %0 = tensor.dim %x, %c1 : tensor<2x3xf64>\n"
             "  %1 = tensor.rank %x : tensor<2x3xf64>\n  return %0, %1 : index, index"),
        (X,), (3, 2),
    ),
    "an extent in a body": (
        body("%x: tensor<2x3xf64>", "tensor<2xf64>", REDUCED.format(
            "    %n = tensor.dim %x, %c1 : tensor<2x3xf64>\n"
            "    %m = arith.index_cast %n : index to i64\n"
            "    %f = arith.sitofp %m : i64 to f64\n    %p = arith.divf %a, %f : f64\n"
            "    %q = arith.addf %t, %p : f64")),
        (X,), (X.mean(1),),
    ),
    "a total and two elements": (
        body("%x: tensor<2x3xf64>", "tensor<2xf64>", REDUCED.format(
            "    %p = arith.addf %t, %a : f64\n    %v = math.absf %a : f64\n"
            "    %q = arith.subf %p, %v : f64")),
        (Y,), ((Y - np.abs(Y)).sum(1),),
    ),
    "a total less what it has": (
        body("%x: tensor<2x3xf64>", "tensor<2xf64>", REDUCED.format(
            "    %p = arith.subf %a, %t : f64\n    %q = arith.negf %p : f64")),
        (Y,), (-Y.sum(1),),
    ),
    "cases of an index in a body": (
        body("%x: tensor<2x3xf64>", "tensor<2xf64>", REDUCED.format(
            "    %k = linalg.index 1 : index\n    %v = scf.index_switch %k -> f64\n"
            "    case 0 {\n      scf.yield %a : f64\n    }\n    case 2 {\n"
            "      %h = arith.mulf %a, %a : f64\n      scf.yield %h : f64\n    }\n    default {\n"
            "      scf.yield %zero : f64\n    }\n    %q = arith.addf %t, %v : f64")),
        (Y,), (Y[:, 0] + Y[:, 2] ** 2,),
    ),
    "affine numbers in a body": (
        body("%x: tensor<2x3xf64>", "tensor<2xf64>", REDUCED.format(
            "    %k = linalg.index 1 : index\n    %i = linalg.index 0 : index\n"
            "    %j = affine.apply affine_map<(d, e)[s] -> (s - d + 0 * e)>(%k, %i)[%c2]\n"
            "    %v = tensor.extract %x[%i, %j] : tensor<2x3xf64>\n"
            "    %w = arith.mulf %v, %a : f64\n    %q = arith.addf %t, %w : f64")),
        (Y,), ((Y * Y[:, ::-1]).sum(1),),
    ),
    "quotients of affine numbers": (
        body("%n: index", "index, index, index", "\n".join(
            f"  %{k} = affine.apply affine_map<(d) -> ({text})>(%n)" for k, text in enumerate(
                ("d floordiv 3", "d ceildiv 3", "d mod 3"))) + "\n  return %0, %1, %2 : index, "
            "index, index"),
        (np.array(-7),), (-3, -2, 2),
    ),
    "rows put at indices": (
        SCATTER.format("addf", 3), (X, np.array([[2], [2]], "i4"), np.zeros((4, 3))),
        (np.array([[0.0] * 3, [0] * 3, X.sum(0), [0] * 3]),),
    ),
    "products at indices": (
        SCATTER.format("mulf", 2), (X[:, :2], np.array([[0], [3]], "i4"), np.full((4, 2), 2.0)),
        (np.array([2 * X[0, :2], [2, 2], [2, 2], 2 * X[1, :2]]),),
    ),
    "another shape": (
        body("%x: tensor<2x3xf64>", "tensor<3x2xf64>",
             "  %s = arith.constant dense<[3, 2]> : tensor<2xi64>\n  %0 = tensor.reshape %x(%s)"
             " : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<3x2xf64>\n"
             "  return %0 : tensor<3x2xf64>"),
        (X,), (X.reshape(3, 2),),
    ),
    "running totals": (SCAN.format("%c = arith.addf %a, %b : f64", "true"), (X, STARTS),
                       (X.cumsum(1) + STARTS[:, None], X.sum(1) + STARTS)),
    "running products": (SCAN.format("%c = arith.mulf %b, %a : f64", "true"), (X, STARTS),
                         (X.cumprod(1) * STARTS[:, None], X.prod(1) * STARTS)),
    "running steps": (
        SCAN.format("%h = arith.constant 0.5 : f64\n    %m = arith.mulf %b, %h : f64\n"
                    "    %c = arith.addf %m, %a : f64", "true"),
        (X, STARTS), _stepped(X, STARTS),
    ),
    **{f"a branch where {c}": (BRANCHES, (c, ROW[:3]), (np.exp(ROW[:3]) if c else -ROW[:3],))
       for c in (T, F)},
    **{f"case {k}": (CASES, (np.array(k, "i4"), ROW[:3]), (factor * ROW[:3],))
       for k, factor in ((-3, 2), (0, 1), (1, -1), (2, 2), (9, 2))},
    "windows of any body": (WINDOW, (X,), (
        ((1 + X[:, :-1]) * X[:, :-1] + X[:, 1:]) * X[:, 1:],)),
    "totals of nothing": (EMPTY, (np.zeros((0, 2)), np.zeros((0, 2), "i4")), ([2.0, 2], [3, 3])),
    "bits of floats": (BITS.format("f64", "i64"), (ROW,), (ROW.view("i8"),)),
    "floats of bits": (BITS.format("i64", "f64"), (ROW.view("i8"),), (ROW,)),
    "bits of half floats": (BITS.format("f16", "i16"), (ROW.astype("f2"),),
                            (ROW.astype("f2").view("i2"),)),
    "half floats of bits": (BITS.format("i16", "f16"), (ROW.astype("f2").view("i2"),),
                            (ROW.astype("f2"),)),
    "the greatest of rows": (TOP, (Y,), ([[3, 2], [4, 0.5]], [[0, 2], [1, 0]])),
    **{f"a loop while {name}": (loop(c, first, step), (ROW,), (total,))
       for name, c, first, step, total in (
        ("less", "slt, %i, %end", 1, 2, 4.0), ("at most", "sle, %i, %end", 1, 2, 6.0),
        ("greater", "slt, %step, %i", 5, -1, 7.0), ("unlike", "ne, %i, %end", 1, 2, 4.0),
        ("unlike, from the right", "ne, %end, %i", 2, 1, 3.0))},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_values_are_those_of_the_definition(name: str) -> None:
    text, given, wanted = ROWS[name]
    found = interpreted(imported(text), [np.asarray(a) for a in given])
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


COUNTED = {name: loop(c, first, step) for name, c, first, step in (
    ("unlike", "ne, %i, %end", 2, 3), ("less", "slt, %i, %end", 1, 2),
    ("more", "sgt, %i, %step", 4, -1))}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_a_loop_of_known_steps_has_a_gradient(name: str) -> None:
    f = from_mlir(COUNTED[name], "main")
    reads = {"unlike": [2], "less": [1, 3], "more": [0, 1, 2, 3, 4]}[name]
    found = run(lambda x: ted.grad(lambda x: f(x))(x), ROW)
    np.testing.assert_array_equal(found, [float(k in reads) for k in range(6)])


def test_a_counter_that_is_read_as_a_byte_starts_again() -> None:
    assert ted.function(from_mlir(WRAPPED, "main"))(np.array(7, "i4")) == 7 + STEPS


CALL = """
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
  %0 = stablehlo.custom_call @{0}(%x) : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}}"""
SORT = """
func.func @main(%x: tensor<9x{0}>) -> tensor<9x{0}> {{
  %out = stablehlo.constant dense<{1}> : tensor<{0}>
  %0 = "stablehlo.sort"(%x) <{{dimension = 0 : i64}}> ({{
  ^bb0(%a: tensor<{0}>, %b: tensor<{0}>):
    %c = stablehlo.constant dense<{1}> : tensor<{0}>
    %p = stablehlo.compare {2} : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    %q = stablehlo.compare {3} : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    %r = stablehlo.and %p, %q : tensor<i1>
    stablehlo.return %r : tensor<i1>
  }}) : (tensor<9x{0}>) -> tensor<9x{0}>
  return %0 : tensor<9x{0}>
}}"""
OTHERS = {
    f"{pair} but for {side} {way} {c} in {kind}": (
        SORT.format(kind, c, pair + ", %a, %b", f"{way}, {side}, {at}"),
        "stablehlo.sort: the comparison must be",
    )
    for kind, numbers in (("i32", (-9, -1, 0, 1, 2, 7)), ("f64", (-9.5, -1.0, 0.0, 1.0, 0.3, 7.25)))
    for c in numbers for pair in ("LT", "GT") for way in ("NE", "LT") for side in ("%a", "%b")
    for at in ("%c",) if (pair, way, side) not in (("GT", "LT", "%b"), ("LT", "LT", "%a"))
}  # fmt: skip
BAD: dict[str, tuple[str, str]] = {
    **OTHERS,
    "a constant outside of the comparison": (
        SORT.format("i32", 0, "LT, %a, %b", "LT, %b, %out"), "stablehlo.sort: the comparison must",
    ),
    "a dim that is not there": (
        body("%x: tensor<2x3xf64>", "index",
             "  %0 = tensor.dim %x, %c3 : tensor<2x3xf64>\n  return %0 : index"),
        "the dim must be one of 2, and static, got 3",
    ),
    "powers in a body, which MLIR takes apart": (POWERS, "scf.for: ops of bodies are those of"),
    "a function of another library": (CALL.format("lib.abs"), "got lib.abs"),
    "totals that leave their element out": (
        SCAN.format("%c = arith.addf %a, %b : f64", "false"), "totals must include their element",
    ),
    "an update that is no combiner": (
        SCATTER.format("divf", 2), "an update must be a sum, a product, an extremum",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_has_no_equations_is_named(name: str) -> None:
    text, message = BAD[name]
    with pytest.raises(TedError, match=message):
        imported(text)


SORTED = """
func.func @main(%x: tensor<6x{0}>) -> tensor<6x{0}> {{
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<6x{0}>) {{
  ^bb0(%a: {0}, %b: {0}):
    %c = arith.{1}, %a, %b : {0}
    tm_tensor.yield %c : i1
  }} -> tensor<6x{0}>
  return %0 : tensor<6x{0}>
}}"""


@pytest.mark.parametrize("way", ["olt", "ole", "ult", "ule", "ogt", "oge", "ugt", "uge"])
def test_each_comparison_of_floats_is_an_order(way: str) -> None:
    (found,) = interpreted(imported(SORTED.format("f64", f"cmpf {way}")), [ROW])
    np.testing.assert_array_equal(found, np.sort(ROW)[:: -1 if "g" in way else 1])


def placed(way: str, first: str, last: str) -> str:
    """A sort that compares floats, and where one is NaN says whether that is `last`."""
    return SORTED.format("f64", "cmpf olt").replace(
        "    %c = arith.cmpf olt, %a, %b : f64\n",
        f"""    %t = arith.constant true
    %p = arith.cmpf o{way}, %a, %b : f64
    %n = arith.cmpf une, %{last}, %{last} : f64
    %o = arith.cmpf oeq, %{first}, %{first} : f64
    %e = arith.constant {str(way.endswith("e")).lower()}
    %f = arith.select %o, %t, %e : i1
    %q = arith.select %n, %f, %p : i1
    %c = arith.select %p, %t, %q : i1\n""",
    )


@pytest.mark.parametrize("way", ["lt", "le", "gt", "ge"])
def test_a_comparison_may_say_where_nan_goes(way: str) -> None:
    """Behind all others where the order rises, before them where it falls."""
    ends = ("a", "b") if way.startswith("l") else ("b", "a")
    x = np.array([2.0, np.nan, -1, np.inf, 3, -np.inf])
    (found,) = interpreted(imported(placed(way, *ends)), [x])
    np.testing.assert_array_equal(found, np.sort(x)[:: -1 if "g" in way else 1])
    with pytest.raises(TedError, match=r"tm_tensor.sort: the comparison must be"):
        imported(placed(way, *ends[::-1]))


@pytest.mark.parametrize("way", ["slt", "sle", "sgt", "sge"])
def test_each_comparison_of_integers_is_an_order(way: str) -> None:
    (found,) = interpreted(imported(SORTED.format("i32", f"cmpi {way}")), [ROW.astype("i4")])
    np.testing.assert_array_equal(found, np.sort(ROW)[:: -1 if "g" in way else 1])


@pytest.mark.parametrize("way", ["oeq", "one", "ord", "ueq", "une", "uno", "eq", "ne", "ult"])
def test_what_compares_otherwise_is_no_order(way: str) -> None:
    kind, op = ("i32", "cmpi") if way in ("eq", "ne", "ult") else ("f64", "cmpf")
    with pytest.raises(TedError, match=r"tm_tensor.sort: the comparison must be"):
        imported(SORTED.format(kind, f"{op} {way}"))


NUMBER: Any = 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_mlir(3), "from_mlir: takes text, bytecode or a module of MLIR, got int"),
        (lambda: from_mlir(TOP, NUMBER), "from_mlir: name is the name of a function, got 3"),
        (lambda: from_mlir(TOP, "other"), "must have a function 'other', got"),
        (lambda: from_mlir(TOP)(), "main: takes 1 tensors, got 0"),
    ],
)
def test_what_is_no_program_is_named(call: Any, message: str) -> None:
    with pytest.raises(TedError, match=message):
        call()
