"""Updates at data by atomic operations, where `deterministic=False` allows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from ted.errors import ExecutionError

RNG = np.random.default_rng(17)
INDICES = RNG.integers(0, 6, 40)
INDICES[::3] = 5


def compiled(inputs: Sequence[Any], output: Any, deterministic: bool = False) -> Any:
    return ted.compile(inputs, [output], target="cuda:sm_80", deterministic=deterministic)


def atomics(function: Any) -> set[str]:
    """The atomic operations of a program, those of the error flag left out."""
    found = set(re.findall(r"\b(?:atom|red)\.\S+", function.ptx))
    return {name for name in found if ".cas." not in name}


def result(inputs: Sequence[Any], output: Any, arrays: Sequence[Any], kind: str) -> np.ndarray:
    """The result by atomic operations of one kind; without the option there are none."""
    free, fixed = compiled(inputs, output), compiled(inputs, output, deterministic=True)
    assert atomics(free) == {f"atom.global.{kind}"}
    assert not atomics(fixed)
    assert not atomics(ted.compile(inputs, [output], target="cuda:sm_80"))
    (first,), (other,) = (
        run_manifest(free.manifest, arrays, order=order, seed=3) for order in ("lockstep", "random")
    )
    (want,) = run_manifest(fixed.manifest, arrays)
    for found in (first, other):
        np.testing.assert_allclose(found, want, rtol=0, atol=4e-6 * (want.dtype.kind == "f"))
    return other


def test_the_gradient_of_an_embedding() -> None:
    index, table = ted.placeholder((40,), "int64", name="index"), ted.placeholder((6, 3))
    head = ted.placeholder((40, 3), name="head")
    (gradient,) = ted.differentiate(ted.nn.embedding(table, index), [table], head)
    a = RNG.standard_normal((40, 3)).astype(np.float32)
    want = np.zeros((6, 3))
    np.add.at(want, INDICES, a)
    found = result([index, head], gradient, [INDICES, a], "add.f32")
    np.testing.assert_allclose(found, want, atol=1e-5, rtol=0)
    (kernel,) = [k for k in compiled([index, head], gradient).manifest.kernels if k.params[1:]]
    assert kernel.grid[0] * kernel.block[0] >= 40 * 3, "a thread for each value"


def test_a_histogram() -> None:
    x = ted.placeholder((300,), name="x")
    a = RNG.random(300).astype(np.float32)
    found = result([x], ted.histogram(x, 7, 0.0, 1.0), [a], "add.u64")
    np.testing.assert_array_equal(found, np.histogram(a, 7, (0, 1))[0])


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("float32", "add.f32"), ("float64", "add.f64"), ("int32", "add.u32"), ("int64", "add.u64")],
)
def test_sums_of_segments(dtype: str, kind: str) -> None:
    index, x = ted.placeholder((40,), "int64", name="index"), ted.placeholder((40, 2), dtype)
    a = RNG.integers(-9, 9, (40, 2)).astype(dtype)
    want = np.zeros((6, 2), dtype)
    np.add.at(want, INDICES, a)
    found = result([index, x], ted.segment_sum(x, index, 6), [INDICES, a], kind)
    np.testing.assert_array_equal(found, want)


@pytest.mark.fast(1)
@pytest.mark.parametrize("combine", ["max", "min"])
@pytest.mark.parametrize(("dtype", "bits"), [("int32", 32), ("int64", 64)])
def test_extremes_of_integers(combine: str, dtype: str, bits: int) -> None:
    index, x = ted.placeholder((40,), "int64", name="index"), ted.placeholder((40,), dtype)
    a = RNG.integers(-90, 90, 40).astype(dtype)
    best = ted.scatter((6,), index, x, combine, init=0)
    want = np.zeros(6, dtype)
    {"max": np.maximum, "min": np.minimum}[combine].at(want, INDICES, a)
    found = result([index, x], best, [INDICES, a], f"{combine}.s{bits}")
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_indices_outside_that_are_allowed(mode: str) -> None:
    index, x = ted.placeholder((5,), "int64", name="index"), ted.placeholder((5,), name="x")
    i, a = np.array([-3, 0, 2, 7, 2]), np.arange(1, 6, dtype=np.float32)
    found = result([index, x], ted.scatter((3,), index, x, mode=mode), [i, a], "add.f32")
    np.testing.assert_array_equal(found, [3, 0, 12] if mode == "clip" else [2, 0, 8])


def test_a_bad_index_is_reported() -> None:
    index, x = ted.placeholder((5,), "int64", name="index"), ted.placeholder((5,), name="x")
    function = compiled([index, x], ted.scatter((3,), index, x))
    assert atomics(function) == {"atom.global.add.f32"}
    with pytest.raises(ExecutionError, match="scatter has extent 3 in dim 0, got index 7"):
        run_manifest(function.manifest, [np.array([0, 1, 7, 1, 2]), np.ones(5, np.float32)])


def test_sums_of_half_precision_are_single_precision_until_the_end() -> None:
    index, x = ted.placeholder((40,), "int64", name="index"), ted.placeholder((40,), "float16")
    a = RNG.integers(-9, 9, 40).astype(np.float16)
    want = np.zeros(6)
    np.add.at(want, INDICES, a)
    found = result([index, x], ted.segment_sum(x, index, 6), [INDICES, a], "add.f32")
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("dtype", "combine"), [("float32", "max"), ("float64", "min"), ("int8", "max")]
)
def test_what_hardware_lacks_keeps_its_owners(dtype: str, combine: str) -> None:
    index, x = ted.placeholder((5,), "int64", name="index"), ted.placeholder((5,), dtype)
    total = ted.scatter((3,), index, x, combine)
    function = compiled([index, x], total)
    assert function.ptx == compiled([index, x], total, deterministic=True).ptx
    values = np.arange(5).astype(dtype)
    (found,) = run_manifest(function.manifest, [np.array([0, 1, 2, 1, 2]), values])
    np.testing.assert_array_equal(found, [0, 3, 4] if combine == "max" else [0, 1, 2])


def test_affine_gradients_have_no_atomics() -> None:
    x, w = ted.placeholder((1, 6, 6, 2), name="x"), ted.placeholder((3, 3, 2, 2), name="w")
    y = ted.nn.conv2d(x, w, stride=2)
    head = ted.placeholder(y.shape, name="head")
    gradients = ted.differentiate(y, [x, w], head)
    function = ted.compile([x, w, head], gradients, target="cuda:sm_80", deterministic=False)
    assert not atomics(function)


def test_functions_carry_the_wish() -> None:
    def loss(table: Any, index: Any) -> Any:
        return ted.sum(ted.tanh(ted.take(table, index, axis=0)))

    arrays = (np.ones((6, 3), np.float32), INDICES)
    free = ted.function(loss, target="cuda:sm_80", deterministic=False)
    add = {"atom.global.add.f32"}
    for function in (
        ted.grad(free),
        ted.grad(loss, target="cuda:sm_80", deterministic=False),
        ted.function(ted.grad(ted.function(loss, "cuda:sm_80")), deterministic=False),
    ):
        assert atomics(function.compiled(*arrays)) == add
    assert not atomics(ted.grad(free, deterministic=True).compiled(*arrays))
    assert ted.function(free) is free
    assert ted.function(free, deterministic=False) is free
    x, i = ted.placeholder((6, 3), name="x"), ted.placeholder((40,), "int64", name="i")
    both = ted.forward_backward(
        ted.take(x, i, axis=0), [x, i], target="cuda:sm_80", deterministic=False
    )
    assert atomics(both.second) == add


def test_stages_and_the_cpu_take_it() -> None:
    index, x = ted.placeholder((5,), "int64", name="index"), ted.placeholder((5,), name="x")
    total = ted.scatter((3,), index, x)
    assert "memref.atomic_rmw" in compiled([index, x], total).ir("gpu")
    assert "memref.atomic_rmw" not in compiled([index, x], total, deterministic=True).ir("gpu")
    fixed, free = (ted.compile([index, x], [total], deterministic=d) for d in (True, False))
    assert fixed.ir("llvm") == free.ir("llvm")
