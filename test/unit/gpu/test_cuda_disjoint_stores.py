"""Results that are written in pieces: one kernel, whose neighbouring threads write side by side."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from ted import nn
from unit.gpu.cuda_programs import dtype_of, manifest_of

pytestmark = pytest.mark.slow  # emulated kernels take long

RNG = np.random.default_rng(11)


def agrees(inputs, outputs, tolerance: float = 1e-5):
    """Compare with the CPU, in every order of threads; returns the program."""
    manifest = manifest_of(inputs, outputs)
    arrays = [RNG.integers(-9, 9, s.shape).astype(dtype_of(s.dtype)) for s in manifest.inputs]
    wanted = ted.compile(inputs, outputs)(*arrays)
    wanted = wanted if isinstance(wanted, (tuple, list)) else [wanted]
    for order in ("lockstep", "random", "reverse"):
        for found, want in zip(run_manifest(manifest, arrays, order=order), wanted, strict=True):
            np.testing.assert_allclose(
                found.astype("f8"), np.asarray(want, "f8"), rtol=tolerance, atol=tolerance
            )
    return manifest


def strided_read(size: int, taps: int, stride: int, dtype: str = "float32"):
    x = ted.placeholder((size,), dtype, name="x")
    w = ted.placeholder((taps,), dtype, name="w")
    r = ted.reduce_axis(taps, name="r")
    count = (size - taps) // stride + 1
    y = ted.compute((count,), lambda i: ted.sum(x[stride * i + r] * w[r], axis=r), name="y")
    return x, w, y


@pytest.mark.parametrize(
    ("size", "taps", "stride", "dtype"),
    [(2001, 3, 2, "float32"), (700, 5, 2, "float16"), (1003, 4, 3, "float64"),
     (97, 7, 5, "float32"), (8, 3, 2, "float32")],
)  # fmt: skip
def test_adjoints_of_strided_reads_are_one_kernel(size, taps, stride, dtype) -> None:
    x, w, y = strided_read(size, taps, stride, dtype)
    head = ted.placeholder(y.shape, dtype, name="head")
    (dx,) = ted.differentiate(y, [x], head)
    manifest = agrees([x, w, head], [dx], 5e-3 if dtype == "float16" else 1e-5)
    assert len(manifest.kernels) == (2 if dtype == "float16" else 1)
    assert not re.search(r"\b(atom|red)\.", manifest.ptx)


def test_cells_that_are_vectors_are_stored_as_such() -> None:
    x, w, y = strided_read(514, 3, 2)
    head = ted.placeholder(y.shape, name="head")
    (dx,) = ted.differentiate(y, [x], head)
    manifest = agrees([x, w, head], [dx])
    assert set(re.findall(r"st\.\S+", manifest.ptx)) == {"st.global.v2.b32"}


@pytest.mark.parametrize("dtype", ["bool", "int8"])
def test_cells_of_bytes_are_bytes_in_memory(dtype: str) -> None:
    a, b = (ted.placeholder((70, 11), dtype, name=name) for name in "ab")
    agrees([a, b], [ted.stack([a, b], axis=2), ted.stack([b, a, a, b], axis=2)])


def test_other_cells_are_stored_in_the_order_of_the_memory() -> None:
    x, w, y = strided_read(513, 3, 2)
    head = ted.placeholder(y.shape, name="head")
    (dx,) = ted.differentiate(y, [x], head)
    manifest = agrees([x, w, head], [dx])
    assert "ld.shared" in manifest.ptx


@pytest.mark.parametrize(
    ("shape", "window", "stride", "padding", "layout"),
    [((2, 3, 17, 19), 3, 2, 1, "NCHW"), ((1, 2, 16, 70), 3, 3, 1, "NCHW"),
     ((2, 13, 14, 5), 3, 2, 1, "NHWC"), ((1, 2, 9, 8), (1, 3), (1, 2), (0, 1), "NCHW")],
)  # fmt: skip
def test_pools_and_their_adjoints_are_a_kernel_each(shape, window, stride, padding, layout) -> None:
    x = ted.placeholder(shape, name="x")
    y = nn.max_pool2d(x, window, stride, padding, layout=layout)
    head = ted.placeholder(y.shape, name="head")
    (dx,) = ted.differentiate(y, [x], head)
    manifest = agrees([x, head], [y, dx])
    assert len(manifest.kernels) == 2


def test_rows_in_turns_of_other_lengths_are_told_apart() -> None:
    x = ted.placeholder((12, 8), name="x")
    turns = ((0, 6), (3, 6), (1, 3), (2, 3))
    parts = [1.0 * x[first::step, k::2] for first, step in turns for k in (0, 1)]
    heads = [ted.placeholder(p.shape, name=f"head{k}") for k, p in enumerate(parts)]
    first, *rest = [ted.sum(p * h) for p, h in zip(parts, heads, strict=True)]
    head = ted.placeholder((), name="head")
    (dx,) = ted.differentiate(sum(rest, first), [x], head)
    manifest = agrees([x, head, *heads], [dx])
    assert len(manifest.kernels) == 1


def test_adjoints_of_adjoints() -> None:
    x, w, y = strided_read(131, 3, 2)
    loss = ted.sum(y * y * y)
    (dx,) = ted.differentiate(loss, [x])
    v = ted.placeholder(x.shape, name="v")
    (second,) = ted.differentiate(ted.sum(dx * v), [x])
    agrees([x, w, v], [dx, second], 1e-4)


def test_strided_convolutions_of_few_channels() -> None:
    x = ted.placeholder((2, 3, 17, 19), name="x")
    w = ted.placeholder((4, 3, 3, 3), name="w")
    y = nn.conv2d(x, w, stride=2, padding=1, layout="NCHW")
    head = ted.placeholder(y.shape, name="head")
    agrees([x, w, head], list(ted.differentiate(y, [x, w], head)), 1e-4)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_a_padding_is_one_kernel(dtype: str) -> None:
    x = ted.placeholder((3, 21, 37), dtype, name="x")
    manifest = agrees([x], [ted.pad(x, ((0, 0), (1, 2), (3, 0)))])
    assert len(manifest.kernels) == 1


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_many_arrays_behind_each_other_are_one_kernel(axis: int, dtype: str) -> None:
    parts = [ted.placeholder((6, 5), dtype, name=f"x{k}") for k in range(7)]
    manifest = agrees(parts, [ted.concatenate(parts, axis)])
    assert len(manifest.kernels) == 1


@pytest.mark.parametrize(("count", "dtype"), [(4, "float32"), (3, "float64"), (17, "int8")])
def test_arrays_in_turn_are_stored_in_order(count: int, dtype: str) -> None:
    parts = [ted.placeholder((5, 37), dtype, name=f"x{k}") for k in range(count)]
    manifest = agrees(parts, [ted.stack(parts, 2)])
    assert len(manifest.kernels) == 1
    assert ("ld.shared" in manifest.ptx) != (count == 4)


def test_a_donated_input_may_be_the_result_in_pieces() -> None:
    x, w, y = strided_read(65, 3, 2)
    head = ted.placeholder(y.shape, name="head")
    (dx,) = ted.differentiate(y, [x], head)
    step = x - dx
    arrays = [RNG.integers(-9, 9, s).astype("f4") for s in (65, 3, y.shape[0])]
    (want,) = ted.compile([x, w, head], [step])(*arrays)
    f = ted.compile([x, w, head], [step], donate=[x], target="cuda:sm_80")
    with ted.testing.emulated_gpu():
        np.testing.assert_allclose(f(*map(ted.cuda.asarray, arrays))[0].numpy(), want, rtol=1e-6)


def test_no_group_passes_the_kernel_of_another_one() -> None:
    """A sum of exponentials by pairs, differentiated twice: groups whose operations alternate."""

    def joined(a, b):
        top = ted.maximum(a[0], b[0])
        return top, a[1] * ted.exp(a[0] - top) + b[1] * ted.exp(b[0] - top)

    sums = ted.reducer(joined, (-1e30, 0.0), name="sums")
    x, z = (ted.placeholder((1, 5), "float64", name=n) for n in "xz")
    outputs = list(sums((x, ted.square(z)), axis=1))
    inputs, results = [x, z], []
    for turn in "ab":
        heads = [
            ted.placeholder(t.shape, "float64", name=f"{turn}{k}") for k, t in enumerate(outputs)
        ]
        outputs = list(ted.differentiate(outputs, inputs, heads))
        inputs, results = [*inputs, *heads], outputs
    agrees(inputs, results, 1e-10)
