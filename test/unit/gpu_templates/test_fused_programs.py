"""Programs whose matrix products are finished in their kernels, on the emulated GPU."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import ted
import ted.testing
from strategy_names import strategy_names
from support.in_process import compile_here
from ted.gpu.templates import choices

ROWS, COLUMNS, DEPTH = 72, 40, 64
KINDS = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16}


def evaluate(
    program: Callable,
    shapes: list[tuple[int, ...]],
    dtype: str,
    donate: tuple[int, ...] = (),
    chip: str = "sm_80",
) -> tuple[list[str], np.ndarray, list[np.ndarray]]:
    """Names of the strategies, the result, and the inputs in float64."""
    places = [ted.placeholder(shape, dtype, f"x{k}") for k, shape in enumerate(shapes)]
    generator = np.random.default_rng(0)
    values = [generator.standard_normal(shape).astype(KINDS[dtype]) for shape in shapes]
    with ted.testing.emulated_gpu():
        function = ted.compile(
            places, program(*places), target=f"cuda:{chip}", donate=[places[k] for k in donate]
        )
        result = function(*map(ted.cuda.asarray, values)).numpy()
    names = strategy_names(function)
    assert len(names) == len(function.manifest.kernels)
    parameters = [p for kernel in function.manifest.kernels for p in kernel.params]
    assert ("tensormap" in parameters) == ("cp.async.bulk.tensor" in function.ptx)
    return names, result.astype(np.float64), [value.astype(np.float64) for value in values]


FINISHED = "contraction_with_epilogue"
SHAPES = [(ROWS, DEPTH), (DEPTH, COLUMNS), (COLUMNS,), (ROWS, COLUMNS)]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.3)])
def test_bias_residual_and_relu_are_in_the_kernel(dtype: str, tolerance: float) -> None:
    names, result, (a, b, bias, other) = evaluate(
        lambda a, b, bias, other: ted.relu(a @ b + bias) + other, SHAPES, dtype
    )
    assert names == [FINISHED]
    np.testing.assert_allclose(result, np.maximum(a @ b + bias, 0) + other, atol=tolerance)


def test_tensor_maps_are_made_by_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_here(monkeypatch)
    monkeypatch.setattr(choices, "MMA_BESIDE_WGMMA", 0.01)
    names, result, (a, b, bias) = evaluate(
        lambda a, b, bias: ted.relu(a @ b + bias) @ ted.transpose(b),
        SHAPES[:3], "bfloat16", chip="sm_90a",
    )  # fmt: skip
    assert names == [FINISHED, FINISHED]
    np.testing.assert_allclose(result, np.maximum(a @ b + bias, 0) @ b.T, atol=3)


def test_gradients_of_convolutions_of_halves_are_products_of_halves() -> None:
    images = ted.placeholder((2, 8, 8, 16), "bfloat16")
    weights = ted.placeholder((3, 3, 16, 32), "bfloat16")

    def convolve(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
        return ted.nn.conv2d(x, w, padding=1)

    result, pull = ted.vjp(convolve, images, weights)
    head = ted.placeholder(result.shape, "bfloat16")
    function = ted.compile([images, weights, head], pull(head), target="cuda:sm_80")
    assert sum(name.startswith("contraction") for name in strategy_names(function)) == 2
    assert function.ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") >= 2
    assert "fma.rn.f32" not in function.ptx


def test_a_transposed_result_is_stored_where_it_belongs() -> None:
    names, result, (a, b) = evaluate(lambda a, b: ted.transpose(a @ b * 2.0), SHAPES[:2], "float32")
    assert names == [FINISHED]
    np.testing.assert_allclose(result, 2 * (a @ b).T, atol=1e-4)


def test_sums_with_another_reader_stay_in_memory() -> None:
    names, result, (a, b) = evaluate(
        lambda a, b: ted.relu(a @ b) @ ted.transpose(a @ b), SHAPES[:2], "float32"
    )
    assert len(names) == 3
    np.testing.assert_allclose(result, np.maximum(a @ b, 0) @ (a @ b).T, rtol=1e-4, atol=1e-2)


def test_long_bodies_are_kernels_of_their_own() -> None:
    names, result, (a, b) = evaluate(lambda a, b: ted.tanh(a @ b), SHAPES[:2], "float32")
    assert len(names) == 2
    np.testing.assert_allclose(result, np.tanh(a @ b), atol=1e-4)


def test_a_factor_is_not_overwritten_by_the_finished_product() -> None:
    square = [(DEPTH, DEPTH), (DEPTH, DEPTH)]
    _, result, (a, b) = evaluate(lambda a, b: a @ b + 1.0, square, "float32", donate=(0,))
    np.testing.assert_allclose(result, a @ b + 1, atol=1e-4)
