"""Softmax and norms: one kernel for what walks over rows, whatever their length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from support.ptx_programs import run_manifest
from sweeps import swept
from ted import nn
from ted.codegen.manifest import Manifest
from ted.gpu import row_sums
from unit.gpu.cuda_programs import dtype_of, manifest_of

pytestmark = pytest.mark.slow  # emulated kernels take long

SOFTMAXES = ("softmax", "log_softmax")
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def checked(inputs: Sequence[ted.Tensor], outputs: Sequence[ted.Tensor], scale: int) -> Manifest:
    """The program, after its results in a random order of threads have met those of the CPU.

    The sums of a row have `scale` terms or fewer, all of about size 1.
    """
    random = np.random.default_rng(7)
    manifest = manifest_of(inputs, outputs)
    arrays = [
        random.standard_normal(spec.shape).astype(dtype_of(spec.dtype)) for spec in manifest.inputs
    ]
    found = run_manifest(manifest, arrays, order="random", seed=5)
    want = ted.compile(inputs, outputs, target="cpu")(*arrays)
    for result, expected, spec in zip(found, want, manifest.outputs, strict=True):
        bound = 8 * EPSILON[spec.dtype] * (1 + scale) ** 0.5
        wanted = np.asarray(expected, np.float64)
        size = max(1.0, float(np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(
            np.asarray(result, np.float64), wanted, atol=bound * size, rtol=0
        )
    return manifest


def with_gradients(
    inputs: Sequence[ted.Tensor], y: ted.Tensor
) -> tuple[list[ted.Tensor], list[ted.Tensor]]:
    head = ted.placeholder(y.shape, y.dtype, name="head")
    return [*inputs, head], [y, *ted.differentiate(y, list(inputs), head)]


def layer(shape: tuple[int, ...]) -> tuple[ted.Tensor, ted.Tensor, ted.Tensor]:
    x = ted.placeholder(shape, name="x")
    return x, ted.placeholder(shape[-1:], name="w"), ted.placeholder(shape[-1:], name="b")


LENGTHS = [(name, n) for name in SOFTMAXES for n in (2, 3, 4, 5, 31, 33, 1000, 4099)]
FAST = [("softmax", n) for n in (2, 5, 33, 4099)] + [("log_softmax", n) for n in (3, 31, 1000)]


@swept(("name", "length"), LENGTHS, fast=FAST)
def test_softmax_and_its_gradient_are_one_kernel(name: str, length: int) -> None:
    x = ted.placeholder((5, length), name="x")
    y = getattr(nn, name)(x)
    assert len(checked([x], [y], length).kernels) == 1
    assert len(checked(*with_gradients([x], y), length).kernels) == 1


@pytest.mark.parametrize("name", SOFTMAXES)
def test_rows_of_one_element_take_no_loop_over_rows(name: str) -> None:
    x = ted.placeholder((5, 1), name="x")
    y = getattr(nn, name)(x)
    assert len(checked([x], [y], 1).kernels) == 1
    assert len(checked(*with_gradients([x], y), 1).kernels) == 1


TYPES = [(dtype, n) for dtype in ("float64", "float16", "bfloat16") for n in (3, 32, 300)]


@swept(("dtype", "length"), TYPES, fast=[("float64", 32), ("float16", 300), ("bfloat16", 3)])
def test_rows_of_every_type_are_one_kernel(dtype: str, length: int) -> None:
    x = ted.placeholder((5, length), dtype, name="x")
    assert len(checked(*with_gradients([x], nn.log_softmax(x)), length).kernels) == 1


NORMS = [(9, 3), (8, 2, 64), (7, 3, 31), (2, 3, 4, 40), (3, 1000)]


@swept("shape", NORMS, fast=[(9, 3), (7, 3, 31), (3, 1000)])
def test_norms_and_what_their_inputs_get_are_one_kernel(shape: tuple[int, ...]) -> None:
    x, w, b = layer(shape)
    length = shape[-1]
    assert len(checked([x, w, b], [nn.layer_norm(x, w, b)], length).kernels) == 1
    inputs, (y, dx, *_) = with_gradients([x, w, b], nn.layer_norm(x, w, b))
    assert len(checked(inputs, [y, dx], length).kernels) == 1
    inputs, (y, dx, _) = with_gradients([x, w], nn.rms_norm(x, w))
    assert len(checked(inputs, [y, dx], length).kernels) == 1


@pytest.mark.parametrize("shape", [(9, 3), (8, 2, 64), (3, 1000)])
def test_sums_over_the_rows_of_norms_are_right(shape: tuple[int, ...]) -> None:
    x, w, b = layer(shape)
    assert len(checked(*with_gradients([x, w, b], nn.layer_norm(x, w, b)), 1000).kernels) <= 3
    assert len(checked(*with_gradients([x, w], nn.rms_norm(x, w)), 1000).kernels) <= 3


@pytest.mark.parametrize("axes", [(1, 2), (2, 3), (1, 2, 3)])
def test_norms_over_several_dims_are_one_kernel(axes: tuple[int, ...]) -> None:
    x = ted.placeholder((3, 4, 5, 6), name="x")
    inputs, (y, dx) = with_gradients([x], nn.layer_norm(x, axis=axes))
    assert len(checked(inputs, [y, dx], 120).kernels) == 1


GROUPS = [(21, 64), (20, 2, 64), (7, 5, 31), (30, 300), (41, 8), (14, 1024)]


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums join the loops over their rows, in groups, however few rows there are."""
    for name, value in (("LEAST_ROWS", 4), ("BUSY_BLOCKS", 3), ("POINTS_AT_ONCE", 1)):
        monkeypatch.setattr(row_sums, name, value)
    compile_here(monkeypatch)
    monkeypatch.setattr(row_sums, "WORTH_POINTS", 1)


