"""Ops of StableHLO and CHLO that its pass to linalg leaves: values, gradients, errors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import VerifyError
from ted.raising.modules import from_mlir, parsed
from ted.testing import check_grads
from unit.raising.test_raising import interpreted


def values(text: str, *arrays: Any) -> list[Any]:
    """The results of a text's function `main`."""
    return [np.asarray(x) for x in interpreted(from_mlir(text, "main"), list(arrays))]


# ------------------------------------------------------------------ windows

SCATTERED = """
func.func @main(%x: tensor<XxYxKIND>, %s: tensor<PxQxKIND>) -> tensor<XxYxKIND> {
  %i = stablehlo.constant dense<START> : tensor<KIND>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 3, 2>,
      window_strides = array<i64: 2, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<KIND>, %b: tensor<KIND>):
      %1 = stablehlo.compare WAY, %a, %b : (tensor<KIND>, tensor<KIND>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
  }, {
    ^bb0(%a: tensor<KIND>, %b: tensor<KIND>):
      %1 = stablehlo.add %a, %b : tensor<KIND>
      stablehlo.return %1 : tensor<KIND>
  }) : (tensor<XxYxKIND>, tensor<PxQxKIND>, tensor<KIND>) -> tensor<XxYxKIND>
  return %0 : tensor<XxYxKIND>
}"""


def scattered(x: Any, s: Any, keeps: Callable[[Any, Any], bool]) -> Any:
    found = np.full_like(x, 2)
    for p, q in np.ndindex(s.shape):
        best: Any = None
        for i, j in product(range(2 * p - 1, 2 * p + 2), range(q, q + 2)):
            inside = 0 <= i < x.shape[0] and j < x.shape[1]
            if inside and (best is None or not keeps(x[best], x[i, j])):
                best = (i, j)
        found[best] += s[p, q]
    return found


WAYS: dict[str, Callable[[Any, Any], bool]] = {
    "GE": lambda a, b: a >= b, "GT": lambda a, b: a > b, "LE": lambda a, b: a <= b,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["f64", "ui8"])
def test_a_source_goes_where_the_window_selects(way: str, kind: str) -> None:
    text = SCATTERED.replace("WAY", way).replace("XxY", "5x4").replace("PxQ", "3x4")
    rng, dtype = np.random.default_rng(3), {"f64": np.float64, "ui8": np.uint8}[kind]
    x, s = rng.integers(0, 3, (5, 4)).astype(dtype), rng.integers(0, 99, (3, 4)).astype(dtype)
    start = "2.0" if kind == "f64" else "2"
    (found,) = values(text.replace("KIND", kind).replace("START", start), x, s)
    np.testing.assert_array_equal(found, scattered(x, s, WAYS[way]))


def test_what_is_scattered_has_a_gradient_and_what_selects_has_none() -> None:
    text = SCATTERED.replace("WAY", "GE").replace("XxY", "5x4").replace("PxQ", "3x4")
    raised = from_mlir(text.replace("KIND", "f64").replace("START", "2.0"))
    rng = np.random.default_rng(4)
    x, s = rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    check_grads(lambda s: raised(ted.constant(x), s), [s], order=2)
    slope = ted.grad(lambda x, s: ted.sum(raised(x, s) ** 2))
    np.testing.assert_array_equal(slope(x, s), np.zeros_like(x))


WINDOW = """
func.func @main(%x: tensor<6xf64>) -> tensor<4xf64> {
  %i = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 3>,
      base_dilations = array<i64: 2>, window_dilations = array<i64: 2>,
      window_strides = array<i64: 3>, padding = dense<[[2, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %m = stablehlo.maximum %a, %b : tensor<f64>
      %inf = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
      %none = stablehlo.compare EQ, %m, %inf : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %z = stablehlo.constant dense<0.0> : tensor<f64>
      %base = stablehlo.select %none, %z, %m : tensor<i1>, tensor<f64>
      %c = stablehlo.subtract %a, %base : tensor<f64>
      %d = stablehlo.subtract %b, %base : tensor<f64>
      %e = stablehlo.exponential %c : tensor<f64>
      %f = stablehlo.exponential %d : tensor<f64>
      %g = stablehlo.add %e, %f : tensor<f64>
      %h = stablehlo.log %g : tensor<f64>
      %r = stablehlo.add %h, %base : tensor<f64>
      stablehlo.return %r : tensor<f64>
  }) : (tensor<6xf64>, tensor<f64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}"""


