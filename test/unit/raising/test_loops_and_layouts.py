"""Other loops, branches on numbers, tiles and gathers of linalg, tensor, scf and affine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.raising.modules import from_mlir
from ted.testing import check_grads
from unit.raising.test_raising import interpreted

FORALL = """
func.func @main(%x: tensor<6xf64>, %w: tensor<2xf64>) -> tensor<6xf64> {
  %0 = scf.forall (%i) = (0) to (6) step (2) shared_outs(%o = %x) -> tensor<6xf64> {
    %a = tensor.extract_slice %o[%i] [2] [1] : tensor<6xf64> to tensor<2xf64>
    %b = tensor.extract_slice %o[0] [2] [1] : tensor<6xf64> to tensor<2xf64>
    %c = arith.mulf %a, %b : tensor<2xf64>
    %d = arith.mulf %c, %w : tensor<2xf64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %d into %o[%i] [2] [1] : tensor<2xf64> into tensor<6xf64>
    }
  }
  return %0 : tensor<6xf64>
}"""

GRID = """
func.func @main(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %0 = scf.forall (%i, %j) in (2, 3) shared_outs(%o = %x) -> tensor<4x6xf64> {
    %p = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %q = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %a = tensor.extract_slice %x[%p, %q] [2, 2] [1, 1] : tensor<4x6xf64> to tensor<2x2xf64>
    %e = tensor.empty() : tensor<2x2xf64>
    %t = linalg.transpose ins(%a : tensor<2x2xf64>) outs(%e : tensor<2x2xf64>) permutation = [1, 0]
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%p, %q] [2, 2] [1, 1]
        : tensor<2x2xf64> into tensor<4x6xf64>
    }
  }
  return %0 : tensor<4x6xf64>
}"""

AFFINE = """
#set = affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 2 == 0)>
func.func @main(%x: tensor<8xf64>) -> (tensor<8xf64>, f64) {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %0 = affine.for %k = 1 to 7 step 2 iter_args(%a = %x) -> tensor<8xf64> {
    %p = affine.apply affine_map<(d0)[s0] -> ((d0 * 3 + s0) mod 8)>(%k)[%c2]
    %v = tensor.extract %a[%k] : tensor<8xf64>
    %m = arith.mulf %v, %v : f64
    %q = tensor.insert %m into %a[%p] : tensor<8xf64>
    affine.yield %q : tensor<8xf64>
  }
  %1 = affine.for %k = max affine_map<(d0) -> (d0, 1)>(%c2)
      to min affine_map<(d0) -> (d0 * 3, 7)>(%c2) iter_args(%t = %zero) -> f64 {
    %v = tensor.extract %x[%k] : tensor<8xf64>
    %s = affine.if #set(%k)[%c2] -> f64 {
      %w = arith.mulf %v, %v : f64
      affine.yield %w : f64
    } else {
      affine.yield %v : f64
    }
    %u = arith.addf %t, %s : f64
    affine.yield %u : f64
  }
  return %0, %1 : tensor<8xf64>, f64
}"""

PARALLEL = """
func.func @main(%x: tensor<3x4xf64>) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant 0.5 : f64
  %p = arith.constant 1.0 : f64
  %0:2 = scf.parallel (%i, %j) = (%c0, %c1) to (%c3, %c4) step (%c1, %c2)
      init (%s, %p) -> (f64, f64) {
    %v = tensor.extract %x[%i, %j] : tensor<3x4xf64>
    scf.reduce(%v, %v : f64, f64) {
    ^bb0(%l: f64, %r: f64):
      %t = arith.addf %l, %r : f64
      scf.reduce.return %t : f64
    }, {
    ^bb0(%l: f64, %r: f64):
      %t = arith.mulf %l, %r : f64
      scf.reduce.return %t : f64
    }
  }
  return %0#0, %0#1 : f64, f64
}"""

SWITCH = """
func.func @main(%n: index, %x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = scf.index_switch %n -> tensor<2xf64>
  case 2 {
    %a = arith.addf %x, %x : tensor<2xf64>
    scf.yield %a : tensor<2xf64>
  }
  case 5 {
    %a = arith.mulf %x, %x : tensor<2xf64>
    scf.yield %a : tensor<2xf64>
  }
  default {
    %a = scf.execute_region -> tensor<2xf64> {
      %b = arith.negf %x : tensor<2xf64>
      scf.yield %b : tensor<2xf64>
    }
    scf.yield %a : tensor<2xf64>
  }
  return %0 : tensor<2xf64>
}"""


def test_a_parallel_loop_reads_shared_tensors_as_they_were() -> None:
    x, w = np.arange(1.0, 7.0), np.array([2.0, -1.0])
    (found,) = interpreted(from_mlir(FORALL), [x, w])
    np.testing.assert_allclose(found, (x.reshape(3, 2) * x[:2] * w).ravel())
    check_grads(from_mlir(FORALL), [x, w], order=2)


def test_a_grid_of_parallel_slices_is_put_in_its_places() -> None:
    x = np.arange(24.0).reshape(4, 6)
    (found,) = interpreted(from_mlir(GRID), [x])
    np.testing.assert_array_equal(found, x.reshape(2, 2, 3, 2).transpose(0, 3, 2, 1).reshape(4, 6))


def test_affine_loops_count_between_extrema_and_branch_on_sets() -> None:
    x = np.linspace(0.5, 1.5, 8)
    wanted = x.copy()
    for k in range(1, 7, 2):
        wanted[(3 * k + 2) % 8] = wanted[k] ** 2
    total = sum(x[k] ** 2 if k >= 2 and k % 2 == 0 else x[k] for k in range(2, 6))
    found, sums = interpreted(from_mlir(AFFINE), [x])
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(sums, total)
    check_grads(from_mlir(AFFINE), [x], order=2)


def test_a_parallel_reduction_combines_all_points() -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4)
    total, product = interpreted(from_mlir(PARALLEL), [x])
    np.testing.assert_allclose(total, 0.5 + x[:, 1::2].sum())
    np.testing.assert_allclose(product, x[:, 1::2].prod())


@pytest.mark.parametrize(("number", "factor"), [(2, 2.0), (5, None), (0, -1.0), (-3, -1.0)])
def test_a_switch_takes_the_case_of_a_number(number: int, factor: float | None) -> None:
    x = np.array([3.0, -4.0])
    (found,) = interpreted(from_mlir(SWITCH), [np.array(number), x])
    np.testing.assert_array_equal(found, x * x if factor is None else factor * x)


PACK = """
func.func @main(%x: tensor<5x4xf64>) -> (tensor<2x3x2x2xf64>, tensor<5x4xf64>, tensor<2x5x2xf64>) {
  %z = arith.constant -1.0 : f64
  %d = tensor.empty() : tensor<2x3x2x2xf64>
  %0 = linalg.pack %x padding_value(%z : f64) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0]
      inner_tiles = [2, 2] into %d : tensor<5x4xf64> -> tensor<2x3x2x2xf64>
  %e = tensor.empty() : tensor<5x4xf64>
  %1 = linalg.unpack %0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2]
      into %e : tensor<2x3x2x2xf64> -> tensor<5x4xf64>
  %f = tensor.empty() : tensor<2x5x2xf64>
  %2 = linalg.pack %x outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [2]
      into %f : tensor<5x4xf64> -> tensor<2x5x2xf64>
  return %0, %1, %2 : tensor<2x3x2x2xf64>, tensor<5x4xf64>, tensor<2x5x2xf64>
}"""


def test_tiles_are_packed_with_padding_and_unpacked() -> None:
    x = np.arange(20.0).reshape(5, 4)
    packed, whole, rows = interpreted(from_mlir(PACK), [x])
    padded = np.pad(x, ((0, 1), (0, 0)), constant_values=-1.0).reshape(3, 2, 2, 2)
    np.testing.assert_array_equal(packed, padded.transpose(2, 0, 3, 1))
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(rows, x.reshape(5, 2, 2).transpose(1, 0, 2))
    check_grads(from_mlir(PACK), [x], order=1)


GATHER = """
func.func @main(%x: tensor<4x5x3xf64>, %n: tensor<2x2xindex>, %u: tensor<2x5xf64>)
    -> (tensor<2x5xf64>, tensor<2x1x5x1xf64>, tensor<4x5x3xf64>) {
  %0 = tensor.gather %x[%n] gather_dims([0, 2]) unique
      : (tensor<4x5x3xf64>, tensor<2x2xindex>) -> tensor<2x5xf64>
  %1 = tensor.gather %x[%n] gather_dims([0, 2])
      : (tensor<4x5x3xf64>, tensor<2x2xindex>) -> tensor<2x1x5x1xf64>
  %v = tensor.expand_shape %u [[0, 1], [2, 3]] output_shape [2, 1, 5, 1]
      : tensor<2x5xf64> into tensor<2x1x5x1xf64>
  %2 = tensor.scatter %v into %x[%n] scatter_dims([0, 2]) unique
      : (tensor<2x1x5x1xf64>, tensor<4x5x3xf64>, tensor<2x2xindex>) -> tensor<4x5x3xf64>
  return %0, %1, %2 : tensor<2x5xf64>, tensor<2x1x5x1xf64>, tensor<4x5x3xf64>
}"""


def test_slices_are_gathered_and_scattered_at_coordinates() -> None:
    x, at = np.arange(60.0).reshape(4, 5, 3), np.array([[3, 1], [0, 2]])
    new = np.full((2, 5), -1.0) * np.arange(10.0).reshape(2, 5)
    wanted = x[at[:, 0], :, at[:, 1]]
    found, kept, put = interpreted(from_mlir(GATHER), [x, at, new])
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(kept, wanted.reshape(2, 1, 5, 1))
    x[at[:, 0], :, at[:, 1]] = new
    np.testing.assert_array_equal(put, x)
    check_grads(lambda x, u: from_mlir(GATHER)(x, ted.constant(at), u), [x, new], order=1)


KEPT = """
func.func @main(%x: tensor<2xf64>, %n: tensor<2xi64>)
    -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2xf64>) {
  %0 = bufferization.alloc_tensor() copy(%x) : tensor<2xf64>
  %1 = bufferization.alloc_tensor() : tensor<2xf64>
  %2 = bufferization.materialize_in_destination %x in %1
      : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %3 = tensor.bitcast %n : tensor<2xi64> to tensor<2xui64>
  %4 = tensor.bitcast %3 : tensor<2xui64> to tensor<2xi64>
  %5 = ub.poison : tensor<2xf64>
  return %0, %1, %2, %4, %5 : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>,
      tensor<2xf64>
}"""


def test_tensors_of_their_own_are_copies_or_zero() -> None:
    x, n = np.array([1.5, -2.0]), np.array([-1, 7])
    copy, new, put, bits, nothing = interpreted(from_mlir(KEPT), [x, n])
    for found, wanted in ((copy, x), (new, 0 * x), (put, x), (bits, n), (nothing, 0 * x)):
        np.testing.assert_array_equal(found, wanted)


# ------------------------------------------------------------------ scalars


def of(name: str, given: list[str], gives: list[str], arrays: list[Any], more: str = "") -> Any:
    """What an op of tensors gives."""
    operands = ", ".join(f"%a{k}: {kind}" for k, kind in enumerate(given))
    names = ", ".join(f"%a{k}" for k in range(len(given)))
    several = f":{len(gives)}" if len(gives) > 1 else ""
    results = ", ".join(f"%r#{k}" for k in range(len(gives))) if several else "%r"
    text = f"""
