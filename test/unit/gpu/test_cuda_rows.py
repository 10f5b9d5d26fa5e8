"""Rows in one kernel: what threads keep to themselves, and where they wait for each other."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from ted import nn
from unit.gpu.cuda_programs import dtype_of, manifest_of

RNG = np.random.default_rng(5)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_gradient(x, head):
    y = softmax(x)
    return y * (head - (y * head).sum(-1, keepdims=True))


def program(shape, dtype="float32"):
    """Softmax and its gradient."""
    x, head = (ted.placeholder(shape, dtype, name=n) for n in ("x", "head"))
    y = nn.softmax(x)
    return manifest_of([x, head], [y, *ted.differentiate(y, [x], head)])


@pytest.mark.parametrize("length", [1024, 8192])
def test_elements_of_a_row_stay_in_registers(length: int) -> None:
    ptx = program((8, length)).ptx
    # What goes through shared memory are the totals of warps: of a maximum and two sums.
    assert ptx.count("bar.sync") == ptx.count("st.shared") == 3
    assert ".local" not in ptx
    # All of the row is loaded once, before anything is stored.
    turns = 2
    assert ptx.count("ld.global") == 2 * turns
    assert ptx.count("st.global") == 2 * turns


def test_rows_of_a_warp_wait_for_nothing() -> None:
    ptx = program((64, 96)).ptx
    assert "bar." not in ptx
    assert ".shared" not in ptx


def test_a_result_that_is_read_again_is_waited_for_if_others_wrote_it() -> None:
    x = ted.placeholder((6, 512), name="x")
    y = nn.softmax(x)
    z = ted.compute((6, 512), lambda i, j: y[i, 511 - j] * x[i, j])
    manifest = manifest_of([x], [y, z])
    a = RNG.standard_normal((6, 512)).astype(np.float32)
    want = softmax(a.astype(np.float64))
    for seed in range(3):
        found = run_manifest(manifest, [a], order="random", seed=seed)
        np.testing.assert_allclose(found[0], want, rtol=1e-5)
        np.testing.assert_allclose(found[1], want[:, ::-1] * a, rtol=1e-5)


@pytest.mark.fast(2)
@pytest.mark.parametrize("order", ["random", "reverse"])
@pytest.mark.parametrize("length", [3, 33, 100, 257, 1000, 1001, 2056])
def test_every_order_of_threads_gives_the_row(length: int, order: str) -> None:
    a, h = (RNG.standard_normal((9, length)).astype(np.float32) for _ in range(2))
    y, dx = run_manifest(program(a.shape), [a, h], order=order, seed=length)
    np.testing.assert_allclose(y, softmax(a.astype(np.float64)), rtol=1e-5)
    want = softmax_gradient(a.astype(np.float64), h.astype(np.float64))
    np.testing.assert_allclose(dx, want, rtol=1e-4, atol=1e-7)


@pytest.mark.fast(1)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("length", [200, 1000])
def test_rows_of_every_type(length: int, dtype: str) -> None:
    a, h = (RNG.standard_normal((4, length)).astype(dtype_of(dtype)) for _ in range(2))
    y, dx = run_manifest(program(a.shape, dtype), [a, h], order="random")
    wide = [v.astype(np.float64) for v in (a, h)]
    tolerance = 1e-12 if dtype == "float64" else 3e-2
    np.testing.assert_allclose(y.astype(np.float64), softmax(wide[0]), rtol=tolerance)
    want = softmax_gradient(*wide)
    np.testing.assert_allclose(dx.astype(np.float64), want, rtol=tolerance, atol=tolerance * 1e-2)


def test_elements_that_other_threads_read_are_shared() -> None:
    x = ted.placeholder((6, 512), name="x")
    e = ted.exp(x - ted.max(x, axis=-1, keepdims=True))
    total = ted.sum(e, axis=-1)
    y = ted.compute((6, 512), lambda i, j: e[i, 511 - j] / total[i])
    a = RNG.standard_normal((6, 512)).astype(np.float32)
    for seed in range(3):
        (got,) = run_manifest(manifest_of([x], [y]), [a], order="random", seed=seed)
        np.testing.assert_allclose(got, softmax(a.astype(np.float64))[:, ::-1], rtol=1e-5)


def test_a_value_of_the_row_is_a_result_as_well() -> None:
    """What goes out is written by one thread, though all need it."""
    x = ted.placeholder((5, 700), name="x")
    top = ted.max(x, axis=-1)
    total = ted.sum(ted.exp(x - ted.reshape(top, (5, 1))), axis=-1)
    y = x - ted.reshape(ted.log(total) + top, (5, 1))
    a = RNG.standard_normal((5, 700)).astype(np.float32)
    found = run_manifest(manifest_of([x], [top, total, y]), [a], order="random")
    wide = a.astype(np.float64)
    sums = np.exp(wide - wide.max(1, keepdims=True)).sum(1)
    np.testing.assert_array_equal(found[0], a.max(1))
    np.testing.assert_allclose(found[1], sums, rtol=1e-5)
    np.testing.assert_allclose(found[2], np.log(softmax(wide)), rtol=1e-4, atol=1e-5)
