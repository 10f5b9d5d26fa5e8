"""How long kernels take: which there are, what they are given, and numbers that fit together."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.api.profiles import KernelTime, Profile
from ted.errors import CompileError, ExecutionError, FrontendError

RNG = np.random.default_rng(0)
A, B = (RNG.normal(size=shape).astype("float32") for shape in ((64, 48), (48, 32)))


def layer(a: ted.Tensor, b: ted.Tensor) -> ted.Tensor:
    return ted.nn.softmax(a @ b)


def test_each_kernel_has_its_tensor_its_line_and_its_work() -> None:
    function = ted.function(layer)
    product, softmax = function.profile(A, B).kernels
    assert (product.tensor, softmax.tensor) == ("matmul", "div")
    assert product.place.startswith("test_profiles.py:")
    assert product.nbytes == 4 * (64 * 48 + 48 * 32 + 64 * 32)
    assert product.operations == 2 * 64 * 48 * 32
    # Of each row: maxima, differences, exponentials, sums, quotients.
    assert softmax.operations == 5 * 64 * 32
    assert softmax.nbytes >= 4 * 64 * 32


def test_times_of_kernels_are_within_those_of_calls() -> None:
    found = ted.function(layer).profile(A, B, repeats=5)
    assert all(one.seconds > 0 for one in found.kernels)
    assert sum(one.seconds for one in found.kernels) < 2 * found.seconds


@pytest.mark.parametrize("threads", ["", ",threads=2"])
def test_what_is_timed_computes_the_same(threads: str) -> None:
    a, b = (ted.placeholder(x.shape, "float32", name=n) for x, n in ((A, "a"), (B, "b")))
    compiled = ted.compile([a, b], [layer(a, b), a + 1.0], target=f"cpu{threads}")
    *results, times = compiled._timed.call(A, B)
    for found, want in zip(results, compiled(A, B), strict=True):
        np.testing.assert_array_equal(found, want)
    rows = times.reshape(len(compiled.profile(A, B, repeats=1).kernels), 3)
    assert (np.diff(rows[:, :2].ravel()) >= 0).all()
    assert not rows[:, 2].any()


def test_equal_kernels_are_timed_one_by_one() -> None:
    a = ted.placeholder((300, 300), "float32", name="a")
    compiled = ted.compile([a], a @ a @ a)
    x = np.ones((300, 300), "float32")
    assert [one.tensor for one in compiled.profile(x).kernels] == ["matmul", "matmul_1"]


def test_an_index_out_of_range_is_an_error_as_in_a_call() -> None:
    a, i = ted.placeholder((8,), "float32", name="a"), ted.placeholder((3,), "int64", name="i")
    compiled = ted.compile([a, i], ted.take(a, i, axis=0) + 1.0)
    with pytest.raises(ExecutionError, match="tensor a has extent 8 in dim 0, got index 9"):
        compiled.profile(np.ones(8, "float32"), np.array([0, 9, 1]))


def test_a_profile_is_a_table() -> None:
    kernel = KernelTime("y", "model.py:3", 2e-3, 4_000_000, 8_000_000)
    assert str(Profile((kernel,), 3e-3)).splitlines() == [
        "   2.0000 ms     2.00 GB/s     4.00 GF/s  y (model.py:3)",
        "   1.0000 ms of 3.0000 in no kernel",
    ]


def test_what_has_no_kernels_to_time_is_refused() -> None:
    function = ted.function(layer)
    with pytest.raises(ExecutionError, match="repeats is a number from 1 on, got 0"):
        function.profile(A, B, repeats=0)
    with pytest.raises(FrontendError, match="too many positional arguments"):
        function.profile(A, B, B)
    with pytest.raises(CompileError, match="profile: kernels of programs of fixed sizes are timed"):
        ted.function(layer, batch=0).profile(A, B)


def test_kernels_of_a_gpu_are_timed_by_its_events() -> None:
    function = ted.function(layer, target="cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        a, b = map(ted.cuda.asarray, (A, B))
        product, softmax = function.profile(a, b, repeats=2).kernels
        compiled = function.compiled(a, b)
    assert [product.tensor, softmax.tensor] == [k.name for k in compiled.manifest.kernels]
    assert product.nbytes == 4 * (64 * 48 + 48 * 32 + 64 * 32)
    assert (product.seconds, softmax.seconds) == (1e-3, 1e-3)  # emulated events are so far apart


def test_launches_of_one_kernel_on_a_gpu_are_added() -> None:
    function = ted.function(lambda a: ted.linalg.matrix_power(a, 9), target="cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        found = function.profile(ted.cuda.asarray(np.eye(4, dtype="float32")), repeats=1)
    assert [one.seconds for one in found.kernels] == pytest.approx([3e-3, 1e-3])
    assert found.seconds == pytest.approx(4e-3)
    assert str(found).startswith("   3.0000 ms     0.00 GB/s  matmul_")