func.func @main({operands}) -> ({", ".join(gives)}) {{
  %r{several} = "{name}"({names}) {more} : ({", ".join(given)}) -> ({", ".join(gives)})
  return {results} : {", ".join(gives)}
}}"""
    found = interpreted(from_mlir(text), arrays)
    return found if several else found[0]


BYTES = [*range(-128, -120), *range(-50, 50, 7), *range(-3, 4), *range(120, 128)]
PAIRS = [np.array(x, np.int8) for x in np.meshgrid(BYTES, BYTES)]


def test_extended_sums_and_products_have_all_bits() -> None:
    a, b = (x.ravel() for x in PAIRS)
    kind, bits = f"tensor<{a.size}xi8>", f"tensor<{a.size}xi1>"
    x, y = a.view(np.uint8).astype(int), b.view(np.uint8).astype(int)
    total, carry = of("arith.addui_extended", [kind] * 2, [kind, bits], [a, b])
    np.testing.assert_array_equal(total, (x + y).astype(np.int8))
    np.testing.assert_array_equal(carry, x + y > 255)
    rest, borrow = of("arith.subui_extended", [kind] * 2, [kind, bits], [a, b])
    np.testing.assert_array_equal(rest, (x - y).astype(np.int8))
    np.testing.assert_array_equal(borrow, x < y)
    for name, product in (("mului", x * y), ("mulsi", a.astype(int) * b)):
        low, high = of(f"arith.{name}_extended", [kind] * 2, [kind] * 2, [a, b])
        np.testing.assert_array_equal(low, product.astype(np.int8))
        np.testing.assert_array_equal(high, (product >> 8).astype(np.int8))


def test_extended_products_of_64_bits_have_all_bits() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(-(2**63), 2**63, size=(2, 200))
    low, high = of("arith.mulsi_extended", ["tensor<200xi64>"] * 2, ["tensor<200xi64>"] * 2, [a, b])
    products = [int(p) * int(q) for p, q in zip(a, b, strict=True)]
    np.testing.assert_array_equal(high, [p >> 64 for p in products])
    np.testing.assert_array_equal(
        low.view(np.uint64), np.array([p % 2**64 for p in products], np.uint64)
    )


def test_quotients_without_a_sign_are_rounded_up() -> None:
    a, b = (x.ravel() for x in PAIRS)
    a, b = a[b != 0], b[b != 0]
    kind = f"tensor<{a.size}xi8>"
    x, y = a.view(np.uint8).astype(int), b.view(np.uint8).astype(int)
    found = of("arith.ceildivui", [kind] * 2, [kind], [a, b])
    np.testing.assert_array_equal(found, (-(-x // y)).astype(np.int8))


def test_floats_are_classified_flushed_and_converted() -> None:
    x = np.array([0.0, -0.0, 1e-40, -1e-40, 1.5, np.inf, np.nan, 2.0**-126], np.float32)
    kind, bits = "tensor<8xf32>", "tensor<8xi1>"
    found = of("math.isnormal", [kind], [bits], [x])
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 1, 0, 0, 1])
    flushed = of("arith.flush_denormals", [kind], [kind], [x])
    np.testing.assert_array_equal(flushed, np.where(abs(x) < 2.0**-126, 0, x))
    np.testing.assert_array_equal(np.signbit(flushed[:4]), [0, 1, 0, 1])
    half = np.array([1.5, 0.1], np.float16)
    other = of("arith.convertf", ["tensor<2xf16>"], ["tensor<2xbf16>"], [half])
    np.testing.assert_array_equal(other.astype(np.float32), half.astype(other.dtype))
    sine, cosine = of("math.sincos", [kind], [kind] * 2, [x[:5].repeat(2)[:8]])
    np.testing.assert_allclose(sine, np.sin(x[:5].repeat(2)[:8]), rtol=1e-6)
    np.testing.assert_allclose(cosine, np.cos(x[:5].repeat(2)[:8]), rtol=1e-6)


INDEX = [
    ("add", 7, 3, 10), ("sub", 7, 3, 4), ("mul", -7, 3, -21), ("divs", -7, 2, -3),
    ("floordivs", -7, 2, -4), ("ceildivs", 7, 2, 4), ("ceildivu", 7, 2, 4), ("divu", 7, 2, 3),
    ("rems", -7, 2, -1), ("remu", 7, 2, 1), ("maxs", -7, 2, 2),     ("mins", -7, 2, -7),
]  # fmt: skip


@pytest.mark.parametrize("row", INDEX, ids=[row[0] for row in INDEX])
def test_the_dialect_of_indices_is_arithmetic_of_64_bits(row: tuple[Any, ...]) -> None:
    name, a, b, wanted = row
    found = of(f"index.{name}", ["index"] * 2, ["index"], [np.array(a), np.array(b)])
    assert found == wanted


def test_indices_are_cast_compared_and_constant() -> None:
    text = """
func.func @main(%a: i8, %n: index) -> (index, index, i1, i1, index, i1) {
  %0 = index.casts %a : i8 to index
  %1 = index.castu %a : i8 to index
  %2 = index.cmp slt(%0, %n)
  %3 = index.cmp ugt(%0, %n)
  %4 = index.constant 42
  %5 = index.bool.constant true
  return %0, %1, %2, %3, %4, %5 : index, index, i1, i1, index, i1
}"""
    found = interpreted(from_mlir(text), [np.array(-3, np.int8), np.array(5)])
    assert [int(x) for x in found] == [-3, 253, 1, 1, 42, 1]


def test_angles_of_complex_numbers_are_those_of_the_logarithm() -> None:
    text = """
func.func @main(%a: complex<f64>, %b: complex<f64>) -> complex<f64> {
  %0 = complex.atan2 %a, %b : complex<f64>
  return %0 : complex<f64>
}"""
    y, x = 1.5 - 0.5j, -0.75 + 2.0j
    found = ted.function(lambda a, b: from_mlir(text)(a, b))(np.array(y), np.array(x))
    np.testing.assert_allclose(found, -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)))
