"""Convolutions of a padded batch, image by image: decided, obeyed, right, and in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import ScheduleError
from unit.linalg.asked_groups import asking

RNG = np.random.default_rng(11)
# Padded images of 90 KiB: the second cache of AVX2's row holds two, that of AVX-512's eleven.
IMAGES, KERNEL = (24, 8, 52, 52), (24, 8, 3, 3)
X = RNG.normal(size=IMAGES).astype(np.float32)
W = RNG.normal(size=KERNEL).astype(np.float32)
TARGETS = [pytest.param("cpu:avx2", 2), pytest.param("cpu:avx512", 3)]


def conv(x: Any, w: Any, **options: Any) -> Any:
    return ted.nn.conv2d(x, w, padding=1, layout="NCHW", **options)


def by_torch(x: np.ndarray, w: np.ndarray, **options: Any) -> np.ndarray:
    given = (torch.from_numpy(a.astype(np.float64)) for a in (x, w))
    return torch.conv2d(*given, padding=1, **options).numpy()


def groups(function: Any, *arrays: Any) -> str:
    return function.compiled(*arrays).explain()


@pytest.mark.parametrize(("target", "size"), TARGETS)
def test_a_block_is_what_the_second_cache_holds_and_eight_threads_share(
    target: str, size: int
) -> None:
    function = ted.function(conv, target)
    assert f"padded_blocks, size = {size}" in groups(function, X, W)
    text = function.compiled(X, W).ir("linalg")
    assert f"scf.for %arg3 = %c0 to %c{24 // size} step %c1 " in text
    assert f"memref.alloc() : memref<{size}x8x54x54xf32>" in text


@pytest.mark.parametrize(
    ("images", "options", "reason"),
    [
        ((7, 8, 52, 52), {}, "the second cache holds no block of 8 or more equal ones"),
        ((16, 1, 5, 5), {}, "the second cache holds the whole padding"),
        ((16, 8, 190, 190), {}, "the second cache holds no block of 8 or more equal ones"),
    ],
)
def test_other_paddings_are_made_at_once(
    images: tuple[int, ...], options: dict[str, Any], reason: str
) -> None:
    kernel = (24, images[1], 3, 3)
    arrays = np.zeros(images, np.float32), np.zeros(kernel, np.float32)
    function = ted.function(lambda x, w: conv(x, w, **options), "cpu:avx2")
    assert f"not padded_blocks: {reason}" in groups(function, *arrays)


def test_a_padding_that_the_gradient_reads_too_is_made_once() -> None:
    def loss(x: Any, w: Any) -> Any:
        return ted.sum(ted.tanh(conv(x, w)))

    function = ted.function(lambda x, w: ted.value_and_grad(loss, argnums=1)(x, w), "cpu:avx2")
    assert "not padded_blocks: something else reads the padding" in groups(function, X, W)


@pytest.mark.fast(1)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_blocks_compute_what_one_loop_computes_for_any_number_of_threads(
    stride: int, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = ((0, 2, 3, 1), (2, 3, 1, 0)) if last else ((0, 1, 2, 3), (0, 1, 2, 3))
    arrays = [
        np.ascontiguousarray(a.transpose(axes)) for a, axes in zip((X, W), order, strict=True)
    ]
    layout = "NHWC" if last else "NCHW"

    def run(x: Any, w: Any) -> Any:
        return ted.nn.conv2d(x, w, padding=1, stride=stride, layout=layout)

    blocks = ted.function(run)
    expected = by_torch(X, W, stride=stride)
    found = blocks(*arrays)
    given = found.transpose(0, 3, 1, 2) if last else found
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-4)
    for threads in (2, 3, 8):
        again = ted.function(run, f"cpu,threads={threads}")(*arrays)
        np.testing.assert_array_equal(again, found)
    peak = blocks.compiled(*arrays).peak_bytes
    asking({"conv2d": '{name = "alone"}'}, monkeypatch)
    whole = ted.function(run)
    np.testing.assert_allclose(whole(*arrays), found, rtol=0, atol=1e-4)
    assert whole.compiled(*arrays).peak_bytes > peak


@pytest.mark.parametrize("size", [1, 4, 24])
def test_a_size_that_is_asked_for_is_obeyed(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asking({"conv2d": f'{{name = "padded_blocks", size = {size}}}'}, monkeypatch)
    function = ted.function(conv)
    np.testing.assert_allclose(function(X, W), by_torch(X, W), rtol=0, atol=1e-4)
    text = function.compiled(X, W).ir("linalg")
    images = "" if size == 1 else f"{size}x"
    assert f"memref.alloc() : memref<{images}8x54x54xf32>" in text


REFUSED = {
    "no divisor": (conv, 5, "size divides the 24 rows of the padding"),
    "nothing": (conv, 0, "size divides the 24 rows of the padding"),
    "no padding": (lambda x, w: ted.nn.conv2d(x, w, layout="NCHW"), 1, "it reads no padding"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_blocks_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, size, rule = REFUSED[case]
    asking({"conv2d": f'{{name = "padded_blocks", size = {size}}}'}, monkeypatch)
    with pytest.raises(ScheduleError, match=rule):
        ted.function(run)(X, W)


def test_a_padding_of_the_outermost_dim_itself_is_made_at_once() -> None:
    # Rows of the batch are summed too: a window over images.
    x = RNG.normal(size=(64, 40, 40)).astype(np.float32)
    w = RNG.normal(size=(3, 40, 24)).astype(np.float32)

    def window(x: Any, w: Any) -> Any:
        padded = ted.pad(x, ((1, 1), (0, 0), (0, 0)))
        return sum(ted.einsum("nir,rj->nij", padded[k : k + 64], w[k]) for k in range(3))

    padded = np.pad(x, ((1, 1), (0, 0), (0, 0))).astype(np.float64)
    expected = sum(np.einsum("nir,rj->nij", padded[k : k + 64], w[k]) for k in range(3))
    np.testing.assert_allclose(ted.function(window)(x, w), expected, rtol=0, atol=1e-4)
