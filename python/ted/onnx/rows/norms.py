"""Normalisations."""

from __future__ import annotations

from typing import Any

import ted
from ted import nn
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node, element_type


def _per_channel(x: Tensor, parameter: Tensor) -> Tensor:
    return ted.reshape(parameter, (-1, *(1,) * (x.ndim - 2)))


def batch_norm(
    node: Node, x: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor
) -> Any:
    """With given statistics, or in training with those of the batch, which are then results."""
    eps, momentum = node.attr("epsilon", 1e-5), node.attr("momentum", 0.9)
    found = (mean, variance)
    if node.attr("training_mode", 0):
        axes = tuple(k for k in range(x.ndim) if k != 1)
        wide = x.astype("float32") if x.dtype.bits == 16 else x
        average = ted.mean(wide, axes)
        spread = ted.mean(ted.square(wide - _per_channel(x, average)), axes)
        found = (average, spread)
    m, v = (_per_channel(x, t) for t in found)
    y = (x - m) * ted.rsqrt(v + eps) * _per_channel(x, scale) + _per_channel(x, shift)
    y = y.astype(x.dtype)
    if not node.attr("training_mode", 0):
        return y
    kept = [
        (old * momentum + new * (1 - momentum)).astype(old.dtype)
        for old, new in zip((mean, variance), found, strict=True)
    ]
    return (y, *kept)


def instance_norm(node: Node, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Each channel of each example by itself."""
    return nn.instance_norm(x, scale, shift, axis=1, eps=node.attr("epsilon", 1e-5))


def layer_norm(node: Node, x: Tensor, scale: Tensor, shift: Any = None) -> Any:
    """Over the last dims, with the mean and the inverse deviation; in float32 unless said."""
    axis = node.attr("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    wide = element_type(node.attr("stash_type", 1))
    y = x.astype(wide) if x.dtype.bits < wide.bits else x
    mean = ted.mean(y, axes, keepdims=True)
    centered = y - mean
    variance = ted.mean(ted.square(centered), axes, keepdims=True)
    inverse = ted.rsqrt(variance + node.attr("epsilon", 1e-5))
    found = (centered * inverse).astype(x.dtype) * scale
    found = found if shift is None else found + shift
    return (found, mean, inverse)[: node.count]


def local_response(node: Node, x: Tensor) -> Tensor:
    """Divided by the sum of squares of near channels."""
    size, alpha = node.attr("size"), node.attr("alpha", 1e-4)
    beta, bias = node.attr("beta", 0.75), node.attr("bias", 1.0)
    r = ted.reduce_axis(size, "r")
    before, channels = (size - 1) // 2, x.shape[1]

    def total(n: Any, c: Any, *i: Any) -> Any:
        at = c + r - before
        value = x[(n, at, *i)]
        return ted.sum(value * value, axis=r, where=(at >= 0) & (at < channels))

    squares = ted.compute(x.shape, total, name="squares")
    return x / ted.power(squares * (alpha / size) + bias, beta)


def lp_norm(node: Node, x: Tensor) -> Tensor:
    """Divided by the norm along an axis; 0 where that is 0."""
    axis, p = node.attr("axis", -1), node.attr("p", 2)
    total = ted.sum(ted.abs(x) if p == 1 else x * x, axis, keepdims=True)
    norm = total if p == 1 else ted.sqrt(total)
    return ted.where(norm == 0, 0, x / norm).astype(x.dtype)


RULES = {
    "BatchNormalization": batch_norm, "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm, "LRN": local_response, "LpNormalization": lp_norm,
}  # fmt: skip