def test_a_window_is_reduced_by_a_body_of_any_kind() -> None:
    x = np.linspace(-1, 2, 6)
    wide = np.full(14, -np.inf)
    wide[2:13:2] = x
    with np.errstate(divide="ignore"):  # windows between elements have none
        wanted = [np.log(np.exp(wide[3 * k : 3 * k + 5 : 2]).sum()) for k in range(4)]
    (found,) = values(WINDOW, x)
    np.testing.assert_allclose(found, wanted)
    text = WINDOW.replace("base_dilations = array<i64: 2>, ", "").replace(
        "i64: 3>, pad", "i64: 1>, pad"
    )
    text = text.replace("[[2, 1]]", "[[2, 0]]").replace("0xFFF0000000000000", "-9.0")
    check_grads(from_mlir(text), [x], order=2)


def test_a_kernel_with_groups_is_read_backwards() -> None:
    text = """
func.func @main(%x: tensor<1x5x2xf64>, %k: tensor<1x3x4xf64>) -> tensor<1x3x4xf64> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[i, 0, o]->[b, 0, f],
    window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
    : (tensor<1x5x2xf64>, tensor<1x3x4xf64>) -> tensor<1x3x4xf64>
  return %0 : tensor<1x3x4xf64>
}"""
    x, k = np.arange(10.0).reshape(1, 5, 2), np.arange(12.0).reshape(1, 3, 4)
    rows = [x[0, n : n + 3].repeat(2, axis=1) for n in range(3)]
    (found,) = values(text, x, k)
    np.testing.assert_allclose(found[0], [(row * k[0, ::-1]).sum(0) for row in rows])


# ------------------------------------------------------------------ linear algebra

TRIANGLE = """
func.func @main(%a: tensor<2x3x3xf64>, %b: tensor<2xSIZExf64>) -> tensor<2xSIZExf64> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = LEFT, lower = LOWER,
      transpose_a = #stablehlo<transpose WAY>, unit_diagonal = UNIT}>
      : (tensor<2x3x3xf64>, tensor<2xSIZExf64>) -> tensor<2xSIZExf64>
  return %0 : tensor<2xSIZExf64>
}"""


@pytest.mark.parametrize(("left", "lower"), list(product((True, False), repeat=2)))
@pytest.mark.parametrize(("way", "unit"), [("NO_TRANSPOSE", True), ("TRANSPOSE", False)])
def test_triangles_are_solved_from_both_sides(
    left: bool, lower: bool, way: str, unit: bool
) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3), rng.normal(size=(2, 3, 2))
    b = b if left else b.swapaxes(1, 2)
    text = TRIANGLE.replace("SIZE", "3x2" if left else "2x3").replace("WAY", way)
    flags = {"LEFT": left, "LOWER": lower, "UNIT": unit}
    for name, flag in flags.items():
        text = text.replace(name, str(flag).lower())
    whole = np.tril(a) if lower else np.triu(a)
    whole = np.where(np.eye(3), 1.0, whole) if unit else whole
    whole = whole if way == "NO_TRANSPOSE" else whole.swapaxes(1, 2)
    (x,) = values(text, a, b)
    np.testing.assert_allclose(whole @ x if left else x @ whole, b, atol=1e-12)
    check_grads(from_mlir(text), [a, b], order=1)


@pytest.mark.parametrize("lower", [True, False])
def test_a_factor_reads_one_triangle(lower: bool) -> None:
    text = f"""
func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {{
  %0 = "stablehlo.cholesky"(%a) <{{lower = {str(lower).lower()}}}>
    : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}}"""
    half = np.random.default_rng(6).normal(size=(3, 3)).astype(np.float32)
    a = half @ half.T + np.eye(3, dtype=np.float32)
    (found,) = values(text, (np.tril if lower else np.triu)(a))
    wanted = np.linalg.cholesky(a)
    np.testing.assert_allclose(found, wanted if lower else wanted.T, rtol=2e-5, atol=1e-6)


NORMAL = """
func.func @training(%x: tensor<4x3x2xf64>, %s: tensor<3xf64>, %o: tensor<3xf64>)
    -> (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o)
    <{epsilon = 0.5 : f32, feature_index = 1 : i64}>
    : (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>)
    -> (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @inference(%x: tensor<4x3x2xf64>, %s: tensor<3xf64>, %o: tensor<3xf64>, %m: tensor<3xf64>,
    %v: tensor<3xf64>) -> tensor<4x3x2xf64> {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v)
    <{epsilon = 0.5 : f32, feature_index = 1 : i64}> : (tensor<4x3x2xf64>, tensor<3xf64>,
    tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<4x3x2xf64>
  return %0 : tensor<4x3x2xf64>
}
func.func @gradient(%x: tensor<4x3x2xf64>, %s: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64>,
    %h: tensor<4x3x2xf64>) -> (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %h)
    <{epsilon = 0.5 : f32, feature_index = 1 : i64}> : (tensor<4x3x2xf64>, tensor<3xf64>,
    tensor<3xf64>, tensor<3xf64>, tensor<4x3x2xf64>)
    -> (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>
}"""


