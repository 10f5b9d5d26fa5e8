"""Pools: a reduction over a sliding window; positions outside the input take no part."""

from __future__ import annotations

import functools
from typing import Any

import ted
from ted.frontend.checks import flag
from ted.frontend.tensors import Tensor
from ted.nn.arguments import channels_last, per_dim, ranked
from ted.nn.windows import conjunction, windows


def max_pool2d(
    x: Any, window: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    layout: str = "NHWC", ties: str = "first",
) -> Tensor:  # fmt: skip
    """The greatest element under each window; the stride is the window's extent by default.

    The gradient goes to the first greatest one, or in even parts to all (`ties="even"`).
    Shapes: NHWC: x (n, h, w, c), result (n, h', w', c); NCHW: x (n, c, h, w), result
    (n, c, h', w').
    Raises: FrontendError for a window that does not fit into the padded input.
    """
    greatest = functools.partial(ted.max, ties=ties)
    return _pool("max_pool2d", greatest, x, window, stride, padding, dilation, layout)


def avg_pool2d(
    x: Any, window: Any, stride: Any = None, padding: Any = 0, layout: str = "NHWC",
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean under each window; padding counts as zeros unless `count_include_pad` is False.

    Shapes: as in `max_pool2d`.
    Raises: FrontendError for a window that does not fit into the padded input.
    """
    kernel = per_dim(window, 2, 1, "avg_pool2d: window")

    def total(value: Any, axis: Any, where: Any) -> Any:
        return ted.sum(value, axis=axis, where=where) / (kernel[0] * kernel[1])

    combine = total if flag(count_include_pad, "avg_pool2d: count_include_pad") else ted.mean
    return _pool("avg_pool2d", combine, x, window, stride, padding, 1, layout)


def _pool(
    what: str, combine: Any, x: Any, window: Any, stride: Any, padding: Any, dilation: Any,
    layout: str,
) -> Tensor:  # fmt: skip
    last = channels_last(layout, "NHWC", "NCHW", what)
    x = ranked(x, 4, f"{what}: x")
    kernel = per_dim(window, 2, 1, f"{what}: window")
    spatial = x.shape[1:3] if last else x.shape[2:]
    dims = windows(spatial, kernel, kernel if stride is None else stride, padding, dilation, what)
    taps = [ted.reduce_axis(k, name) for k, name in zip(kernel, ("kh", "kw"), strict=True)]

    def element(*i: Any) -> Any:
        place = i[1:3] if last else i[2:]
        parts = list(zip(dims, place, taps, strict=True))
        at = [d.at(p, tap) for d, p, tap in parts]
        inside = conjunction([c for d, p, tap in parts for c in d.inside(p, tap)])
        value = x[(i[0], *at, i[3])] if last else x[(i[0], i[1], *at)]
        return combine(value, axis=taps, where=inside)

    places = [d.positions for d in dims]
    n, c = x.shape[0], x.shape[3] if last else x.shape[1]
    return ted.compute((n, *places, c) if last else (n, c, *places), element, name=what)


def global_avg_pool2d(x: Any, layout: str = "NHWC") -> Tensor:
    """The mean over height and width.

    Shapes: NHWC: x (n, h, w, c), NCHW: x (n, c, h, w); result (n, c).
    Raises: FrontendError for an x of another rank, or an unknown layout.
    """
    last = channels_last(layout, "NHWC", "NCHW", "global_avg_pool2d")
    return ted.mean(ranked(x, 4, "global_avg_pool2d: x"), axis=(1, 2) if last else (2, 3))


def global_max_pool2d(x: Any, layout: str = "NHWC", ties: str = "first") -> Tensor:
    """The greatest element over height and width.

    Shapes: as in `global_avg_pool2d`.
    Raises: FrontendError for an x of another rank, or an unknown layout.
    """
    last = channels_last(layout, "NHWC", "NCHW", "global_max_pool2d")
    axes = (1, 2) if last else (2, 3)
    return ted.max(ranked(x, 4, "global_max_pool2d: x"), axis=axes, ties=ties)
