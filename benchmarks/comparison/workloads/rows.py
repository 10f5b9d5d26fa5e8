"""Rows: softmax, norms, sums, running sums, reductions over dims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import Input, Workload, both, gradient, in_types, normal, uniform

ROWS = normal(4096, 1024)
NORM = (ROWS, normal(1024), normal(1024))


def group(name: str, program: Any, *inputs: Input, **more: Any) -> Workload:
    """A workload of this file."""
    return Workload(name, program, inputs, "rows", **more)


def softmax(k: Any, x: Any) -> Any:
    """Over the last dim."""
    return k.softmax(x)


def layer_norm(k: Any, x: Any, w: Any, b: Any) -> Any:
    """Over the last dim."""
    return k.layer_norm(x, w, b)


def transposed_cumsum(k: Any, x: Any) -> Any:
    """Running sums along the other dim, as rows."""
    return k.transpose(k.cumsum(k.transpose(x, (1, 0)), 0), (1, 0))


def averages(k: Any, x: Any) -> Any:
    """Global averages of images, channels first."""
    return k.mean(x, (2, 3))


def channels_last(k: Any, x: Any, w: Any, b: Any) -> Any:
    """Group norm, channels last."""
    return k.group_norm(x, 8, w, b, last=True)


def workloads() -> Iterator[Workload]:
    """The rows."""
    yield from both(group("softmax", softmax, ROWS, table=True))
    yield from both(group("layer norm", layer_norm, *NORM, table=True))
    yield from both(group("logsumexp", lambda k, x: k.logsumexp(x), ROWS, table=True))
    yield from both(group("log softmax", lambda k, x: k.log_softmax(x), ROWS))
    yield from both(group("log softmax 65536x10", lambda k, x: k.log_softmax(x), normal(65536, 10)))
    yield from both(group("softmax 65536x64", softmax, normal(65536, 64)))
    narrow = (normal(65536, 64), normal(64), normal(64))
    yield from both(group("layer norm 65536x64", layer_norm, *narrow))
    yield from both(group("cumsum", lambda k, x: k.cumsum(x, 1), ROWS, table=True, tolerance=1e-3))
    near_one = uniform(0.9, 1.1, 4096, 1024)
    yield from both(
        group("cumprod", lambda k, x: k.cumprod(x, 1), near_one, table=True, tolerance=2e-3)
    )
    yield from both(group("cumsum(x.T, 0).T", transposed_cumsum, ROWS, tolerance=1e-3))
    yield from both(group("gelu", lambda k, x: k.gelu(x), ROWS))
    # Far from 0 the powers in its derivative are denormal numbers.
    far = normal(1024, 1024, scale=22.0)
    yield from gradient(group("gelu far from 0", lambda k, x: k.gelu(x), far))
    images = normal(8, 64, 56, 56)
    yield from both(group("global average NCHW", averages, images))
    affine = (images, normal(64), normal(64))
    yield from both(group("group norm", lambda k, x, w, b: k.group_norm(x, 8, w, b), *affine))
    last = (normal(8, 56, 56, 64), normal(64), normal(64))
    yield from both(group("group norm NHWC", channels_last, *last))
    yield group("sums of columns", lambda k, x: k.sum(x, 0), ROWS)
    yield group("sums of 9 columns", lambda k, x: k.sum(x, 0), normal(65536, 9))
    yield group("sum of sines", lambda k, x: k.sum(k.sin(x)), ROWS, tolerance=2e-3)
    yield group("tanh 64x64", lambda k, x: k.tanh(x), normal(64, 64))
    for made in in_types(group("softmax", softmax, ROWS), "float64"):
        yield from gradient(made)