def test_batches_are_normalised_and_their_gradient_is_that_of_training() -> None:
    rng = np.random.default_rng(7)
    x, head = rng.normal(size=(2, 4, 3, 2))
    scale, offset = rng.normal(size=(2, 3))
    training, inference, gradient = (
        from_mlir(NORMAL, name) for name in ("training", "inference", "gradient")
    )
    found, mean, variance = interpreted(training, [x, scale, offset])
    np.testing.assert_allclose(mean, x.mean((0, 2)))
    np.testing.assert_allclose(variance, x.var((0, 2)))
    spread = np.sqrt(variance + 0.5)[:, None]
    wanted = (x - mean[:, None]) / spread * scale[:, None] + offset[:, None]
    np.testing.assert_allclose(found, wanted)
    (again,) = interpreted(inference, [x, scale, offset, mean, variance])
    np.testing.assert_allclose(again, wanted)
    slopes = ted.grad(lambda *a: ted.sum(training(*a)[0] * head), (0, 1, 2))(x, scale, offset)
    parts = interpreted(gradient, [x, scale, mean, variance, head])
    for part, slope in zip(parts, slopes, strict=True):
        np.testing.assert_allclose(part, slope, atol=1e-12)


# ------------------------------------------------------------------ structure

COMPOSITE = """
func.func private @twice(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.add %x, %x : tensor<2xf64>
  return %0 : tensor<2xf64>
}
func.func @main(%x: tensor<2xf64>) -> (tensor<2xf64>, tensor<i32>) {
  %0 = stablehlo.composite "lib.twice" %x {decomposition = @twice}
    : (tensor<2xf64>) -> tensor<2xf64>
  %1 = stablehlo.optimization_barrier %0 : tensor<2xf64>
  %2 = stablehlo.tuple %x, %1 : tuple<tensor<2xf64>, tensor<2xf64>>
  %3 = stablehlo.get_tuple_element %2[1] : (tuple<tensor<2xf64>, tensor<2xf64>>) -> tensor<2xf64>
  %4 = stablehlo.get_dimension_size %3, dim = 0 : (tensor<2xf64>) -> tensor<i32>
  return %3, %4 : tensor<2xf64>, tensor<i32>
}"""


def test_a_composite_is_its_decomposition_or_a_function_of_its_name() -> None:
    x = np.array([1.5, -2.0])
    found, size = values(COMPOSITE, x)
    np.testing.assert_array_equal(found, 2 * x)
    assert size == 2
    other = from_mlir(COMPOSITE, "main", calls={"lib.twice": lambda x: x * x})
    np.testing.assert_array_equal(interpreted(other, [x])[0], x * x)


def test_a_function_is_read_as_often_as_it_is_asked_for() -> None:
    module = parsed(
        COMPOSITE
        + """
func.func @other(%x: tensor<?xf64>) -> tensor<?xf64> {
  %0 = stablehlo.sine %x : tensor<?xf64>
  return %0 : tensor<?xf64>
}"""
    )
    for _ in range(2):  # a reading changes nothing, and the sizes of others do not matter
        found = interpreted(from_mlir(module, "main"), [np.ones(2)])[0]
        np.testing.assert_array_equal(found, [2, 2])
    with pytest.raises(VerifyError, match=r"static sizes, got tensor<\?xf64>"):
        from_mlir(module, "other")


def test_bools_add_up_to_whether_one_is_true() -> None:
    text = """
func.func @main(%a: tensor<4xi1>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<i1>) {
  %0 = stablehlo.add %a, %b : tensor<4xi1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %1 = stablehlo.reduce(%a init: %f) applies stablehlo.add across dimensions = [0]
    : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  return %0, %1 : tensor<4xi1>, tensor<i1>
}"""
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    both, some = values(text, a, b)
    np.testing.assert_array_equal(both, a | b)
    assert bool(some)


