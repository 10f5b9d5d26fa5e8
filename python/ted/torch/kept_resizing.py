"""Resizing of torch that smooths where it makes smaller: a matrix of weights along each dim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

import ted

Function = Callable[..., Any]
aten = torch.ops.aten


def _linear(distance: Any) -> Any:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: Any) -> Any:
    """Keys' kernel with the bend of Pillow's, -1/2."""
    t = np.abs(distance)
    near, far = (1.5 * t - 2.5) * t * t + 1, ((-0.5 * t + 2.5) * t - 4) * t + 2
    return np.where(t < 1, near, np.where(t < 2, far, 0))


def _weights(kernel: Function, reach: int, extent: int, size: int, scale: float) -> Any:
    """The weights (size, extent) of a dim whose steps are `scale` elements of the source."""
    wide = max(scale, 1.0)
    center = scale * (np.arange(size)[:, None] + 0.5)
    first = np.maximum((center - reach * wide + 0.5).astype(int), 0)
    end = np.minimum((center + reach * wide + 0.5).astype(int), extent)
    own = np.arange(extent)
    found = kernel((own - center + 0.5) / wide) * ((own >= first) & (own < end))
    return found / found.sum(1, keepdims=True)


def _smoothed(kernel: Function, reach: int) -> Function:
    def scales(x: Any, size: Sequence[int], corners: bool, given: Sequence[float | None]) -> Any:
        for extent, n, factor in zip(x.shape[2:], size, given, strict=True):
            if corners:
                yield extent, n, (extent - 1) / (n - 1) if n > 1 else 0.0
            else:
                yield extent, n, 1 / factor if factor else extent / n

    def function(x: Any, size: Sequence[int], corners: bool, *given: float | None) -> Any:
        factors = (*given, None, None)[:2]
        for k, row in enumerate(scales(x, size, corners, factors)):
            table = ted.constant(_weights(kernel, reach, *row)).astype(x.dtype)
            x = ted.moveaxis(ted.moveaxis(x, 2 + k, -1) @ table.T, -1, 2 + k)
        return x

    return function


def _by_factors(function: Function) -> Function:
    """The overload that may be told factors in place of a size."""

    def call(x: Any, size: Any, corners: bool, factors: Any) -> Any:
        if size is None:
            size = [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
        return function(x, size, corners, *(factors or ()))

    return call


_PACKETS = {
    aten._upsample_bilinear2d_aa: _smoothed(_linear, 1),
    aten._upsample_bicubic2d_aa: _smoothed(_cubic, 2),
}

RESIZING: Mapping[Any, Function] = {
    **{packet.default: function for packet, function in _PACKETS.items()},
    **{packet.vec: _by_factors(function) for packet, function in _PACKETS.items()},
}
