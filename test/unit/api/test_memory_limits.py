"""`memory_limit=`: a call holds no more, numbers are the same, and what cannot be kept says so."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.api.memory_limits import ATTEMPTS, SHARES, stages_within
from ted.api.memory_timelines import RESULT, TEMPORARY, Buffer, MemoryTimeline, Step
from ted.api.options import compile_options
from ted.cpu.pipeline import Held
from ted.errors import CompileError

LAYERS = 6
RNG = np.random.default_rng(0)
ARRAYS = [RNG.normal(size=(512, 64)), *(0.2 * RNG.normal(size=(64, 64)) for _ in range(LAYERS))]
ONE = "cpu,threads=1"


def loss(x: ted.Tensor, *weights: ted.Tensor) -> ted.Tensor:
    for weight in weights:
        x = ted.tanh(x @ weight)
    return ted.sum(x**2)


gradient = ted.grad(loss, argnums=tuple(range(1, LAYERS + 1)))


def in_numpy() -> list[np.ndarray]:
    """The gradients by hand."""
    values = [ARRAYS[0]]
    for weight in ARRAYS[1:]:
        values.append(np.tanh(values[-1] @ weight))
    adjoint, found = 2 * values[-1], []
    for k in reversed(range(LAYERS)):
        adjoint = adjoint * (1 - values[k + 1] ** 2)
        found.insert(0, values[k].T @ adjoint)
        adjoint = adjoint @ ARRAYS[k + 1].T
    return found


@pytest.mark.slow
def test_a_call_holds_no_more_than_the_limit_and_gives_the_same_numbers() -> None:
    free = ted.function(gradient, target=ONE)
    wanted = free(*ARRAYS)
    for found, right in zip(wanted, in_numpy(), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)
    most = free.compiled(*ARRAYS).peak_bytes
    for limit in (most, int(0.9 * most), int(0.7 * most)):
        bounded = ted.function(gradient, target=f"{ONE},memory_limit={limit}")
        for found, right in zip(bounded(*ARRAYS), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)
        compiled = bounded.compiled(*ARRAYS)
        assert compiled.peak_bytes == compiled.memory().peak_bytes <= limit
    assert "is made in blocks of" in compiled.explain()


@pytest.mark.slow
def test_second_derivatives_keep_to_a_limit_too() -> None:
    def slope(*arrays: ted.Tensor) -> ted.Tensor:
        return ted.sum(ted.grad(loss, argnums=1)(*arrays) ** 2)

    arrays = [array / 2 for array in ARRAYS[:5]]
    free = ted.function(ted.grad(slope, argnums=(1, 2)), target=ONE)
    wanted = free(*arrays)
    limit = int(0.9 * free.compiled(*arrays).peak_bytes)
    bounded = ted.function(ted.grad(slope, argnums=(1, 2)), target=f"{ONE},memory_limit={limit}")
    for found, right in zip(bounded(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)
    assert bounded.compiled(*arrays).peak_bytes <= limit


def convolutions(x: ted.Tensor, *kernels: ted.Tensor) -> ted.Tensor:
    for kernel in kernels:
        x = ted.nn.relu(ted.nn.conv2d(x, kernel, padding=1))
    return ted.sum(x * x)


def test_convolutions_whose_padded_inputs_are_held_keep_to_a_limit() -> None:
    kernels = [0.1 * RNG.normal(size=(3, 3, 8, 8)) for _ in range(4)]
    arrays = [RNG.normal(size=(1, 32, 32, 8)), *kernels]
    step = ted.grad(convolutions, argnums=(1, 2, 3, 4))
    free = ted.function(step, target=ONE)
    wanted = free(*arrays)
    limit = int(0.7 * free.compiled(*arrays).peak_bytes)
    bounded = ted.function(step, target=f"{ONE},memory_limit={limit}")
    for found, right in zip(bounded(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)
    compiled = bounded.compiled(*arrays)
    assert compiled.peak_bytes <= limit
    assert "ted.recomputed" in compiled.ir("ted")


def by_hand(z: ted.Tensor, axis: int) -> ted.Tensor:
    return ted.exp(z - ted.max(z, axis=axis, keepdims=True))


def both_ways(x: ted.Tensor, y: ted.Tensor) -> list[ted.Tensor]:
    z = x @ ted.matrix_transpose(y)
    return [ted.sum(by_hand(z, axis)) for axis in (-2, -1)]


def positions(x: ted.Tensor, y: ted.Tensor) -> ted.Tensor:
    return ted.argmin(x @ ted.matrix_transpose(y), axis=1)


def of_a_batch(x: ted.Tensor) -> ted.Tensor:
    return ted.nn.softmax(x @ ted.matrix_transpose(x)) @ x


@pytest.mark.parametrize(
    ("function", "shapes", "limit"),
    [
        (both_ways, [(317, 4), (211, 4)], 70_000),  # loops one behind the other, none taken apart
        (both_ways, [(317, 4), (211, 4)], 270_000),
        (both_ways, [(2, 317, 4), (2, 211, 4)], 150_000),  # nor along the batch, where one does
        (positions, [(40_000, 4), (50, 4)], 400_000),  # so many take 320,000, and so do values
        (of_a_batch, [(3, 180, 4)], 80_000),  # along rows: scores of one matrix take 259,200 bytes
    ],
)
def test_what_is_large_is_never_whole(function, shapes, limit: int) -> None:
    arrays = [RNG.normal(size=shape) for shape in shapes]
    bounded = ted.function(function, target=ONE, memory_limit=limit)
    assert bounded.compiled(*arrays).peak_bytes <= limit
    wanted = ted.tree.leaves(ted.function(function, target=ONE)(*arrays))
    for found, right in zip(ted.tree.leaves(bounded(*arrays)), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.slow
def test_a_limit_that_cannot_be_kept_names_the_least_peak_and_who_holds_it() -> None:
    bounded = ted.function(gradient, target=f"{ONE},memory_limit=190000")
    with pytest.raises(CompileError) as told:
        bounded(*ARRAYS)
    text = str(told.value)
    assert "loss: memory_limit is 190000 bytes, the least that was found is " in text
    least = int(text.split("found is ")[1].split(",")[0])
    assert 190000 < least < ted.function(gradient, target=ONE).memory(*ARRAYS).peak_bytes
    assert "of which dweights.0 32768" in text
    assert "; give more, or compile for smaller arrays" in text


def timeline(nbytes: int) -> MemoryTimeline:
    buffers = [Buffer(f"b{k}", "", TEMPORARY, nbytes, 0, 0) for k in range(6)]
    return MemoryTimeline((*buffers, Buffer("r", "", RESULT, 1, 0, 0)), (Step("s", "", 0),))


def test_less_is_asked_for_where_lowering_holds_more() -> None:
    asked: list[Held | None] = []

    def stages(held: Held | None) -> list[Held | None]:
        asked.append(held)
        return [held]

    peaks = iter([1000, 100, 99, 98, 99, 90, 60])
    given = (lambda made: timeline(next(peaks)), lambda: 4000, "f")
    assert stages_within(500, stages, *given) == [asked[-1]]  # type: ignore
    # At first no more than loops over blocks, of what results leave; then less by the share of the
    # least peak, or by an eighth, with the blocks of that.
    loops = [Held(4000, 499 // share) for share in SHARES]
    less = int(500 / 589 * 4000)
    assert asked == [None, *loops, Held(less, 499 // 4), Held(int(7 / 8 * less), 499 // 4)]
    asked.clear()
    with pytest.raises(CompileError, match=r"is 601, in kernel s, of which .*b4 100, \.\.\.; give"):
        stages_within(500, stages, lambda made: timeline(100), lambda: 4000, "f")  # type: ignore
    assert len(asked) == ATTEMPTS


@pytest.mark.parametrize(
    "target",
    ["cpu,memory_limit=0", "cpu,memory_limit=-1", "cpu,memory_limit=nan", "cpu,memory_limit=1.5",
     "cpu,memory_limit=", "cpu,memory_limit=5,memory_limit=6", "cpu,memory=5",
     "cuda:sm_80,memory_limit=5"],
)  # fmt: skip
def test_what_is_no_limit_is_refused(target: str) -> None:
    with pytest.raises(CompileError):
        compile_options(target)


def test_a_target_with_a_limit_reads_as_it_was_given() -> None:
    options = compile_options("cpu,threads=2,memory_limit=4096")
    assert (options.threads, options.memory_limit) == (2, 4096)
    assert options.target == "cpu,threads=2,memory_limit=4096"
    assert compile_options(options.target) == options
