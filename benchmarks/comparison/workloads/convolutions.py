"""Convolutions and pools of images, channels first unless the name says NHWC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import Workload, both, gradient, normal

IMAGES = (8, 64, 56, 56)


def convolution(
    name: str, image: tuple[int, ...], kernel: tuple[int, ...], results: int, **more: Any
) -> Workload:
    """A convolution with options of `conv`; `results` are the extents of its result, multiplied."""
    options = more.pop("options")
    taps = 1
    for extent in kernel[1:] if not options.get("last") else kernel[:-1]:
        taps *= extent
    return Workload(
        name, lambda k, x, w: k.conv(x, w, **options),
        (normal(*image), normal(*kernel, scale=0.1)), "convolutions", "compute",
        flops=2.0 * results * taps, **more,
    )  # fmt: skip


def convolutions() -> Iterator[Workload]:
    """3x3 on 64 channels, by stride and dilation, in both layouts."""
    kernel, places = (64, 64, 3, 3), 8 * 64 * 56 * 56
    for name, options, results in (
        ("conv NCHW", {"padding": 1}, places),
        ("conv NCHW stride 2", {"padding": 1, "stride": 2}, places // 4),
        ("conv NCHW dilation 2", {"padding": 2, "dilation": 2}, places),
    ):
        yield from both(convolution(name, IMAGES, kernel, results, options=options, table=True))
    images, kernel = (8, 56, 56, 64), (3, 3, 64, 64)
    for name, stride, results in (
        ("conv NHWC", 1, places), ("conv NHWC stride 2", 2, places // 4)
    ):  # fmt: skip
        options = {"padding": 1, "stride": stride, "last": True}
        yield from both(convolution(name, images, kernel, results, options=options, table=True))


def windows() -> Iterator[Workload]:
    """Depthwise convolution and pools."""
    yield from both(
        Workload(
            "depthwise 3x3", lambda k, x, w: k.depthwise(x, w, 1),
            (normal(*IMAGES), normal(64, 1, 3, 3)), "convolutions", table=True,
        )
    )  # fmt: skip
    for name, program in (
        ("max pool 2", lambda k, x: k.max_pool(x, 2, 2)),
        ("max pool 3 stride 2", lambda k, x: k.max_pool(x, 3, 2, 1)),
        ("average pool 2", lambda k, x: k.avg_pool(x, 2)),
    ):
        yield from both(Workload(name, program, (normal(*IMAGES),), "convolutions", table=True))
    yield from both(
        Workload("reflect pad", lambda k, x: k.pad(x, 3, "reflect"), (normal(*IMAGES),),
                 "convolutions")
    )  # fmt: skip


def six_layers(k: Any, x: Any, *weights: Any) -> Any:
    """Six convolutions with relu, and the mean square of the last."""
    for w in weights:
        x = k.relu(k.conv(x, w, padding=1))
    return k.mean(x * x)


def workloads() -> Iterator[Workload]:
    """The rows."""
    yield from convolutions()
    yield from windows()
    inputs = (normal(8, 32, 28, 28), *[normal(32, 32, 3, 3, scale=0.08)] * 6)
    flops = 6 * 2.0 * 8 * 32 * 28 * 28 * 32 * 9
    yield from gradient(
        Workload("six convolutions with relu", six_layers, inputs, "convolutions", "compute",
                 flops=flops), "grad", 3.0,
    )  # fmt: skip
