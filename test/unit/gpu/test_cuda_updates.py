"""Updates at data in a fixed order: private copies of few elements, chains of updates of many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from support.in_process import compile_here
from support.ptx_programs import run_manifest
from sweeps import swept
from ted.errors import ExecutionError
from ted.gpu import privatised_accumulators, update_lists

pytestmark = pytest.mark.slow  # emulated kernels take long

RNG = np.random.default_rng(29)
COMBINE = {"add": np.add, "max": np.maximum, "min": np.minimum}
Array = np.ndarray[Any, Any]


def compiled(inputs: Sequence[Any], output: Any) -> Any:
    function = ted.compile(inputs, [output], target="cuda:sm_80")
    assert not re.search(r"\b(?:atom|red)\.(?!\S*cas)", function.ptx)
    return function


def result(inputs: Sequence[Any], output: Any, arrays: Sequence[Any]) -> Array:
    """The result, whose bits no order of warps changes."""
    manifest = compiled(inputs, output).manifest
    (want,) = run_manifest(manifest, arrays)
    for order in ("random", "reverse"):
        (found,) = run_manifest(manifest, arrays, order=order, seed=2)
        assert found.tobytes() == want.tobytes()
    return want


def indices(count: int, bins: int) -> Array:
    found = RNG.integers(0, bins, count)
    found[::3] = bins - 1
    return found


def test_many_updates_of_few_elements_keep_the_device_busy() -> None:
    index, x = ted.placeholder((10**6,), "int64"), ted.placeholder((10**6,))
    manifest = compiled([index, x], ted.segment_sum(x, index, 1000)).manifest
    threads = [k.grid[0] * k.block[0] for k in manifest.kernels]
    assert max(threads) > 1 << 16
    assert manifest.arena_bytes < 4 << 20


def test_few_updates_of_many_elements_have_a_thread_each() -> None:
    index, head = ted.placeholder((8192,), "int64"), ted.placeholder((8192, 768))
    table = ted.placeholder((50000, 768))
    (gradient,) = ted.differentiate(ted.nn.embedding(table, index), [table], head)
    manifest = compiled([index, head], gradient).manifest
    assert manifest.kernels[-1].grid[0] * manifest.kernels[-1].block[0] == 8192 * 768 / 8
    assert manifest.arena_bytes <= 2 * 8 * 8192
    assert len(manifest.kernels) == 6  # zeros, sorted runs of 256, 1024, 4096 and 16384, updates


# updates, elements, columns: one block; two kernels; wide rows; chains
FORMS = [(300, 5, ()), (2600, 70, (2,)), (300, 9, (33,)), (270, 200, ()), (260, 150, (3, 2))]


COMBINATIONS = [("float32", "add"), ("float64", "max"), ("int64", "add"), ("bfloat16", "add"),
                ("bfloat16", "min"), ("int8", "max")]  # fmt: skip
UPDATES = [(form, *combination) for form in FORMS for combination in COMBINATIONS]


# Every form with two combinations, every combination with one form or two.
@swept(("form", "dtype", "combine"), UPDATES, fast=UPDATES[::7] + UPDATES[3::7])
def test_elements_get_all_that_is_meant_for_them(form: Any, dtype: str, combine: str) -> None:
    count, bins, columns = form
    index = ted.placeholder((count,), "int64", name="index")
    x = ted.placeholder((count, *columns), dtype, name="x")
    i, a = indices(count, bins), RNG.integers(-4, 4, (count, *columns))
    want = np.full((bins, *columns), 3)
    COMBINE[combine].at(want, i, a)
    total = ted.scatter((bins, *columns), index, x, combine, init=3)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    found = result([index, x], total, [i, a.astype(kind)])
    np.testing.assert_array_equal(found, want.astype(kind))


@pytest.mark.parametrize("bins", [1, 2, 400])
def test_all_updates_may_meet_at_one_element(bins: int) -> None:
    index, x = ted.placeholder((333,), "int64"), ted.placeholder((333,))
    a = RNG.standard_normal(333).astype(np.float32)
    want = np.zeros(bins)
    want[bins // 2] = a.sum(dtype=np.float64)
    total = ted.segment_sum(x, index, bins)
    found = result([index, x], total, [np.full(333, bins // 2), a])
    np.testing.assert_allclose(found, want, atol=1e-4)


@pytest.mark.parametrize(("count", "columns"), [(256, ()), (700, (40,)), (1300, ())])
def test_chains_add_in_the_order_of_the_program(
    count: int, columns: tuple[int, ...], monkeypatch: Any
) -> None:
    compile_here(monkeypatch)
    monkeypatch.setattr(update_lists, "LEAST", 200)
    monkeypatch.setattr(update_lists, "MANY", 2400)
    index, x = ted.placeholder((count,), "int64"), ted.placeholder((count, *columns))
    i, a = indices(count, 900), RNG.standard_normal((count, *columns)).astype(np.float32)
    want = np.zeros((900, *columns), np.float32)
    np.add.at(want, i, a)
    found = result([index, x], ted.segment_sum(x, index, 900), [i, a])
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("bins", "columns"), [(90, ()), (21, (40,))])
def test_copies_that_do_not_fit_are_cut(bins: int, columns: Any, monkeypatch: Any) -> None:
    compile_here(monkeypatch)
    monkeypatch.setattr(privatised_accumulators, "SHARED_BUDGET", 1024 if columns else 128)
    index, x = ted.placeholder((500,), "int64"), ted.placeholder((500, *columns))
    i, a = indices(500, bins), RNG.integers(-9, 9, (500, *columns)).astype(np.float32)
    want = np.zeros((bins, *columns))
    np.add.at(want, i, a)
    found = result([index, x], ted.segment_sum(x, index, bins), [i, a])
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("bins", [6, 500])
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_indices_outside_that_are_allowed(bins: int, mode: str) -> None:
    index, x = ted.placeholder((300,), "int64"), ted.placeholder((300,), "int64")
    base = ted.placeholder((bins,), "int64")
    i, a = RNG.integers(-3, bins + 3, 300), RNG.integers(-9, 9, 300)
    i[7], i[8] = 2**32, -(2**40)
    old = RNG.integers(-9, 9, bins)
    inside = (i >= 0) & (i < bins) | (mode == "clip")
    want = old.copy()
    np.add.at(want, np.clip(i, 0, bins - 1)[inside], a[inside])
    total = ted.scatter((bins,), index, x, init=base, mode=mode)
    np.testing.assert_array_equal(result([index, x, base], total, [i, a, old]), want)


@pytest.mark.parametrize("bins", [6, 500])
def test_a_bad_index_is_reported(bins: int) -> None:
    index, x = ted.placeholder((300,), "int64"), ted.placeholder((300, 2))
    manifest = compiled([index, x], ted.segment_sum(x, index, bins)).manifest
    i = indices(300, bins)
    i[123] = -5
    with pytest.raises(ExecutionError, match=f"extent {bins} in dim 0, got index -5"):
        run_manifest(manifest, [i, np.ones((300, 2), np.float32)], order="random")


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 40), (17, 30, 2)])
def test_several_indices_and_rows_of_them(shape: tuple[int, int, int]) -> None:
    first, second = (ted.placeholder((30, 11), "int64") for _ in range(2))
    x = ted.placeholder((30, 11, shape[2]))
    i, j = (RNG.integers(0, e, (30, 11)) for e in shape[:2])
    a = RNG.integers(-9, 9, (30, 11, shape[2])).astype(np.float32)
    want = np.zeros(shape)
    np.add.at(want, (i, j), a)
    found = result([first, second, x], ted.scatter(shape, (first, second), x), [i, j, a])
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("rows", "bins"), [(4, 20), (40, 500)])
def test_indices_along_rows(rows: int, bins: int) -> None:
    index, x = ted.placeholder((300,), "int64"), ted.placeholder((rows, 300))
    base = ted.placeholder((rows, bins))
    i, a = indices(300, bins), RNG.integers(-9, 9, (rows, 300)).astype(np.float32)
    old = RNG.integers(-9, 9, (rows, bins)).astype(np.float32)
    want = old.copy()
    for k in range(rows):
        np.add.at(want[k], i, a[k])
    found = result([base, index, x], ted.index_add(base, 1, index, x), [old, i, a])
    np.testing.assert_array_equal(found, want)


def test_indices_that_differ_between_columns() -> None:
    table, head = ted.placeholder((90, 5)), ted.placeholder((300, 5))
    index = ted.placeholder((300, 5), "int64")
    rows = ted.compute((300, 5), lambda i, j: table[index[i, j], j])
    (gradient,) = ted.differentiate(rows, [table], head)
    i, a = RNG.integers(0, 90, (300, 5)), RNG.integers(-9, 9, (300, 5)).astype(np.float32)
    want = np.zeros((90, 5))
    for k in range(5):
        np.add.at(want[:, k], i[:, k], a[:, k])
    np.testing.assert_array_equal(result([index, head], gradient, [i, a]), want)


@pytest.mark.parametrize("count", [0, 1, 2, 31, 33, 257])
def test_histograms_of_any_size(count: int) -> None:
    x = ted.placeholder((count,))
    a = (RNG.random(count) * 1.2 - 0.1).astype(np.float32)
    found = result([x], ted.histogram(x, 7, 0.0, 1.0), [a])
    np.testing.assert_array_equal(found, np.histogram(a, 7, (0, 1))[0])


def test_a_maximum_keeps_what_is_no_number() -> None:
    index, x = ted.placeholder((64,), "int64"), ted.placeholder((64,))
    a = np.arange(64, dtype=np.float32)
    a[20] = np.nan
    found = result([index, x], ted.scatter((3,), index, x, "max"), [np.arange(64) % 3, a])
    np.testing.assert_array_equal(found, [63, 61, np.nan])
