"""Running totals, and linear recurrences, whose time many threads share."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from sweeps import swept
from unit.gpu.cuda_programs import manifest_of

pytestmark = pytest.mark.slow  # emulated kernels take long

RNG = np.random.default_rng(31)
Array = np.ndarray[Any, Any]

# one block a row; a few rows of a few chunks; chunks of columns; far apart; too short
SHAPES = [((3, 300), 1), ((9000,), 0), ((200, 64), 0), ((2, 130, 3), 1), ((2, 63), 1)]


def results(inputs: Sequence[Any], outputs: Sequence[Any], arrays: Sequence[Any]) -> list[Array]:
    """The results, whose bits no order of warps changes."""
    manifest = manifest_of(inputs, outputs)
    want = run_manifest(manifest, arrays)
    again = run_manifest(manifest, arrays, order="random", seed=4)
    for found, first in zip(again, want, strict=True):
        assert found.tobytes() == first.tobytes()
    return want


@pytest.mark.parametrize(
    ("shape", "axis", "least"),
    [((10**6,), 0, 1 << 15), ((128, 4096), 1, 1 << 14), ((10**5, 64), 0, 1 << 13)],
)
def test_few_long_rows_keep_the_device_busy(shape: Any, axis: int, least: int) -> None:
    x = ted.placeholder(shape)
    manifest = manifest_of([x], [ted.cumsum(x, axis)])
    assert len(manifest.steps) <= 3
    assert max(prod(k.grid) * prod(k.block) for k in manifest.kernels) >= least


def test_many_columns_have_a_thread_each() -> None:
    x = ted.placeholder((100, 1 << 14))
    manifest = manifest_of([x], [ted.cumsum(x, 0)])
    assert prod(manifest.kernels[-1].grid) * prod(manifest.kernels[-1].block) == 1 << 14


TYPES = ("float32", "float64", "int64", "bfloat16", "int8")
SUMS = [(*shape, dtype) for shape in SHAPES for dtype in TYPES]


@swept(("shape", "axis", "dtype"), SUMS, fast=SUMS[::6] + SUMS[3::6])
def test_running_sums(shape: Any, axis: int, dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    x = ted.placeholder(shape, dtype)
    a = RNG.integers(-2, 3, shape).astype(kind)
    (found,) = results([x], [ted.cumsum(x, axis)], [a])
    np.testing.assert_array_equal(found, np.cumsum(a.astype(np.int64), axis).astype(found.dtype))


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_gradients_of_running_sums_go_back(shape: Any, axis: int) -> None:
    x, head = ted.placeholder(shape), ted.placeholder(shape)
    a = RNG.integers(-9, 9, shape).astype(np.float32)
    (found,) = results([head], ted.differentiate(ted.cumsum(x, axis), [x], head), [a])
    np.testing.assert_array_equal(found, np.flip(np.cumsum(np.flip(a, axis), axis), axis))


PRODUCTS = [(*shape, reverse) for shape in SHAPES for reverse in (False, True)]


@swept(("shape", "axis", "reverse"), PRODUCTS, fast=PRODUCTS[::3] + PRODUCTS[4:5])
def test_running_products_and_their_gradients(shape: Any, axis: int, reverse: bool) -> None:
    x, head = ted.placeholder(shape, "float64"), ted.placeholder(shape, "float64")
    a, c = 1 + RNG.normal(size=shape) / 100, RNG.normal(size=shape)
    y = ted.cumprod(x, axis, reverse)
    found, gradient = results([x, head], [y, *ted.differentiate(y, [x], head)], [a, c])

    def flipped(z: Array) -> Array:
        return np.flip(z, axis) if reverse else z

    want = flipped(np.cumprod(flipped(a), axis))
    np.testing.assert_allclose(found, want, rtol=1e-12)
    back = flipped(np.flip(np.cumsum(np.flip(flipped(want * c), axis), axis), axis)) / a
    np.testing.assert_allclose(gradient, back, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "parts",
    [
        [(0, 1), (3, 300)],
        [(0.1, 30), (10, 67), (0.5, 250), (2, 50)],
        [(2, 99), (np.nan, 1), (0, 9)],
        [(2, 3), (0, 4), (-np.inf, 1), (2, 60)],
        [(2, 3), (-np.inf, 7), (2, 30), (0, 1), (3, 60)],
    ],
    ids=["zero", "range", "nan", "infinity", "infinity before zero"],
)
def test_products_of_stretches_do_not_overflow(parts: Any) -> None:
    a = np.concatenate([np.full(n, v, np.float32) for v, n in parts])
    x = ted.placeholder(a.shape)
    (found,) = results([x], [ted.cumprod(x, 0)], [a])
    with np.errstate(all="ignore"):
        wanted = np.cumprod(a)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.parametrize("columns", [6, 64])
def test_scans_with_other_results_beside_the_total(columns: int) -> None:
    start, x = ted.placeholder((columns,)), ted.placeholder((150, columns))

    def step(total: Any, row: Any) -> Any:
        most = ted.maximum(total, row)
        return most, most * row

    a, b = RNG.normal(size=(150, columns)), RNG.normal(size=columns)
    a[40, 2] = np.nan
    want = np.maximum.accumulate(np.concatenate([b[None], a]))[1:].astype(np.float32)
    arrays = [b.astype(np.float32), a.astype(np.float32)]
    last, rows = results([start, x], list(ted.scan(step, start, x)), arrays)
    np.testing.assert_array_equal(last, want[-1])
    np.testing.assert_array_equal(rows, want * arrays[1])


def linear(factors: Array, terms: Array, start: Array) -> Array:
    """The states of h = a * h + b, the first one included."""
    states = [start]
    for a, b in zip(factors, terms, strict=True):
        states.append(a * states[-1] + b)
    return np.array(states)


@pytest.mark.parametrize("shape", [(100, 6), (300, 64), (2500, 1), (9000,)], ids=str)
def test_linear_recurrences_and_their_gradients(shape: tuple[int, ...]) -> None:
    a, b, head = (ted.placeholder(shape) for _ in range(3))
    start = ted.placeholder(shape[1:])
    _, y = ted.scan(lambda h, x: (x[0] * h + x[1],) * 2, start, (a, b))
    outputs = [y, *ted.differentiate(y, [a, b, start], head)]
    manifest = manifest_of([a, b, start, head], outputs)
    threads = [prod(k.grid) * prod(k.block) for k in manifest.kernels[:-1]]
    assert max(threads) >= min(shape[0], 256)
    arrays = [RNG.uniform(-1, 1, s).astype(np.float32) for s in (shape, shape, shape[1:], shape)]
    factors, terms, first, heads = (x.astype(np.float64) for x in arrays)
    states = linear(factors, terms, first)
    later = np.concatenate([np.zeros((1, *shape[1:])), factors[:0:-1]])
    slopes = linear(later, heads[::-1], np.zeros(shape[1:]))[:0:-1]
    wanted = (states[1:], slopes * states[:-1], slopes, slopes[0] * factors[0])
    for found, want in zip(results([a, b, start, head], outputs, arrays), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_states_of_nothing_do_not_grow() -> None:
    a, b, start = ted.placeholder((1500,)), ted.placeholder((1500,)), ted.placeholder(())
    _, y = ted.scan(lambda h, x: (x[0] * h - x[1],) * 2, start, (a, b))
    terms = np.zeros(1500, np.float32)
    terms[-3:] = 1
    arrays = [np.full(1500, 3, np.float32), terms, np.zeros((), np.float32)]
    (found,) = results([a, b, start], [y], arrays)
    np.testing.assert_array_equal(found, [0] * 1497 + [-1, -4, -13])


@pytest.mark.parametrize("shape", [(100, 6), (300, 64), (2500, 1)], ids=str)
def test_infinite_states_stay_what_they_are_step_by_step(shape: tuple[int, ...]) -> None:
    a, b, start = ted.placeholder(shape), ted.placeholder(shape), ted.placeholder(shape[1:])
    _, y = ted.scan(lambda h, x: (x[0] * h + x[1],) * 2, start, (a, b))
    factors, terms = np.full(shape, 0.5, np.float32), np.ones(shape, np.float32)
    terms[7, 0], factors[50, 0] = -np.inf, 0
    arrays = [factors, terms, np.zeros(shape[1:], np.float32)]
    (found,) = results([a, b, start], [y], arrays)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, linear(*arrays)[1:], rtol=1e-6)


def test_differences_in_turn_are_a_linear_recurrence() -> None:
    start, x = ted.placeholder((3,)), ted.placeholder((100, 3))
    a, b = (RNG.integers(-9, 9, s).astype(np.float32) for s in ((100, 3), (3,)))
    total, rows = b, []
    for row in a:
        total = row - total
        rows.append(total)
    _, y = ted.scan(lambda h, row: (row - h, row - h), start, x)
    (found,) = results([start, x], [y], [b, a])
    np.testing.assert_array_equal(found, rows)
