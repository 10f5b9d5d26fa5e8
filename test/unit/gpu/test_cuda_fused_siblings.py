"""Element-wise programs with several results: one kernel that reads and writes everything once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ted
import ted.testing
from support.ptx_programs import run_manifest
from ted import nn
from ted.codegen.manifest import Copy, Manifest
from ted.codegen.nvptx import toolkit
from ted.errors import ExecutionError
from unit.gpu.cuda_programs import Array, dtype_of, manifest_of

ROWS = (64, 256)
Program = tuple[list[Any], list[Any]]


def with_gradient(
    f: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32"
) -> Program:
    """Inputs and a cotangent -> the value and the gradients of all inputs."""
    inputs = [ted.placeholder(s, dtype, name=f"x{k}") for k, s in enumerate(shapes)]
    y = f(*inputs)
    head = ted.placeholder(y.shape, dtype, name="head")
    return [*inputs, head], [y, *ted.differentiate(y, inputs, head)]


def arrays_for(inputs: Sequence[Any]) -> list[Array]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(tuple(x.shape)).astype(dtype_of(str(x.dtype))) for x in inputs]


def check(inputs: Sequence[Any], outputs: Sequence[Any], tolerance: float = 2e-6) -> Manifest:
    """Compare with the CPU, threads in a random order; returns the program."""
    manifest = manifest_of(inputs, outputs)
    arrays = arrays_for(inputs)
    found = run_manifest(manifest, arrays, order="random", seed=5)
    wanted = ted.compile(inputs, outputs)(*arrays)
    for one, want in zip(found, wanted, strict=True):
        want = np.asarray(want, np.float64)
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(np.asarray(one, np.float64), want, atol=tolerance * scale)
    return manifest


def vectors(manifest: Manifest) -> tuple[int, int]:
    """Loads and stores of 16 bytes, when there are no others."""
    loads = re.findall(r"ld\.global\S*", manifest.ptx)
    stores = re.findall(r"st\.global\S*", manifest.ptx)
    assert all("v4" in one for one in (*loads, *stores)), (loads, stores)
    return len(loads), len(stores)


CHAINS: dict[str, tuple[Callable[..., Any], int]] = {
    "two_factors": (lambda x, y: ted.tanh(x * y + 1) * ted.exp(-x), 2),
    "choice": (lambda x, y: ted.where(x > y, x * y, ted.exp(x)), 2),
    "three": (lambda a, b, c: ted.tanh(a) * b + ted.sigmoid(c) * a, 3),
    "gelu": (nn.gelu, 1),
    "silu": (nn.silu, 1),
    "softplus": (ted.softplus, 1),
    "elu": (nn.elu, 1),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_and_its_gradients_read_and_write_once(name: str) -> None:
    f, count = CHAINS[name]
    manifest = check(*with_gradient(f, *[ROWS] * count))
    assert len(manifest.steps) == 1
    assert not manifest.buffers
    assert vectors(manifest) == (count + 1, count + 1)


def test_16_bit_types_move_16_bytes() -> None:
    f, _ = CHAINS["two_factors"]
    manifest = check(*with_gradient(f, ROWS, ROWS, dtype="bfloat16"), tolerance=1e-2)
    assert len(manifest.steps) == 1
    assert vectors(manifest) == (3, 3)


def test_rows_lines_and_transposes() -> None:
    line = (ROWS[0] * ROWS[1],)
    manifest = check(*with_gradient(lambda x, y: ted.reshape(x, line) * ted.exp(y), ROWS, line))
    assert len(manifest.steps) == 1
    turned = with_gradient(lambda x, y: ted.swapaxes(x, 0, 1) * ted.tanh(y), (40, 72), (72, 40))
    manifest = check(*turned)
    assert len(manifest.steps) == 2
    assert ".shared" in manifest.ptx


def test_halves_of_one_gradient_are_written_by_one_kernel() -> None:
    program = with_gradient(lambda x: x[:, :128] * ted.sigmoid(x[:, 128:]), (128, 256))
    assert vectors(check(*program)) == (3, 3)


def test_what_is_written_in_parts_of_rows_is_one_kernel() -> None:
    x = ted.placeholder((64, 256), name="x")
    parts = [ted.exp(x[:, :100]), ted.tanh(x[:, 100:])]
    heads = [ted.placeholder(p.shape, name=f"head{k}") for k, p in enumerate(parts)]
    total = sum(ted.sum(p * h) for p, h in zip(parts, heads, strict=True))
    (dx,) = ted.differentiate(total, [x])
    assert len(check([x, *heads], [*parts, dx]).steps) == 1


def test_values_of_other_points_of_a_row_are_shared() -> None:
    x = ted.placeholder((64, 256), name="x")
    y = ted.tanh(x)
    assert len(check([x], [y, y[:, ::-1] * x]).steps) == 1


def test_values_of_other_rows_are_read_from_memory() -> None:
    x = ted.placeholder((64, 256), name="x")
    y = ted.tanh(x)
    assert len(check([x], [y, y[::-1] * x]).steps) == 2


def adam() -> Program:
    w, m, v, g = (ted.placeholder(ROWS, name=name) for name in "wmvg")
    m2, v2 = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
    return [w, m, v, g], [w - m2 / (ted.sqrt(v2 + 1e-6)) * 1e-3, m2, v2]


def test_an_update_of_a_parameter_and_its_moments_is_one_kernel() -> None:
    inputs, outputs = adam()
    manifest = manifest_of(inputs, outputs)
    assert len(manifest.steps) == 1
    assert vectors(manifest) == (4, 3)


def test_donated_parameters_and_moments_are_updated_where_they_are() -> None:
    inputs, outputs = adam()
    arrays = [np.abs(a) for a in arrays_for(inputs)]
    wanted = ted.compile(inputs, outputs)(*arrays)
    with ted.testing.emulated_gpu():
        step = ted.compile(inputs, outputs, target="cuda:sm_80", donate=inputs[:3])
        given = [ted.cuda.asarray(a) for a in arrays]
        found = step(*given)
        assert not any(isinstance(s, Copy) for s in step.manifest.steps)
        assert len(step.manifest.steps) == 1
        assert all(new is old for new, old in zip(found, given, strict=False))
        for one, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), want, rtol=2e-6, atol=1e-6)


def test_a_donated_input_that_is_read_across_is_read_first() -> None:
    x, w = ted.placeholder((40, 40), name="x"), ted.placeholder((40, 40), name="w")
    outputs = [w + x, ted.swapaxes(w, 0, 1) * x]
    arrays = arrays_for([x, w])
    wanted = ted.compile([x, w], outputs)(*arrays)
    with ted.testing.emulated_gpu():
        f = ted.compile([x, w], outputs, target="cuda:sm_80", donate=[w])
        found = f(*map(ted.cuda.asarray, arrays))
        for one, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), want, rtol=1e-6)


def test_many_results_are_a_few_kernels_that_do_not_spill() -> None:
    x = [ted.placeholder((256, 256), "float64", name=f"x{k}") for k in range(6)]
    outputs = [ted.tanh(x[k % 6]) * x[(k + 1) % 6] + k for k in range(30)]
    f = ted.compile(x, outputs, target="cuda:sm_80")
    assert 2 <= len(f.manifest.kernels) <= 4
    if toolkit.ptxas() is not None:
        assert all(r.spill_stores == 0 for r in f.resources().values())


def test_temporaries_are_not_made_before_their_time() -> None:
    x, w = ted.placeholder((64, 64), name="x"), ted.placeholder((64, 64), name="w")
    first = ted.sum(ted.tanh(x) @ w, axis=0)
    second = ted.sum(ted.exp(x) @ ted.reshape(first, (64, 1)) @ ted.reshape(first, (1, 64)))
    alone = manifest_of([x, w], [first])
    both = check([x, w], [first, second], 1e-4)
    assert both.arena_bytes < alone.arena_bytes + 64 * 64 * 4


def looked_up(mode: str) -> tuple[Program, list[Array]]:
    x, y = ted.placeholder((6, 8), name="x"), ted.placeholder((6, 8), name="y")
    i = ted.placeholder((5,), "int64", name="i")
    outputs = [ted.take(x, i, 0, mode=mode) * 2, ted.take(y, i, 0, mode=mode) + 1]
    return ([x, y, i], outputs), [*arrays_for([x, y]), np.array([1, 5, 3, 0, 2])]


def test_the_first_bad_index_of_a_program_is_reported() -> None:
    (inputs, outputs), (x, y, index) = looked_up("check")
    bad = np.where(index == 3, 7, index)
    with pytest.raises(ExecutionError, match="tensor x") as on_cpu:
        ted.compile(inputs, outputs)(x, y, bad)
    f = ted.compile(inputs, outputs, target="cuda:sm_80")
    with ted.testing.emulated_gpu():
        found, _ = f(*map(ted.cuda.asarray, (x, y, bad)))
        with pytest.raises(ExecutionError) as on_gpu:
            found.numpy()
    assert on_gpu.value.message == on_cpu.value.message


def test_reads_at_unchecked_data_are_merged() -> None:
    (inputs, outputs), (x, y, index) = looked_up("unchecked")
    manifest = manifest_of(inputs, outputs)
    assert len(manifest.steps) == 1
    found = run_manifest(manifest, [x, y, index], order="random", seed=2)
    np.testing.assert_allclose(found[0], x[index] * 2)
    np.testing.assert_allclose(found[1], y[index] + 1)
