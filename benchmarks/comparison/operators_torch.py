"""Operators as a user of torch writes them, under the names that programs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.nn import functional

from .arguments import as_list, of_some

Tensor = torch.Tensor


def tensor(array: np.ndarray) -> Tensor:
    """An array as a tensor, without a copy."""
    array = np.ascontiguousarray(array) if array.ndim else np.array(array)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(value: Tensor) -> np.ndarray:
    """A tensor as an array."""
    value = value.detach()
    if value.dtype == torch.bfloat16:
        return value.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return value.numpy()


# ------------------------------------------------------------------ derivatives


def _given(xs: Sequence[Tensor], wrt: Sequence[int]) -> list[Tensor]:
    """The arguments, leaves of their own where they are differentiated."""
    wanted = set(wrt)
    return [
        x.detach().requires_grad_() if k in wanted and not x.requires_grad else x
        for k, x in enumerate(xs)
    ]


def vjp(fn: Callable[..., Any], xs: Any, heads: Any, wrt: Any) -> Any:
    """Gradients from inputs and cotangents."""
    given = _given(xs, wrt)
    with torch.enable_grad():
        found = as_list(fn(*given))
    return torch.autograd.grad(found, [given[k] for k in wrt], list(heads))


def grad(fn: Callable[..., Any], xs: Any, wrt: Any) -> Any:
    """Gradients of a scalar, which may be differentiated if an argument is a variable already."""
    again = any(x.requires_grad for x in xs)
    given = _given(xs, wrt)
    with torch.enable_grad():
        found = fn(*given)
    return torch.autograd.grad(found, [given[k] for k in wrt], create_graph=again)


def jvp(fn: Callable[..., Any], xs: Any, tangents: Any, wrt: Any) -> Any:
    """The tangent, in forward mode."""
    return torch.func.jvp(of_some(fn, xs, wrt), tuple(xs[k] for k in wrt), tuple(tangents))[1]


def hvp(fn: Callable[..., Any], xs: Any, tangents: Any, wrt: Any) -> Any:
    """The Hessian times a vector: the gradient of the gradient times it."""
    again = any(x.requires_grad for x in [*xs, *tangents])
    given = _given(xs, wrt)
    some = [given[k] for k in wrt]
    with torch.enable_grad():
        first = torch.autograd.grad(fn(*given), some, create_graph=True)
        return torch.autograd.grad(first, some, list(tangents), create_graph=again)


# ------------------------------------------------------------------ operators

_CONVOLUTIONS = (functional.conv1d, functional.conv2d, functional.conv3d)
_TRANSPOSED = (
    functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d,
)  # fmt: skip


class Operators:
    """The names of torch, or those below where programs call them otherwise."""

    hvp = staticmethod(hvp)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def sum(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return x.sum() if axis is None else x.sum(axis, keepdim=keepdims)

    def mean(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return x.mean() if axis is None else x.mean(axis, keepdim=keepdims)

    def max(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return x.max() if axis is None else x.amax(axis, keepdim=keepdims)

    def maximum(self, x: Tensor, y: Any) -> Tensor:
        return torch.maximum(x, y) if isinstance(y, Tensor) else torch.clamp_min(x, y)

    def concatenate(self, parts: Any, axis: int = 0) -> Tensor:
        return torch.cat(list(parts), axis)

    def stack(self, parts: Any, axis: int = 0) -> Tensor:
        return torch.stack(list(parts), axis)

    def zeros(self, shape: Any, like: Tensor) -> Tensor:
        return torch.zeros(tuple(shape), dtype=like.dtype)

    def reshape(self, x: Tensor, shape: Any) -> Tensor:
        return x.reshape(tuple(shape))

    def transpose(self, x: Tensor, axes: Any) -> Tensor:
        return x.permute(*axes)

    def contiguous(self, x: Tensor) -> Tensor:
        return x.contiguous()

    def take(self, x: Tensor, ids: Tensor, axis: int = 0) -> Tensor:
        return torch.index_select(x, axis, ids)

    def embedding(self, table: Tensor, ids: Tensor) -> Tensor:
        return functional.embedding(ids, table)

    def segment_sum(self, values: Tensor, ids: Tensor, count: int) -> Tensor:
        start = torch.zeros((count, *values.shape[1:]), dtype=values.dtype)
        return start.index_add(0, ids, values)

    def index_add(self, x: Tensor, ids: Tensor, values: Tensor) -> Tensor:
        return x.index_add(0, ids, values)

    def pad(self, x: Tensor, width: int, mode: str) -> Tensor:
        """Before and after the last two dims."""
        return functional.pad(x, (width,) * 4, mode=mode)

    def edge(self, x: Tensor, axis: int) -> Tensor:
        """One element more at both ends of a dim, equal to its neighbour."""
        first, last = x.narrow(axis, 0, 1), x.narrow(axis, x.shape[axis] - 1, 1)
        return torch.cat([first, x, last], axis)

    def difference(self, x: Tensor, axis: int) -> Tensor:
        return torch.diff(x, dim=axis)

    # ---- rows

    def gelu(self, x: Tensor) -> Tensor:
        return functional.gelu(x)

    def softmax(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def log_softmax(self, x: Tensor) -> Tensor:
        return x.log_softmax(-1)

    def logsumexp(self, x: Tensor, axis: int = -1) -> Tensor:
        return torch.logsumexp(x, axis)

    def layer_norm(self, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return functional.layer_norm(x, (x.shape[-1],), w, b)

    def group_norm(
        self, x: Tensor, groups: int, w: Tensor, b: Tensor, last: bool = False
    ) -> Tensor:
        """Of NCHW, or of NHWC as its layout of channels at the end."""
        if last:
            return functional.group_norm(x.permute(0, 3, 1, 2), groups, w, b).permute(0, 2, 3, 1)
        return functional.group_norm(x, groups, w, b)

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(logits, labels.long())

    def dense(self, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.addmm(b, x, w) if x.ndim == 2 else x @ w + b

    # ---- windows

    def conv(
        self, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0, dilation: int = 1,
        groups: int = 1, last: bool = False,
    ) -> Tensor:  # fmt: skip
        """NCHW and OIHW; with `last` NHWC and HWIO, which are views of tensors in channels last."""
        if last:
            planes = functional.conv2d(
                x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), None, stride, padding, dilation
            )
            return planes.permute(0, 2, 3, 1)
        return _CONVOLUTIONS[x.ndim - 3](x, w, None, stride, padding, dilation, groups)

    def depthwise(self, x: Tensor, w: Tensor, padding: int) -> Tensor:
        return functional.conv2d(x, w, padding=padding, groups=x.shape[1])

    def conv_transpose(self, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
        return _TRANSPOSED[x.ndim - 3](x, w, None, stride, padding)

    def max_pool(self, x: Tensor, size: int, stride: int, padding: int = 0) -> Tensor:
        return functional.max_pool2d(x, size, stride, padding)

    def avg_pool(self, x: Tensor, size: int) -> Tensor:
        return functional.avg_pool2d(x, size)

    # ---- models

    def attention(self, q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def lstm(self, x: Tensor, wx: Tensor, wh: Tensor, b: Tensor) -> Tensor:
        """By `torch.lstm`, whose weights are transposed and whose bias is in two parts."""
        start = torch.zeros((1, x.shape[1], wh.shape[0]), dtype=x.dtype)
        weights = [wx.T.contiguous(), wh.T.contiguous(), b, torch.zeros_like(b)]
        return torch.lstm(x, (start, start), weights, True, 1, 0.0, False, False, False)[0]

    def power(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.pow(x, y)

    def cholesky(self, a: Tensor) -> Tensor:
        return torch.linalg.cholesky(a)

    def grad_of(self, fn: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """The gradient of a scalar, inside of a program."""
        with torch.enable_grad():
            given = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(fn(given), given, create_graph=True)[0]

    def scan(self, step: Callable[..., Any], init: Any, xs: Any, reverse: bool = False) -> Any:
        """A loop of Python over slices; ys are a tensor or a tuple of them."""
        slices = list(zip(*xs, strict=True)) if isinstance(xs, tuple) else list(xs)
        state, found = init, []
        for x in reversed(slices) if reverse else slices:
            state, y = step(state, x)
            found.append(y)
        found = found[::-1] if reverse else found
        if isinstance(found[0], tuple):
            return state, tuple(torch.stack(ys) for ys in zip(*found, strict=True))
        return state, torch.stack(found)