@pytest.mark.usefixtures("small_groups")
@swept("shape", GROUPS, fast=[(7, 5, 31), (30, 300), (41, 8)])
def test_sums_over_rows_are_made_where_the_rows_are(shape: tuple[int, ...]) -> None:
    x, w, b = layer(shape)
    manifest = checked(*with_gradients([x, w, b], nn.layer_norm(x, w, b)), 1000)
    assert len(manifest.kernels) == 2
    assert sum(b.bytes for b in manifest.buffers) < 4 * np.prod(shape)
    assert len(checked(*with_gradients([x, w], nn.rms_norm(x, w)), 1000).kernels) == 2


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_sums_over_rows_of_every_type_are_made_where_the_rows_are(dtype: str) -> None:
    x, w = ted.placeholder((21, 300), dtype, name="x"), ted.placeholder((300,), dtype, name="w")
    checked(*with_gradients([x, w], nn.layer_norm(x, w)), 1000)


@pytest.mark.usefixtures("small_groups")
def test_groups_of_rows_give_the_same_bits_in_every_order_of_threads() -> None:
    x, w, b = layer((30, 300))
    manifest = manifest_of(*with_gradients([x, w, b], nn.layer_norm(x, w, b)))
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(s.shape).astype("f4") for s in manifest.inputs]
    first = run_manifest(manifest, arrays)
    for seed in (1, 2):
        again = run_manifest(manifest, arrays, order="random", seed=seed)
        assert [a.tobytes() for a in again] == [a.tobytes() for a in first]


def test_large_norms_read_their_rows_once() -> None:
    """Of 4096 rows the arena holds totals only, no tensor of the rows."""
    x, w, b = layer((4096, 1024))
    manifest = manifest_of(*with_gradients([x, w, b], nn.layer_norm(x, w, b)))
    assert manifest.arena_bytes < 4 * 4096 * 1024 // 2


@pytest.mark.parametrize("length", [40, 9000])
def test_a_loss_reads_its_rows_in_one_kernel(length: int) -> None:
    """The logit of the label is a sum that nothing else of the row waits for."""
    x, label = ted.placeholder((9, length), name="x"), ted.placeholder((9,), "int64", name="label")
    manifest = manifest_of([x, label], [nn.cross_entropy(x, label)])
    assert [kernel.grid[0] for kernel in manifest.kernels] == [2 if length == 40 else 9, 1, 1]
    random = np.random.default_rng(3)
    a, k = random.standard_normal((9, length)).astype("f4"), random.integers(0, length, 9)
    (found,) = run_manifest(manifest, [a, k], order="random")
    wide = a.astype("f8")
    want = np.mean(np.log(np.exp(wide).sum(1)) - wide[np.arange(9), k])
    np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "blocks"), [("float32", 4), ("bfloat16", 4), ("float64", 1)])
def test_rows_that_fit_into_few_registers_share_a_multiprocessor(dtype: str, blocks: int) -> None:
    x, w, b = (ted.placeholder(shape, dtype) for shape in [(4096, 2048), (2048,), (2048,)])
    inputs, outputs = with_gradients([x, w, b], nn.layer_norm(x, w, b))
    function = ted.compile(inputs, outputs[1:], target="cuda:sm_90a")
    assert function.manifest.kernels[0].block[0] == 256
    assert f".minnctapersm {blocks}" in function.ptx
    assert not any(r.spill_stores for r in function.resources().values())
