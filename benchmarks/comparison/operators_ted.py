"""Operators as a user of ted writes them, under the names that programs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ted
from ted import nn

from .arguments import of_some

Tensor = Any
_LAYOUTS = ("NCL", "NCHW", "NCDHW")
_CONVOLUTIONS = (nn.conv1d, nn.conv2d, nn.conv3d)


class Operators:
    """The names of ted, or those below where programs call them otherwise."""

    softmax = staticmethod(nn.softmax)
    log_softmax = staticmethod(nn.log_softmax)
    layer_norm = staticmethod(nn.layer_norm)
    gelu = staticmethod(nn.gelu)
    cross_entropy = staticmethod(nn.cross_entropy)
    dense = staticmethod(nn.dense)
    embedding = staticmethod(nn.embedding)
    attention = staticmethod(nn.attention)
    scan = staticmethod(ted.scan)

    def __getattr__(self, name: str) -> Any:
        return getattr(ted, name)

    def zeros(self, shape: Any, like: Tensor) -> Tensor:
        return ted.zeros(tuple(shape), like.dtype)

    def contiguous(self, x: Tensor) -> Tensor:
        return x

    def logsumexp(self, x: Tensor, axis: int = -1) -> Tensor:
        return ted.logsumexp(x, axis=axis)

    def segment_sum(self, values: Tensor, ids: Tensor, count: int) -> Tensor:
        return ted.segment_sum(values, ids, count)

    def index_add(self, x: Tensor, ids: Tensor, values: Tensor) -> Tensor:
        return ted.index_add(x, 0, ids, values)

    def pad(self, x: Tensor, width: int, mode: str) -> Tensor:
        return ted.pad(x, [(0, 0)] * (x.ndim - 2) + [(width, width)] * 2, mode=mode)

    def edge(self, x: Tensor, axis: int) -> Tensor:
        return ted.pad(x, [(int(k == axis),) * 2 for k in range(x.ndim)], mode="edge")

    def difference(self, x: Tensor, axis: int) -> Tensor:
        before, after = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        before[axis], after[axis] = slice(None, -1), slice(1, None)
        return x[tuple(after)] - x[tuple(before)]

    def group_norm(
        self, x: Tensor, groups: int, w: Tensor, b: Tensor, last: bool = False
    ) -> Tensor:
        return nn.group_norm(x, groups, w, b, axis=-1 if last else 1)

    def conv(
        self, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0, dilation: int = 1,
        groups: int = 1, last: bool = False,
    ) -> Tensor:  # fmt: skip
        layout = "NHWC" if last else _LAYOUTS[x.ndim - 3]
        return _CONVOLUTIONS[x.ndim - 3](x, w, None, stride, padding, dilation, groups, layout)

    def depthwise(self, x: Tensor, w: Tensor, padding: int) -> Tensor:
        return nn.depthwise_conv2d(x, w, padding=padding, layout="NCHW")

    def conv_transpose(self, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
        """In two dims that of `ted.nn`; in others its equation, for any number of dims."""
        if x.ndim == 4:
            return nn.conv_transpose2d(x, w, stride=stride, padding=padding, layout="NCHW")
        kernel, extents = w.shape[2:], x.shape[2:]
        out = [(n - 1) * stride - 2 * padding + k for n, k in zip(extents, kernel, strict=True)]
        taps = [ted.reduce_axis(k, f"k{d}") for d, k in enumerate(kernel)]
        c = ted.reduce_axis(w.shape[0], "c")

        def element(n: Any, o: Any, *place: Any) -> Any:
            starts = [p + padding - tap for p, tap in zip(place, taps, strict=True)]
            where = starts[0] % stride == 0
            for start, extent in zip(starts, extents, strict=True):
                where &= (start % stride == 0) & (start >= 0) & (start <= (extent - 1) * stride)
            value = x[(n, c, *(start // stride for start in starts))] * w[(c, o, *taps)]
            return ted.sum(value, axis=(*taps, c), where=where)

        return ted.compute((x.shape[0], w.shape[1], *out), element)

    def max_pool(self, x: Tensor, size: int, stride: int, padding: int = 0) -> Tensor:
        return nn.max_pool2d(x, size, stride, padding, layout="NCHW")

    def avg_pool(self, x: Tensor, size: int) -> Tensor:
        return nn.avg_pool2d(x, size, layout="NCHW")

    def lstm(self, x: Tensor, wx: Tensor, wh: Tensor, b: Tensor) -> Tensor:
        return nn.lstm(x, wx, wh, b)[0]

    def grad_of(self, fn: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return ted.grad(fn)(x)

    def hvp(self, fn: Callable[..., Any], xs: Any, tangents: Any, wrt: Any) -> Any:
        return ted.hvp(of_some(fn, xs, wrt), tuple(xs[k] for k in wrt), tuple(tangents))
