"""Products in float32 whose factors may be rounded: the option `tf32` of a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from strategy_names import strategy_names
from support.ptx_programs import run_manifest
from ted.errors import CompileError

MMA = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
RNG = np.random.default_rng(12)
SHAPES = ((48, 40), (40, 56))  # more than enough products for a template


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def rounded(array: np.ndarray) -> np.ndarray:
    """Each number with 10 bits of fraction, as the instruction takes it; ties away from zero."""
    bits = np.asarray(array, np.float32).view(np.uint32).astype(np.uint64) + 0x1000
    return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32).astype(np.float64)


def compiled(program: Callable[..., Any], shapes: Sequence[Any], target: str, kind: str) -> Any:
    """The program with its gradients; a result's own head is the last input."""
    inputs = [ted.placeholder(s, kind, name=f"x{k}") for k, s in enumerate(shapes)]
    y = program(*inputs)
    head = ted.placeholder(y.shape, kind, name="head")
    gradients = ted.differentiate(y, inputs, head)
    return ted.compile([*inputs, head], [y, *gradients], target=target)


def arrays(function: Any) -> list[np.ndarray]:
    return [RNG.standard_normal(s.shape).astype(s.dtype) for s in function.manifest.inputs]


@pytest.mark.fast(1)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_products_and_their_gradients_take_rounded_factors(chip: str) -> None:
    function = compiled(matmul, SHAPES, f"cuda:{chip},tf32", "float32")
    assert MMA in function.ptx
    assert MMA not in compiled(matmul, SHAPES, f"cuda:{chip}", "float32").ptx
    a, b, head = given = arrays(function)
    for factors, found in zip(
        [(a, b), (head, b.T), (a.T, head)],
        run_manifest(function.manifest, given, order="random", seed=2),
        strict=True,
    ):
        x, y = (np.asarray(f, np.float64) for f in factors)
        sizes = np.abs(x) @ np.abs(y)
        error = np.abs(found - x @ y)
        # Two factors of each product lose half of the last of 10 bits, and sums are in float32.
        assert np.all(error <= (2 * 2.0**-11 + x.shape[1] * 2.0**-23) * sizes)
        assert np.any(error > x.shape[1] * 2.0**-23 * sizes), "no sum in float32 errs so"
        same = np.abs(found - rounded(factors[0]) @ rounded(factors[1]))
        assert np.all(same <= x.shape[1] * 2.0**-23 * sizes)


def test_without_the_option_factors_are_exact() -> None:
    function = compiled(matmul, SHAPES, "cuda:sm_80", "float32")
    a, b, head = arrays(function)
    found = run_manifest(function.manifest, [a, b, head])[0]
    x, y = a.astype(np.float64), b.astype(np.float64)
    assert np.all(np.abs(found - x @ y) <= 40 * 2.0**-23 * (np.abs(x) @ np.abs(y)))


def test_convolutions_and_their_gradients() -> None:
    def convolved(x: Any, w: Any) -> Any:
        return ted.nn.conv2d(x, w, padding=1)

    shapes = ((1, 8, 8, 16), (3, 3, 16, 16))
    function = compiled(convolved, shapes, "cuda:sm_80,tf32", "float32")
    assert function.ptx.count(MMA) >= 3
    given = arrays(function)
    exact = compiled(convolved, shapes, "cpu", "float64")(*(a.astype("f8") for a in given))
    for found, want in zip(run_manifest(function.manifest, given), exact, strict=True):
        error = np.abs(found - want).max() / np.abs(want).max()
        assert 1e-6 < error < 4e-3


def test_the_work_behind_a_product_stays_in_its_kernel() -> None:
    def layer(a: Any, b: Any, bias: Any) -> Any:
        return ted.relu(a @ b + bias)

    inputs = [ted.placeholder(s, name=f"x{k}") for k, s in enumerate((*SHAPES, (56,)))]
    function: Any = ted.compile(inputs, layer(*inputs), target="cuda:sm_80,tf32")
    assert strategy_names(function) == ["contraction_with_epilogue"]
    assert len(function.manifest.kernels) == 1
    assert MMA in function.ptx
    a, b, bias = given = arrays(function)
    (found,) = run_manifest(function.manifest, given)
    want = np.maximum(rounded(a) @ rounded(b) + bias, 0)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["float64", "bfloat16"])
def test_other_types_are_as_before(kind: str) -> None:
    programs = (
        compiled(matmul, SHAPES, f"cuda:sm_80{option}", kind).ptx for option in ("", ",tf32")
    )
    assert len(set(programs)) == 1


def test_functions_stages_and_samples_know_it(tmp_path: Path) -> None:
    def total(a: Any, b: Any) -> Any:
        return ted.sum(ted.tanh(a @ b))

    given = [RNG.standard_normal(s).astype(np.float32) for s in SHAPES]
    gradient: Any = ted.grad(ted.function(total, target="cuda:sm_80,tf32"), (0, 1))
    function = gradient.compiled(*given)
    assert function.ptx.count(MMA) >= 3
    assert "tf32Enabled" in function.ir("gpu")
    function.save(tmp_path / "step", given)
    with ted.testing.emulated_gpu():
        assert ted.load(tmp_path / "step").check() == []


def test_a_chip_without_such_tensor_cores_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ted.placeholder((8, 16), name="x")
    message = "tf32 needs the tensor cores of sm_80 or later, got 'cuda:sm_75,tf32'; leave it out"
    with pytest.raises(CompileError, match=message):
        ted.compile([x], x * 2.0, target="cuda:sm_75,tf32")
    monkeypatch.setattr("ted.api.options.host_gpu", lambda: "sm_75")
    with pytest.raises(CompileError, match=message):
        ted.function(lambda x: x * 2.0, target="cuda,tf32")
