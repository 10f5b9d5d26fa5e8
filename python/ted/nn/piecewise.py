"""Activations with bends and their smooth relatives, under torch's names, element by element."""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend.checks import axis_of, number
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.tensors import Tensor
from ted.nn.activations import of_type
from ted.nn.arguments import above_zero, floating

_SELU = 1.0507009873554805, 1.6732632423543772  # scale, alpha: Klambauer et al., section 2


@ted.vectorize
def relu6(x: Any) -> Any:
    """x limited to [0, 6]; the slope is 1 strictly between."""
    return hardtanh(x, 0.0, 6.0)


def hardtanh(x: Any, least: float = -1.0, most: float = 1.0) -> Any:
    """x limited to [least, most]; the slope is 1 strictly between."""
    return ted.vectorize(
        lambda v: ted.where(v <= least, least, ted.where(v >= most, most, v))
    )(x)  # fmt: skip


@ted.vectorize
def hardsigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


@ted.vectorize
def hardswish(x: Any) -> Any:
    """x * hardsigmoid(x)."""
    return x * hardsigmoid(x)


def hardshrink(x: Any, bound: float = 0.5) -> Any:
    """x outside [-bound, bound], 0 inside."""
    return ted.vectorize(lambda v: ted.where(ted.absolute(v) <= bound, 0.0, v))(x)


def softshrink(x: Any, bound: float = 0.5) -> Any:
    """x moved by `bound` towards 0, where it stops."""
    return ted.vectorize(
        lambda v: ted.where(v > bound, v - bound, ted.where(v < -bound, v + bound, 0.0 * v))
    )(x)  # fmt: skip


@ted.vectorize
def tanhshrink(x: Any) -> Any:
    """x - tanh(x)."""
    return x - ted.tanh(x)


def threshold(x: Any, bound: float, value: float) -> Any:
    """x above `bound`, else `value`; NaN stays."""
    return ted.vectorize(lambda v: ted.where(v <= bound, value, v))(x)


def prelu(x: Any, slope: Any) -> Any:
    """x where it is positive, else slope * x, where the slopes are a tensor that broadcasts."""
    return ted.vectorize(lambda v, s: ted.where(v > 0, v, s * v))(x, slope)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x / alpha) - 1).

    Raises: FrontendError for an alpha of 0.
    """
    alpha = number(alpha, "celu: alpha", "must not be 0", bool)
    return ted.vectorize(lambda v: ted.where(v > 0, v, alpha * ted.expm1(v / alpha)))(x)


@ted.vectorize
def selu(x: Any) -> Any:
    """scale * x where it is positive, else scale * alpha * (exp(x) - 1).

    Source: Klambauer et al., Self-Normalizing Neural Networks, section 2.
    """
    scale, alpha = _SELU
    return scale * ted.where(x > 0, x, alpha * ted.expm1(x))


@ted.vectorize
def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""
    return x * ted.tanh(ted.softplus(x))


@ted.vectorize
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (1.0 + ted.absolute(x))


@ted.vectorize
def logsigmoid(x: Any) -> Any:
    """log(sigmoid(x)) without overflow."""
    return -ted.softplus(-x)


@ted.vectorize
def squareplus(x: Any) -> Any:
    """(x + sqrt(x * x + 4)) / 2, without overflow of the square."""
    half, root = 0.5 * x, 0.5 * ted.hypot(x, 2.0)
    left = x < 0  # where the sum would be a difference
    return ted.where(left, 1 / (root - ted.where(left, half, 0.0)), half + root)


# ------------------------------------------------------------------ along a dim


def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half along `axis` times the sigmoid of the second.

    Raises: FrontendError for an odd extent, or an axis that x does not have.
    """
    x = floating(x, "glu: x")
    along = axis_of(axis, x.ndim, "glu")
    if x.shape[along] % 2:
        fail(f"glu: the extent along axis {axis} must be even, got shape {x.shape}")
    first, second = ted.split(x, 2, along)
    return first * ted.sigmoid(second)


def softmin(x: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """softmax(-x) along `axis`.

    Raises: FrontendError for an axis that x does not have, or an x of no float type.
    """
    return ted.nn.softmax(-floating(of_type(x, dtype, "softmin"), "softmin: x"), axis)


@rounded_once
def normalize(x: Any, order: float = 2.0, axis: int = -1, eps: float = 1e-12) -> Tensor:
    """x divided by its norm along `axis`, by `eps` where that is less.

    Raises: FrontendError for an axis that x does not have, an x of no float type, or an order that
    is not positive.
    """
    x, order = floating(x, "normalize: x"), above_zero(order, "normalize: order")
    least, size = number(eps, "normalize: eps"), ted.absolute(x)
    if order == math.inf:
        return x / ted.maximum(ted.max(size, axis, keepdims=True), least)
    length = ted.sum(size**order, axis, keepdims=True)
    return x / ted.maximum(length, least**order) ** (1.0 / order)


@rounded_once
def cosine_similarity(a: Any, b: Any, axis: int = -1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle along `axis`, of lengths not below `eps`.

    Raises: FrontendError for an axis that one does not have, or what is of no float type.
    """
    a, b = floating(a, "cosine_similarity: a"), floating(b, "cosine_similarity: b")
    product = ted.sum(a * b, axis)
    eps = number(eps, "cosine_similarity: eps")
    squares = [ted.maximum(ted.sum(x * x, axis), eps * eps) for x in (a, b)]
    return product * ted.rsqrt(squares[0] * squares[1])