def test_unsigned_sums_and_products_are_scattered() -> None:
    text = """
func.func @main(%x: tensor<3xui8>, %n: tensor<4x1xi32>, %u: tensor<4xui8>) -> tensor<3xui8> {
  %0 = "stablehlo.scatter"(%x, %n, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
      %1 = stablehlo.OP %a, %b : tensor<ui8>
      stablehlo.return %1 : tensor<ui8>
  }) : (tensor<3xui8>, tensor<4x1xi32>, tensor<4xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}"""
    x, u = np.array([200, 3, 7], np.uint8), np.array([100, 9, 5, 250], np.uint8)
    at = np.array([0, 2, 2, 0], np.int32)
    for name, function in (("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum)):
        wanted = x.copy()
        function.at(wanted, at, u)
        (found,) = values(text.replace("OP", name), x, at[:, None], u)
        np.testing.assert_array_equal(found, wanted)


def test_a_state_that_a_loop_copies_is_no_state() -> None:
    text = """
func.func @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %t = stablehlo.constant dense<true> : tensor<4xi1>
  %0:3 = stablehlo.while(%go = %t, %a = %x, %c = %y) : tensor<4xi1>, tensor<4xf64>, tensor<4xf64>
   cond {
    %f = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.reduce(%go init: %f) applies stablehlo.or across dimensions = [0]
      : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
   } do {
    %2 = stablehlo.multiply %a, %c : tensor<4xf64>
    %h = stablehlo.constant dense<0.125> : tensor<4xf64>
    %3 = stablehlo.compare GT, %2, %h, FLOAT : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %4 = stablehlo.select %go, %2, %a : tensor<4xi1>, tensor<4xf64>
    %5 = stablehlo.select %go, %c, %c : tensor<4xi1>, tensor<4xf64>
    stablehlo.return %3, %4, %5 : tensor<4xi1>, tensor<4xf64>, tensor<4xf64>
   }
  return %0#1 : tensor<4xf64>
}"""
    raised = from_mlir(text)
    found = ted.function(lambda x, y: raised(x, y))(np.array([0.5, 1, 2, 8]), np.full(4, 0.5))
    np.testing.assert_array_equal(found, [0.125, 0.125, 0.125, 0.125])


# ------------------------------------------------------------------ complex numbers and CHLO


def test_extrema_of_complex_numbers_are_lexicographic() -> None:
    text = """
func.func @main(%a: tensor<4xcomplex<f64>>, %b: tensor<4xcomplex<f64>>)
    -> (tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>) {
  %0 = stablehlo.maximum %a, %b : tensor<4xcomplex<f64>>
  %1 = stablehlo.minimum %a, %b : tensor<4xcomplex<f64>>
  %2 = stablehlo.cbrt %a : tensor<4xcomplex<f64>>
  %3 = stablehlo.bitcast_convert %2 : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  return %0, %1, %3 : tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>
}"""
    a, b = np.array([1 + 2j, 1 + 1j, 3 - 1j, 3 + 4j]), np.array([1 + 1j, 1 + 2j, 2 + 9j, 4 - 1j])
    raised = from_mlir(text)
    most, least, root = ted.function(lambda a, b: raised(a, b))(a, b)
    np.testing.assert_array_equal(most, [1 + 2j, 1 + 2j, 3 - 1j, 4 - 1j])
    np.testing.assert_array_equal(least, [1 + 1j, 1 + 1j, 2 + 9j, 3 + 4j])
    np.testing.assert_allclose(root, a ** (1 / 3))


CHLO = """
func.func @main(%x: tensor<3xf64>, %y: tensor<2x1xf64>, %n: tensor<3xi64>)
    -> (tensor<2x3xf64>, tensor<2x3xi1>, tensor<3xf64>, tensor<3xi64>, tensor<3xf64>,
        tensor<3xf64>) {
  %0 = chlo.broadcast_add %x, %y : (tensor<3xf64>, tensor<2x1xf64>) -> tensor<2x3xf64>
  %1 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>}
    : (tensor<3xf64>, tensor<2x1xf64>) -> tensor<2x3xi1>
  %2 = chlo.erf %x : tensor<3xf64> -> tensor<3xf64>
  %3 = chlo.mulhi %n, %n : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  %4 = "chlo.constant_like"(%x) {value = 2.5 : f64} : (tensor<3xf64>) -> tensor<3xf64>
  %i = stablehlo.constant dense<0.0> : tensor<f64>
  %5:2 = chlo.scan(%x) inits(%i) dimension=0 {
  ^bb0(%a: tensor<f64>, %c: tensor<f64>):
    %6 = stablehlo.add %c, %a : tensor<f64>
    stablehlo.return %6, %6 : tensor<f64>, tensor<f64>
  } : (tensor<3xf64>, tensor<f64>) -> (tensor<3xf64>, tensor<f64>)
  return %0, %1, %2, %3, %4, %5#0 : tensor<2x3xf64>, tensor<2x3xi1>, tensor<3xf64>, tensor<3xi64>,
    tensor<3xf64>, tensor<3xf64>
}"""


def test_chlo_is_parsed_and_made_of_stablehlo_where_it_has_no_rule() -> None:
    x, y, n = np.array([0.5, -1.0, 2.0]), np.array([[1.0], [0.0]]), np.array([2**40, -3, 5])
    total, less, error, high, same, running = values(CHLO, x, y, n)
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(less, x < y)
    np.testing.assert_allclose(error, [0.5204998778130465, -0.8427007929497149, 0.9953222650189527])
    np.testing.assert_array_equal(high, [2**16, 0, 0])
    np.testing.assert_array_equal(same, np.full(3, 2.5))
    np.testing.assert_array_equal(running, x.cumsum())


def test_orders_of_polygamma_and_angles_of_complex_numbers_may_be_data() -> None:
    text = """
func.func @main(%n: tensor<2xf64>, %x: tensor<2xf64>, %a: tensor<2xcomplex<f64>>)
    -> (tensor<2xf64>, tensor<2xcomplex<f64>>) {
  %0 = chlo.polygamma %n, %x : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
  %1 = stablehlo.atan2 %a, %a : tensor<2xcomplex<f64>>
  return %0, %1 : tensor<2xf64>, tensor<2xcomplex<f64>>
}"""
    raised = from_mlir(text)
    given = np.array([1.0, 2.0]), np.array([1.0, 2.5]), np.array([1 + 2j, 3 - 1j])
    found, angle = ted.function(lambda n, x, a: raised(n, x, a))(*given)
    np.testing.assert_allclose(found, [1.6449340668482264, -0.2362040516417271], rtol=1e-12)
    np.testing.assert_allclose(angle, np.full(2, np.pi / 4), atol=1e-14)


def test_quantized_numbers_are_integers_with_a_scale() -> None:
    kind = "tensor<2x!quant.uniform<i8:f32, 0.5:-20>>"
    text = f"""
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> {kind}
  %1 = stablehlo.uniform_quantize %y : (tensor<2xf32>) -> {kind}
  %2 = stablehlo.add %0, %1 : {kind}
  %3 = stablehlo.uniform_dequantize %2 : ({kind}) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}}"""
    x, y = np.array([1.1, 100.0], np.float32), np.array([2.3, 3.0], np.float32)
    (found,) = values(text, x, y)
    np.testing.assert_array_equal(found, [3.5, 73.5])  # (1 + 2.5), and the greatest of its type


# ------------------------------------------------------------------ what is refused

REFUSED = [
    ('"stablehlo.replica_id"() : () -> tensor<ui32>', "replica_id: one program has one device"),
    ("stablehlo.after_all : !stablehlo.token", "after_all: a program has no effects"),
    ("stablehlo.rng %x, %x, %n, distribution = UNIFORM : "
     "(tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>", "rng: random numbers are drawn"),
    ("stablehlo.convert %x : (tensor<f32>) -> tensor<f8E4M3FN>", "scalars of numbers"),
    ("stablehlo.convert %x : (tensor<f32>) -> tensor<i4>", "got .*i4"),
    ("stablehlo.bitcast_convert %c : (tensor<complex<f64>>) -> tensor<2xcomplex<f32>>",
     "bits of complex"),
    ("stablehlo.reduce_precision %x, format = e5m0 : tensor<f32>", "mantissa_bits must be"),
    ("stablehlo.custom_call @mine(%x) : (tensor<f32>) -> tensor<f32>", "got mine"),
    ("stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>", "static sizes"),
    ("bufferization.to_buffer %x : tensor<f32> to memref<f32>", "to_buffer: values are tensors"),
    ('"complex.bitcast"(%z) : (complex<f32>) -> i64', "complex.bitcast: has no equations"),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=[row[1][:24] for row in REFUSED])
def test_what_has_no_equations_is_refused_by_name(row: tuple[str, str]) -> None:
    line, message = row
    kind = line.rpartition("-> " if "->" in line else (" to " if " to " in line else " : "))[2]
    text = f"""
func.func @main(%x: tensor<f32>, %n: tensor<1xi64>, %z: complex<f32>, %c: tensor<complex<f64>>)
    -> {kind} {{
  %0 = {line}
  return %0 : {kind}
}}"""
    with pytest.raises(VerifyError, match=message):
        from_mlir(text)
