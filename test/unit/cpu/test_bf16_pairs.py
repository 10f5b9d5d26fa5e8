"""Contractions of bf16 in pairs: the instruction everywhere, numbers where there is one."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.api.host import executable_cpus
from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.machine import CPUS, Cpu
from ted.mlir import ir
from unit.cpu.contraction_programs import PRODUCTS_OF_PAIRS, run

BF16 = ml_dtypes.bfloat16
INSTRUCTIONS = {"avx512_bf16": "vdpbf16ps", "avx512_amx": "tdpbf16ps"}
ROWS = [CPUS[name] for name in INSTRUCTIONS]
STEP = 2.0**-7  # between neighbours of bf16 above 1; rounding moves by half of it
SINGLE = 2.0**-24  # the same of f32

named = pytest.mark.parametrize("target", [f"cpu:{row.name}" for row in ROWS])
runs = pytest.mark.parametrize(
    "target",
    [
        pytest.param(f"cpu:{row.name}", marks=pytest.mark.skipif(
            row not in executable_cpus(), reason=f"no {row.name} here"))
        for row in ROWS
    ],
)  # fmt: skip

LAYOUTS: dict[str, tuple[str, Callable]] = {
    "nn": ("ik,kj->ij", lambda a, b: a @ b),
    "tn": ("ki,kj->ij", lambda a, b: a.T @ b),
    "nt": ("ik,jk->ij", lambda a, b: a @ b.T),
    "tt": ("ki,jk->ij", lambda a, b: a.T @ b.T),
}


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(BF16)


def wide(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).astype(np.float64)


def assert_near(found: np.ndarray, exact: np.ndarray, sums: np.ndarray, steps: int) -> None:
    """Totals in f32, each product and sum rounded, then one rounding to bf16."""
    bound = STEP / 2 * np.abs(exact) + 2 * (steps + 2) * SINGLE * sums
    assert np.all(np.abs(wide(found) - exact) <= bound)


def assembly(target: str) -> str:
    a, b = (ted.placeholder((64, 64), "bfloat16", name=name) for name in "ab")
    return ted.compile([a, b], [a @ b], target=target).ir("asm")


@pytest.mark.parametrize("row", INSTRUCTIONS)
def test_the_instruction_is_there_and_no_other_multiplication(row: str) -> None:
    text = assembly(f"cpu:{row}")
    assert text.count(INSTRUCTIONS[row]) >= 4
    assert "vfmadd" not in text


@pytest.mark.parametrize(
    "row", [r for r in CPUS.values() if r.name not in INSTRUCTIONS], ids=lambda row: row.name
)
def test_other_rows_do_without(row: Cpu) -> None:
    assert "dpbf16ps" not in assembly(f"cpu:{row.name}")


@runs
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "size",
    [
        (1, 17, 5),
        (2, 3, 2),
        (4, 16, 1),
        (7, 10, 129),
        (13, 33, 31),
        (60, 200, 130),
        (130, 70, 5003),
    ],
    ids=str,
)
def test_matrix_products_of_any_size(size: tuple[int, int, int], layout: str, target: str) -> None:
    extents = dict(zip("ijk", size, strict=True))
    formula, product = LAYOUTS[layout]
    a, b = (
        numbers(seed, *(extents[d] for d in dims))
        for seed, dims in enumerate(formula.partition("->")[0].split(","))
    )
    exact, sums = (np.einsum(formula, f(a), f(b)) for f in (wide, lambda x: np.abs(wide(x))))
    assert_near(ted.function(product, target)(a, b), exact, sums, size[2])


@runs
def test_batches_and_a_fused_epilogue(target: str) -> None:
    a, b, bias = numbers(0, 3, 9, 21), numbers(1, 3, 21, 18), numbers(2, 18)
    made = ted.function(lambda a, b, bias: ted.nn.relu(a @ b + bias), target)(a, b, bias)
    exact = np.maximum(wide(a) @ wide(b) + wide(bias), 0)
    sums = np.abs(wide(a)) @ np.abs(wide(b)) + 1
    assert np.all(np.abs(wide(made) - exact) <= STEP * (np.abs(exact) + 8) + 50 * SINGLE * sums)


def convolution(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
    n, rows, columns, channels = x.shape
    height, width, _, filters = w.shape
    r, s, c = (
        ted.reduce_axis(k, name=d) for d, k in (("r", height), ("s", width), ("c", channels))
    )
    return ted.compute(
        (n, rows - height + 1, columns - width + 1, filters),
        lambda b, i, j, o: ted.sum(x[b, i + r, j + s, c] * w[r, s, c, o], axis=(r, s, c)),
        name="y",
    )


@named
def test_convolutions_and_both_gradients(target: str) -> None:
    x, w, h = numbers(0, 3, 7, 18, 5), numbers(1, 3, 3, 5, 18), numbers(2, 3, 5, 16, 18)
    places = [
        ted.placeholder(v.shape, "bfloat16", name=n) for v, n in ((x, "x"), (w, "w"), (h, "h"))
    ]
    y = convolution(places[0], places[1])
    gradients = ted.differentiate(y, places[:2], head=places[2])
    f = ted.compile(places, [y, *gradients], target=target)
    row = target.removeprefix("cpu:")
    assert INSTRUCTIONS[row] in f.ir("asm")
    if CPUS[row] not in executable_cpus():
        pytest.skip(f"no {row} here")
    windows = np.lib.stride_tricks.sliding_window_view(wide(x), (3, 3), axis=(1, 2))
    exact_y = np.einsum("bijcrs,rsco->bijo", windows, wide(w))
    exact_w = np.einsum("bijcrs,bijo->rsco", windows, wide(h))
    exact_x = np.zeros(x.shape)
    for r in range(3):
        for s in range(3):
            exact_x[:, r : r + 5, s : s + 16] += wide(h) @ wide(w)[r, s].T
    found = f(x, w, h)
    for value, exact in zip(found, (exact_y, exact_x, exact_w), strict=True):
        # at most 240 products below 1 each
        assert_near(value, exact, np.full(exact.shape, 240.0), 240)


@runs
def test_second_order(target: str) -> None:
    a, b = numbers(0, 39, 65), numbers(1, 65, 52)

    def loss(a, b):
        y = ted.cast(a @ b, "float32")
        return ted.sum(y * y)

    # d loss / da = 2 (a b) b', and the derivative of its sum by b.
    second = ted.function(
        ted.grad(lambda b, a: ted.sum(ted.cast(ted.grad(loss)(a, b), "float32"))), target
    )(b, a)
    ones = np.ones(a.shape)
    exact = 2 * (wide(a).T @ (ones @ wide(b)) + ones.T @ (wide(a) @ wide(b)))
    scale = 2 * (
        np.abs(wide(a)).T @ (ones @ np.abs(wide(b))) + ones.T @ (np.abs(wide(a)) @ np.abs(wide(b)))
    )
    assert np.all(np.abs(wide(second) - exact) <= 4 * STEP * scale)


@runs
def test_threads_change_no_bit(target: str) -> None:
    a, b = numbers(0, 301, 257), numbers(1, 257, 333)
    one, *others = (
        ted.function(lambda a, b: a @ b, f"{target},threads={n}")(a, b) for n in (1, 2, 3, 8)
    )
    assert all(one.tobytes() == other.tobytes() for other in others)


def of_ones(factor: float, target: str) -> np.ndarray:
    """`factor` times one, 64 times, summed."""
    a, b = np.full((64, 64), factor, BF16), np.ones((64, 64), BF16)
    return wide(ted.function(lambda a, b: a @ b, target)(a, b))


@runs
def test_subnormal_numbers_are_zero_and_on_other_rows_they_are_not(target: str) -> None:
    least = float(ml_dtypes.finfo(BF16).smallest_normal)
    assert np.all(of_ones(least / 2, target) == 0)
    assert np.all(of_ones(least / 2, "cpu:avx512") == 32 * least)
    assert np.all(of_ones(least, target) == 64 * least)


@runs
def test_what_is_not_finite_stays_so_in_the_padding_of_an_odd_sum(target: str) -> None:
    a, b = np.ones((64, 67), BF16), np.ones((67, 64), BF16)
    a[:, 66] = np.inf
    assert np.all(np.isposinf(wide(ted.function(lambda a, b: a @ b, target)(a, b))))


PAIRS = PRODUCTS_OF_PAIRS.format(
    a="9x7", b="7x18", c="9x18", dims="i, j, k", in_a="i, k", in_b="k, j", in_c="i, j",
    kinds='"parallel", "parallel", "reduction"',
)  # fmt: skip


@pytest.mark.parametrize("row", executable_cpus(), ids=lambda row: row.name)
def test_pairs_are_multiplied_on_every_row(row: Cpu) -> None:
    a, b = numbers(0, 9, 14), numbers(1, 14, 18)
    pairs_of_b = np.ascontiguousarray(b.reshape(7, 2, 18).transpose(0, 2, 1)).view(np.int32)[..., 0]
    start, out = np.ones((9, 18), np.float32), np.empty((9, 18), np.float32)
    run(PAIRS, (a.view(np.int32), np.ascontiguousarray(pairs_of_b), start), out, row)
    np.testing.assert_allclose(out, 1 + wide(a) @ wide(b), rtol=0, atol=32 * 14 * SINGLE)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(64, 48, 64), (50, 70, 75), (17, 130, 67)], ids=str)
def test_layouts_for_matrices_hold_the_numbers(size: tuple[int, int, int], layout: str) -> None:
    """Laid out for AMX, multiplied on the host, which need not have it."""
    extents, formula = dict(zip("ijk", size, strict=True)), LAYOUTS[layout][0]
    subscripts = formula.replace("->", ",").split(",")
    in_a, in_b, in_c = ("x".join(str(extents[d]) for d in dims) for dims in subscripts)
    maps = ", ".join(f"affine_map<(i, j, k) -> ({', '.join(dims)})>" for dims in subscripts)
    text = f"""func.func @main(
        %a: tensor<{in_a}xbf16>, %b: tensor<{in_b}xbf16>, %c: tensor<{in_c}xf32>)
        -> tensor<{in_c}xf32> {{
      %r = linalg.generic {{indexing_maps = [{maps}],
          iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%a, %b : tensor<{in_a}xbf16>, tensor<{in_b}xbf16>) outs(%c : tensor<{in_c}xf32>) {{
      ^bb0(%x: bf16, %y: bf16, %o: f32):
        %0 = arith.extf %x : bf16 to f32
        %1 = arith.extf %y : bf16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %o, %2 : f32
        linalg.yield %3 : f32
      }} -> tensor<{in_c}xf32>
      return %r : tensor<{in_c}xf32>
    }}"""
    with make_context() as context:
        module = ir.Module.parse(text, context)
        run_pipeline(module, "builtin.module(ted-schedule-contractions{cpu=avx512_amx})")
        paired = str(module)
    assert "xi32>" in paired
    a, b = (numbers(seed, *(extents[d] for d in dims)) for seed, dims in enumerate(subscripts[:2]))
    start = np.zeros([extents[d] for d in subscripts[2]], np.float32)
    found = run(paired, (a, b, start), np.empty_like(start))
    np.testing.assert_allclose(found, np.einsum(formula, wide(a), wide(b)), rtol=0, atol=1e-3)
