"""Sizes and types at which kernels take another form, against numpy float64."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from ted import nn
from ted.errors import ExecutionError
from unit.gpu.cuda_programs import dtype_of, manifest_of, run

RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def same(found, want, tolerance: float = 2e-6) -> None:
    want = np.asarray(want, np.float64)
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(np.asarray(found, np.float64), want, atol=tolerance * scale, rtol=0)


def test_long_maps_move_vectors() -> None:
    x = ted.placeholder((64, 256), name="x")
    manifest = manifest_of([x], [x * 2 + 1])
    assert "ld.global.nc.v4" in manifest.ptx
    assert "st.global.v4" in manifest.ptx
    a = normal(64, 256)
    same(run([x], [x * 2 + 1], [a])[0], a * 2 + 1)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3, 40), 1), ((3, 2000), 1), ((70000,), 0), ((300, 5), 0), ((5, 7, 300), (0, 2)),
     ((40000, 2), 0), ((2, 3, 4), 1), ((1, 33), 1)],
)  # fmt: skip
def test_sums_of_every_form(shape, axis) -> None:
    x = ted.placeholder(shape, name="x")
    a = normal(*shape).astype(np.float32)
    same(run([x], [ted.sum(x, axis=axis)], [a])[0], a.astype(np.float64).sum(axis), 1e-5)


@pytest.mark.fast(2)
@pytest.mark.parametrize("combine", ["max", "min", "prod", "argmax", "argmin", "any", "all"])
def test_reductions_of_every_combiner(combine: str) -> None:
    is_bool = combine in ("any", "all")
    x = ted.placeholder((4, 100), "bool" if is_bool else "float32", name="x")
    a = normal(4, 100) > 2 if is_bool else normal(4, 100).astype(np.float32) / 4 + 1
    found = run([x], [getattr(ted, combine)(x, axis=1)], [a])[0]
    same(found, getattr(np, combine)(a.astype(np.float64), axis=1), 1e-5)


def test_sums_in_a_fixed_order_are_the_same_for_all_orders_of_threads() -> None:
    x = ted.placeholder((20000,), name="x")
    manifest = manifest_of([x], [ted.sum(x)])
    a = normal(20000).astype(np.float32)
    first = run_manifest(manifest, [a])
    other = run_manifest(manifest, [a], order="random", seed=3)
    assert first[0].tobytes() == other[0].tobytes()


@pytest.mark.parametrize("shape", [(40, 50), (33, 64), (3, 20, 70)])
def test_transposes_go_through_tiles(shape) -> None:
    x, b = ted.placeholder(shape, name="x"), ted.placeholder(shape[-1:], name="b")
    y = ted.swapaxes(x, -1, -2) * 2 + ted.reshape(b, (-1, 1))
    assert ".shared" in manifest_of([x, b], [y]).ptx
    a, c = normal(*shape), normal(shape[-1])
    same(run([x, b], [y], [a, c])[0], np.swapaxes(a, -1, -2) * 2 + c.reshape(-1, 1))


@pytest.mark.fast(3)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    "shape",
    [(4, 700), (700, 4), (3, 513), (513, 3), (2, 1000), (8, 3, 5, 40), (3, 300, 7), (15, 90)],
)
def test_transposes_with_a_short_side_go_through_tiles(shape, dtype: str) -> None:
    from support.ptx_programs import run_manifest

    x = ted.placeholder(shape, dtype, name="x")
    manifest = manifest_of([x], [ted.transpose(x)])
    a = RNG.integers(-9, 9, shape).astype(dtype_of(dtype))
    for order in ("lockstep", "random"):
        (found,) = run_manifest(manifest, [a], order=order)
        np.testing.assert_array_equal(found, a.T)
    if dtype == "float32" and len(shape) == 2:
        assert ".shared" in manifest.ptx


def test_short_rows_take_a_warp_each() -> None:
    x = ted.placeholder((21, 40), name="x")
    (kernel,) = manifest_of([x], [nn.softmax(x)]).kernels
    assert kernel.grid[0] < 21
    a = normal(21, 40).astype(np.float32)
    e = np.exp(a.astype(np.float64) - a.max(1, keepdims=True))
    same(run([x], [nn.softmax(x)], [a])[0], e / e.sum(1, keepdims=True))


@pytest.mark.fast(1)
@pytest.mark.parametrize("length", [7, 300, 9000])
def test_rows_are_one_kernel(length: int) -> None:
    x = ted.placeholder((3, length), name="x")
    y = nn.softmax(x)
    assert len(manifest_of([x], [y]).kernels) == 1
    a = normal(3, length).astype(np.float32)
    e = np.exp(a.astype(np.float64) - a.max(1, keepdims=True))
    same(run([x], [y], [a])[0], e / e.sum(1, keepdims=True))


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float64", 1e-13), ("float32", 2e-6), ("float16", 1e-3), ("bfloat16", 1e-2), ("int64", 0),
     ("int32", 0), ("int8", 0)],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(5, 7, 3), (48, 40, 56)])
def test_matrix_products_of_every_type(dtype: str, tolerance: float, shape) -> None:
    m, k, n = shape
    a, b = ted.placeholder((m, k), dtype, name="a"), ted.placeholder((k, n), dtype, name="b")
    whole = dtype.startswith("int")
    x, y = ((RNG.integers(-2, 2, s) if whole else normal(*s)) for s in ((m, k), (k, n)))
    x, y = x.astype(dtype_of(dtype)), y.astype(dtype_of(dtype))
    want = x.astype(np.float64) @ y.astype(np.float64)
    same(run([a, b], [a @ b], [x, y])[0], want, tolerance)


def test_arithmetic_of_bools_and_small_integers() -> None:
    x = ted.placeholder((40,), "int8", name="x")
    y = ted.placeholder((40,), "bool", name="y")
    a, b = RNG.integers(-100, 100, 40).astype(np.int8), normal(40) > 0
    found = run([x, y], [x + x, ted.where(y, x, -x), ted.logical_not(y), x // 7, x % 7], [a, b])
    for got, want in zip(found, [a + a, np.where(b, a, -a), ~b, a // 7, a % 7], strict=True):
        np.testing.assert_array_equal(got, want)


def gathered(table, index):
    return ted.compute((4, 3), lambda i, j: table[index[i], j], name="rows")


def test_a_bad_index_is_reported_and_not_used() -> None:
    table = ted.placeholder((10, 3), name="table")
    index = ted.placeholder((4,), "int64", name="index")
    rows = gathered(table, index)
    a = normal(10, 3).astype(np.float32)
    same(run([table, index], [rows], [a, np.array([0, 9, 3, 3])])[0], a[[0, 9, 3, 3]])
    with pytest.raises(ExecutionError, match="tensor table has extent 10 in dim 0, got index 12"):
        run([table, index], [rows], [a, np.array([0, 12, 3, 3])])


def test_scatters_add_in_order_without_atomics() -> None:
    index = ted.placeholder((4,), "int64", name="index")
    table, head = ted.placeholder((10, 3), name="table"), ted.placeholder((4, 3), name="head")
    (gradient,) = ted.differentiate(gathered(table, index), [table], head=head)
    manifest = manifest_of([index, head], [gradient])
    assert "atom.global.add" not in manifest.ptx
    assert "red." not in manifest.ptx.replace("shared.", "")
    a, i = normal(4, 3).astype(np.float32), np.array([2, 9, 2, 2])
    want = np.zeros((10, 3))
    np.add.at(want, i, a)
    same(run([index, head], [gradient], [i, a])[0], want)


@pytest.mark.fast(1)
@pytest.mark.parametrize("mode", ["check", "clip", "drop", "unchecked"])
@pytest.mark.parametrize("columns", [0, 5])
def test_scattered_sums_have_owners(columns: int, mode: str) -> None:
    shape = (700, columns) if columns else (700,)
    index = ted.placeholder((90,), "int64", name="index")
    values = ted.placeholder((90, *shape[1:]), name="values")
    total = ted.scatter(shape, index, values, combine="add", mode=mode)
    (kernel,) = [k for k in manifest_of([index, values], [total]).kernels if k.params[1:]]
    assert kernel.grid[0] * kernel.block[0] >= 250 * max(1, columns)
    i, a = RNG.integers(0, 700, 90), normal(90, *shape[1:]).astype(np.float32)
    i[::4] = 699
    want = np.zeros(shape)
    np.add.at(want, i, a)
    same(run([index, values], [total], [i, a])[0], want)


def test_buffers_of_different_times_share_memory() -> None:
    x = ted.placeholder((40, 40), name="x")
    y = x
    for _ in range(4):
        y = y @ x
    manifest = manifest_of([x], [y])
    assert len(manifest.buffers) == 3
    assert manifest.arena_bytes < sum(b.bytes for b in manifest.buffers)


@pytest.mark.fast(2)
@pytest.mark.parametrize("order", ["random", "reverse"])
@pytest.mark.parametrize("shape", [(300, 2), (1001, 3), (97, 33), (2048, 40), (64, 500), (5000, 1)])
def test_sums_over_columns_in_every_order_of_threads(shape, order) -> None:
    """Lines of a block share the points of a column; their totals meet in a fixed tree."""
    x = ted.placeholder(shape, name="x")
    manifest = manifest_of([x], [ted.sum(x, axis=0), ted.max(x * 2, axis=0)])
    a = normal(*shape).astype(np.float32)
    total, most = run_manifest(manifest, [a], order=order, seed=1)
    same(total, a.astype(np.float64).sum(0), 1e-4)
    np.testing.assert_array_equal(most, (a * 2).max(0))
    again = run_manifest(manifest, [a])
    assert again[0].tobytes() == total.tobytes()


def test_columns_of_many_points_keep_a_large_gpu_busy() -> None:
    x = ted.placeholder((16384, 1024), name="x")
    first, second = manifest_of([x], [ted.sum(x, axis=0)]).kernels
    assert first.grid[0] * first.block[0] == 1 << 18
    assert second.grid[0] * second.block[0] == 1024
