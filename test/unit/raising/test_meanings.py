"""Programs of linalg and StableHLO whose meaning is in a detail: orders, kept dims, index types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import VerifyError
from ted.testing import check_grads
from ted.testing.tracing import interpreted

RNG = np.random.default_rng(3)


def run(text: str, *arrays: Any) -> list[Any]:
    """The results of a text by the interpreter."""
    raised = ted.from_mlir(text)
    inputs = [ted.placeholder(a.shape, str(a.dtype)) for a in arrays]
    found = raised(*inputs)
    return list(interpreted(inputs, list(found) if isinstance(found, tuple) else [found])(*arrays))


# ------------------------------------------------------------------ orders

SORT = """
func.func @main(%x: tensor<9xf32>, %i: tensor<9xi64>) -> tensor<9xi64> {{
  %0:2 = "stablehlo.sort"(%x, %i) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i64>, %d: tensor<i64>):
    {body}
    stablehlo.return %p : tensor<i1>
  }}) : (tensor<9xf32>, tensor<9xi64>) -> (tensor<9xf32>, tensor<9xi64>)
  return %0#1 : tensor<9xi64>
}}"""
COMPARE = "%p = stablehlo.compare {} : (tensor<f32>, tensor<f32>) -> tensor<i1>"
NUMBERS = np.array([0.0, -0.0, -1.0, np.inf, np.nan, -0.0, -np.inf, 0.0, 2.0], np.float32)
BY_VALUE = [6, 2, 0, 1, 5, 7, 8, 3, 4]
TOTALLY = [6, 2, 1, 5, 0, 7, 8, 3, 4]
FALLING = [4, 3, 8, 0, 1, 5, 7, 2, 6]
TOTALLY_FALLING = [4, 3, 8, 0, 7, 1, 5, 2, 6]
MAGNITUDE = "%e = stablehlo.abs %a : tensor<f32>\n%f = stablehlo.abs %b : tensor<f32>\n"
NAN_FIRST = """%n = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.compare EQ, %b, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %o = stablehlo.and %n, %m : tensor<i1>
    %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %p = stablehlo.or %o, %l : tensor<i1>"""
# One zero and one NaN for all, as JAX writes it, then the total order.
ONE = """%z = stablehlo.constant dense<0.0> : tensor<f32>
    %w = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %q = stablehlo.compare EQ, %{0}, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = stablehlo.select %q, %z, %{0} : tensor<i1>, tensor<f32>
    %s = stablehlo.compare NE, %{0}, %{0} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %{1} = stablehlo.select %s, %w, %r : tensor<i1>, tensor<f32>
    """
JAX = ONE.format("a", "g") + ONE.format("b", "h").replace("%z", "%z2").replace("%w", "%w2").replace(
    "%q", "%q2"
).replace("%r", "%r2").replace("%s", "%s2")
JAX = JAX.replace("%s2tablehlo", "stablehlo")

ORDERS = {
    "by value": (COMPARE.format("LT, %a, %b, FLOAT"), BY_VALUE),
    "totally": (COMPARE.format("LT, %a, %b, TOTALORDER"), TOTALLY),
    "totally or equal": (COMPARE.format("LE, %a, %b, TOTALORDER"), TOTALLY),
    "falling": (COMPARE.format("GT, %a, %b"), FALLING),
    "totally falling": (COMPARE.format("GT, %a, %b, TOTALORDER"), TOTALLY_FALLING),
    "totally falling or equal": (COMPARE.format("GE, %a, %b, TOTALORDER"), TOTALLY_FALLING),
    "of others' choice": (COMPARE.format("LT, %b, %a, TOTALORDER"), TOTALLY_FALLING),
    "one zero": (JAX + COMPARE.format("LT, %g, %h, TOTALORDER"), BY_VALUE),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_zeros_and_nan_are_where_the_comparison_puts_them(name: str) -> None:
    body, wanted = ORDERS[name]
    (found,) = run(SORT.format(body=body), NUMBERS, np.arange(9))
    assert found.tolist() == wanted


@pytest.mark.parametrize("body", [NAN_FIRST, MAGNITUDE + COMPARE.format("LT, %e, %f")])
def test_a_comparison_that_is_another_order_is_refused(body: str) -> None:
    with pytest.raises(VerifyError, match=r"stablehlo.sort: the comparison must be .*module:3"):
        ted.from_mlir(SORT.format(body=body))


@pytest.mark.parametrize("word", ["LT", "LE", "GT", "GE", "EQ", "NE"])
def test_the_total_order_is_one_outside_of_sorts_too(word: str) -> None:
    a, b = (v.ravel() for v in np.meshgrid(NUMBERS, NUMBERS, indexing="ij"))
    kind, flags = "tensor<81xf32>", "tensor<81xi1>"
    (found,) = run(
        f"func.func @main(%a: {kind}, %b: {kind}) -> {flags} {{\n%p = stablehlo.compare {word}, "
        f"%a, %b, TOTALORDER : ({kind}, {kind}) -> {flags}\nreturn %p : {flags}\n}}", a, b,
    )  # fmt: skip
    place = {k: n for n, group in enumerate(([6], [2], [1, 5], [0, 7], [8], [3], [4]))
             for k in group}  # fmt: skip
    p, q = (v.ravel() for v in np.meshgrid(*[[place[k] for k in range(9)]] * 2, indexing="ij"))
    wanted = {"LT": p < q, "LE": p <= q, "GT": p > q, "GE": p >= q, "EQ": p == q, "NE": p != q}
    np.testing.assert_array_equal(found, wanted[word])


# ------------------------------------------------------------------ results that keep a dim

KEPT = """
func.func @main(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i, r)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x4xf64>)
      outs(%y : tensor<3x4xf64>) {
  ^bb0(%a: f64, %t: f64):
    %d = arith.divf %a, %t : f64
    linalg.yield %d : f64
  } -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}"""
RUNNING = """
func.func @main(%x: tensor<2x3x4xf64>, %y: tensor<2x3x4xf64>, %s: tensor<3xf64>,
    %z: tensor<4x2x3xf64>) -> (tensor<3xf64>, tensor<4x2x3xf64>) {
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>,
      affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>,
      affine_map<(i, j, k) -> (OUT)>], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %y : tensor<2x3x4xf64>, tensor<2x3x4xf64>)
      outs(%s, %z : tensor<3xf64>, tensor<4x2x3xf64>) {
  ^bb0(%a: f64, %b: f64, %t: f64, %o: f64):
    %q = math.sin %t : f64
    %d = arith.addf %a, %q : f64
    %e = arith.mulf %d, %b : f64
    %f = arith.addf %e, %o : f64
    linalg.yield %d, %f : f64, f64
  } -> (tensor<3xf64>, tensor<4x2x3xf64>)
  return %0#0, %0#1 : tensor<3xf64>, tensor<4x2x3xf64>
}"""


def test_a_result_that_keeps_a_reduced_dim_is_computed_element_by_element() -> None:
    x, y = RNG.random((3, 4)), 1 + RNG.random((3, 4))
    np.testing.assert_allclose(run(KEPT, x, y)[0], x / y)
    np.testing.assert_allclose(ted.function(ted.from_mlir(KEPT))(x, y), x / y)
    check_grads(ted.from_mlir(KEPT), [x, y], order=2)


def test_a_result_has_the_totals_of_all_steps() -> None:
    x, y, z = RNG.random((2, 3, 4)), RNG.random((2, 3, 4)), RNG.random((4, 2, 3))
    total = start = RNG.random(3)
    wanted = z.copy()
    for i in range(2):
        for k in range(4):
            total = np.sin(total) + x[i, :, k]
            wanted[k, i] += total * y[i, :, k]
    text = RUNNING.replace("OUT", "k, i, j")
    last, found = run(text, x, y, start, z)
    np.testing.assert_allclose(last, total)
    np.testing.assert_allclose(found, wanted)
    compiled = ted.function(ted.from_mlir(text))(x, y, start, z)
    np.testing.assert_allclose(compiled[1], wanted)


def test_a_result_of_a_recurrence_that_keeps_some_dims_is_refused() -> None:
    text = RUNNING.replace("OUT", "k, j").replace("4x2x3xf64", "4x3xf64")
    with pytest.raises(VerifyError, match="must keep all dims that are reduced, or none, got"):
        ted.from_mlir(text)


def test_a_parallel_dim_that_a_result_does_not_have_is_a_reduction() -> None:
    text = KEPT.replace("-> (i, r)>],", "-> (i)>],").replace("reduction", "parallel")
    text = (
        text.replace("%y: tensor<3x4", "%y: tensor<3")
        .replace("outs(%y : tensor<3x4", "outs(%y : tensor<3")
        .replace("} -> tensor<3x4", "} -> tensor<3")
        .replace("divf", "addf")
    )
    text = text.replace(") -> tensor<3x4xf64> {", ") -> tensor<3xf64> {").replace(
        "%0 : tensor<3x4", "%0 : tensor<3"
    )
    x, y = RNG.random((3, 4)), RNG.random(3)
    np.testing.assert_allclose(run(text, x, y)[0], y + x.sum(1))


# ------------------------------------------------------------------ integers

POWER = """
func.func @main(%x: tensor<KIND>, %y: tensor<KIND>) -> tensor<KIND> {
  %0 = stablehlo.power %x, %y : tensor<KIND>
  return %0 : tensor<KIND>
}"""


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_powers_of_integers_wrap_and_are_cut_off_below_one(dtype: str) -> None:
    kind = np.dtype(dtype)
    numbers = [0, 1, 2, 3, 7, 100] if kind.kind == "u" else [-128, -3, -1, 0, 1, 2, 7]
    x, y = (v.ravel().astype(kind) for v in np.meshgrid(numbers, numbers))
    mlir = f"{x.size}x{'u' * (kind.kind == 'u')}i{8 * kind.itemsize}"
    (found,) = run(POWER.replace("KIND", mlir), x, y)
    exact = [int(a) ** int(b) if b >= 0 else int(a) ** int(b % 2) if abs(int(a)) == 1 else 0
             for a, b in zip(x, y, strict=True)]  # fmt: skip
    modulus = 1 << (8 * kind.itemsize)
    assert [int(f) % modulus for f in found] == [e % modulus for e in exact]


SCATTER = """
func.func @main(%x: tensor<200xf32>, %i: tensor<4x1xKIND>, %u: tensor<4x2xf32>) -> tensor<200xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<200xf32>, tensor<4x1xKIND>, tensor<4x2xf32>) -> tensor<200xf32>
  return %0 : tensor<200xf32>
}"""


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint64"])
def test_windows_are_scattered_at_indices_of_every_type(dtype: str) -> None:
    kind = np.dtype(dtype)
    at = np.array([[126], [3], [127], [-1 % 256 if kind.kind == "u" else -1]]).astype(kind)
    mlir = f"{'u' * (kind.kind == 'u')}i{8 * kind.itemsize}"
    updates = np.arange(8, dtype="f4").reshape(4, 2)
    (found,) = run(SCATTER.replace("KIND", mlir), np.full(200, -1, "f4"), at, updates)
    wanted = np.full(200, -1.0)
    for row, values in zip(at[:, 0].tolist(), updates, strict=True):
        if 0 <= row < 199:
            wanted[row : row + 2] = values
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["i64", "ui64", "i32", "f32"])
def test_a_function_may_give_nothing_but_a_large_constant(kind: str) -> None:
    rows = ", ".join(f"[{', '.join(str(30 * i + j) + '.0' * (kind == 'f32') for j in range(30))}]"
                     for i in range(20))  # fmt: skip
    text = f"func.func @main() -> tensor<20x30x{kind}> {{\n%0 = stablehlo.constant dense<[{rows}]> "
    text += f": tensor<20x30x{kind}>\nreturn %0 : tensor<20x30x{kind}>\n}}"
    found = ted.function(ted.from_mlir(text))()
    np.testing.assert_array_equal(found, np.arange(600).reshape(20, 30))


def test_both_types_of_numpy_of_64_bits_are_arguments() -> None:
    f = ted.function(lambda x: x + 1)
    for kind in (np.longlong, np.ulonglong, np.int64):
        x = np.arange(12, dtype=kind).reshape(3, 4)
        np.testing.assert_array_equal(f(x[:, ::2]), x[:, ::2] + 1)


def test_a_program_of_ted_is_read_from_its_own_text() -> None:
    x = ted.placeholder((3,), "float64")
    total = ted.scan(lambda c, v: (c * v + 1, None), ted.sum(x), x)[0]
    text = ted.compile([x], [ted.sum(x), total]).ir()
    given = np.arange(1.0, 4)
    np.testing.assert_allclose(ted.function(ted.from_mlir(text))(given), [6, 46])


GATHER = """
func.func @main(%x: tensor<4x2xf32>, %i: tensor<3xKIND>) -> tensor<3x2xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xf32>, tensor<3xKIND>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"""


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint32", "int64", "uint64"])
def test_rows_are_gathered_inside_at_indices_of_every_type(dtype: str) -> None:
    kind = np.dtype(dtype)
    info = np.iinfo(kind)
    at = np.array([1, info.max, info.min], kind)
    mlir = f"{'u' * (kind.kind == 'u')}i{8 * kind.itemsize}"
    x = np.arange(8, dtype="f4").reshape(4, 2)
    (found,) = run(GATHER.replace("KIND", mlir), x, at)
    np.testing.assert_array_equal(found, x[[1, 3, 0]])


def test_a_sum_of_bools_is_whether_one_holds() -> None:
    flags, one = "tensor<4xi1>", "tensor<i1>"
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    found = run(
        f"func.func @main(%a: {flags}, %b: {flags}) -> ({flags}, {flags}, {one}) {{\n"
        f"%n = stablehlo.constant dense<false> : {one}\n%s = stablehlo.add %a, %b : {flags}\n"
        f"%p = stablehlo.multiply %a, %b : {flags}\n%t = stablehlo.reduce(%a init: %n) applies "
        f"stablehlo.add across dimensions = [0] : ({flags}, {one}) -> {one}\n"
        f"return %s, %p, %t : {flags}, {flags}, {one}\n}}", a, b,
    )  # fmt: skip
    for got, wanted in zip(found, (a | b, a & b, True), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("op", ["reshape", "convert", "bitcast_convert"])
def test_what_changes_no_type_is_the_value(op: str) -> None:
    kind = "tensor<3xui32>"
    line = f"%0 = stablehlo.{op} %x : ({kind}) -> {kind}"
    text = f"func.func @main(%x: {kind}) -> {kind} {{\n{line}\nreturn %0 : {kind}\n}}"
    (found,) = run(text, np.arange(3, dtype="u4"))
    assert found.tolist() == [0, 1, 2]


@pytest.mark.parametrize("end", [0, 3, 200])
def test_loops_that_count_without_a_sign_are_counted(end: int) -> None:
    count = "tensor<ui8>"
    text = f"""
func.func @main(%x: tensor<f64>) -> (tensor<f64>, {count}) {{
  %z = stablehlo.constant dense<0> : {count}
  %e = stablehlo.constant dense<{end}> : {count}
  %s = stablehlo.constant dense<1> : {count}
  %0:2 = stablehlo.while(%i = %z, %h = %x) : {count}, tensor<f64>
  cond {{
    %c = stablehlo.compare LT, %i, %e : ({count}, {count}) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, %s : {count}
    %m = stablehlo.add %h, %x : tensor<f64>
    stablehlo.return %n, %m : {count}, tensor<f64>
  }}
  return %0#1, %0#0 : tensor<f64>, {count}
}}"""
    total, number = run(text, np.array(2.0))
    assert (total, number) == (2.0 * (end + 1), end)
    if end == 3:
        check_grads(lambda x: ted.from_mlir(text)(x)[0], [np.array(2.0)], order=1)
