"""Functions of elements, with broadcasting: ted's own under the names of ONNX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import ted
from ted import nn
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL
from ted.onnx.nodes import Node, element_type


def plain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The row of a function that takes the inputs alone."""
    return lambda node, *inputs: fn(*inputs)


def with_attributes(fn: Callable[..., Any], **defaults: Any) -> Callable[..., Any]:
    """The row of a function that takes attributes as keywords."""
    return lambda node, *inputs: fn(*inputs, **{k: node.attr(k, v) for k, v in defaults.items()})


def folded(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The row of a function of two for any number of inputs."""
    return lambda node, *inputs: functools.reduce(fn, inputs)


def divide(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Quotients; of integers without what is behind the point."""
    if a.dtype.is_float:
        return a / b
    if a.dtype.is_unsigned:
        return a // b
    floor = a // b
    is_cut = ((a < 0) != (b < 0)) & (floor * b != a)
    return ted.where(is_cut, floor + 1, floor).astype(a.dtype)


def modulo(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Remainders with the sign of the divisor, or of the dividend (`fmod`)."""
    return ted.fmod(a, b) if node.attr("fmod", 0) else a % b


def power(node: Node, base: Tensor, exponent: Tensor) -> Tensor:
    """Powers in the type of the base."""
    if base.dtype.is_float and exponent.dtype.kind == "int":
        exponent = exponent.astype(base.dtype)
    elif exponent.dtype.is_float and not base.dtype.is_float:
        return ted.power(base.astype(exponent.dtype), exponent).astype(base.dtype)
    return ted.power(base, exponent).astype(base.dtype)


def mean(node: Node, *inputs: Tensor) -> Tensor:
    """The mean of tensors."""
    return functools.reduce(ted.add, inputs) / len(inputs)


def clip(node: Node, x: Tensor, least: Any = None, most: Any = None) -> Tensor:
    """Limits as inputs, or as attributes in older versions."""
    least = node.attr("min", None) if least is None else least
    most = node.attr("max", None) if most is None else most
    x = x if least is None else ted.maximum(x, least)
    return x if most is None else ted.minimum(x, most)


def shift(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Bits moved left or right."""
    move = ted.left_shift if node.attr("direction") == "LEFT" else ted.right_shift
    return move(a, b)


def is_infinite(node: Node, x: Tensor) -> Any:
    """Infinities of the signs that are asked for."""
    up, down = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    found: Any = ted.isinf(x)
    if up and down:
        return found
    if not (up or down):
        return ted.zeros_like(found)
    return found & (x > 0 if up else x < 0)


def cast(node: Node, x: Tensor) -> Tensor:
    """Another element type."""
    return _cast(x, element_type(node.attr("to")))


def cast_like(node: Node, x: Tensor, like: Tensor) -> Any:
    """The element type of another tensor; what is known stays so."""
    known = node.inputs[0]
    if isinstance(known, np.ndarray):
        return known.astype(like.dtype.dtype)
    return _cast(x, like.dtype)


def _cast(x: Tensor, dtype: Any) -> Tensor:
    if dtype == BOOL and x.dtype != BOOL:
        return ted.not_equal(x, 0)
    return ted.cast(x, dtype)


def relu(node: Node, x: Tensor) -> Tensor:
    """Integers too."""
    return ted.maximum(x, 0)


def elu(x: Tensor, alpha: float) -> Tensor:
    """alpha (e^x - 1) below 0."""
    return ted.where(x < 0, alpha * ted.expm1(ted.minimum(x, 0)), x)


def celu(x: Tensor, alpha: float) -> Tensor:
    """alpha (e^(x / alpha) - 1) below 0."""
    return nn.celu(x, alpha)


def selu(x: Tensor, alpha: float, gamma: float) -> Tensor:
    """An elu, scaled."""
    return gamma * elu(x, alpha)


def hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    """A straight line from 0 to 1."""
    return ted.clip(alpha * x + beta, 0, 1)


def shrink(x: Tensor, bias: float, lambd: float) -> Tensor:
    """0 near 0, nearer to it elsewhere."""
    return ted.where(x < -lambd, x + bias, ted.where(x > lambd, x - bias, 0)).astype(x.dtype)


def thresholded(x: Tensor, alpha: float) -> Tensor:
    """0 up to a bound."""
    return ted.where(x > alpha, x, 0)


def swish(x: Tensor, alpha: float) -> Tensor:
    """x sigmoid(alpha x)."""
    return x * ted.sigmoid(alpha * x)


def affine(x: Tensor, alpha: float, beta: float) -> Tensor:
    """A straight line."""
    return alpha * x + beta


def scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    """alpha tanh(beta x)."""
    return alpha * ted.tanh(beta * x)


def gelu(node: Node, x: Tensor) -> Tensor:
    """Exact, or by tanh."""
    return nn.gelu(x, node.attr("approximate", "none"))


def prelu(node: Node, x: Tensor, slope: Tensor) -> Tensor:
    """A slope below 0, of each channel in versions without broadcasting."""
    if node.version < 7 and slope.ndim == 1:
        slope = ted.reshape(slope, (-1, *(1,) * (x.ndim - 2)))
    return ted.where(x < 0, slope * x, x).astype(x.dtype)


def dropout(node: Node, x: Tensor, ratio: Any = None, training: Any = None) -> Any:
    """The tensor itself, and a mask.

    Raises: FrontendError in training, which has random numbers of ONNX's own.
    """
    in_training = node.version >= 12 and bool(node.known(2, False))
    rate = node.known(1, 0.5) if in_training else 0.0
    if in_training and float(rate) > 0:
        raise FrontendError(
            f"dropout in training must have the ratio 0, got {float(rate)}; ted.random drops"
        )
    return (x, ted.ones_like(x, dtype="bool")) if node.wants(1) else x


_SAME = (
    "ceil", "cos", "cosh", "acos", "acosh", "asin", "asinh", "atan", "atanh", "erf", "exp", "floor",
    "log", "reciprocal", "round", "sigmoid", "sign", "sin", "sinh", "softplus", "sqrt", "tan",
    "tanh", "abs", "greater", "less", "equal", "where",
)  # fmt: skip
_RENAMED = {
    "Neg": "negative", "Not": "logical_not", "And": "logical_and", "Or": "logical_or",
    "Xor": "logical_xor", "IsNaN": "isnan", "BitwiseNot": "bitwise_not",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "GreaterOrEqual": "greater_equal",
    "LessOrEqual": "less_equal",
}  # fmt: skip

# Functions with attributes, by their names there; recurrent layers have them as activations.
ACTIVATIONS: dict[str, tuple[Callable[..., Any], dict[str, float]]] = {
    "Elu": (elu, {"alpha": 1.0}),
    "Celu": (celu, {"alpha": 1.0}),
    "Selu": (selu, {"alpha": 1.6732631921768188, "gamma": 1.0507010221481323}),
    "LeakyRelu": (lambda x, alpha: ted.where(x < 0, alpha * x, x), {"alpha": 0.01}),
    "HardSigmoid": (hard_sigmoid, {"alpha": 0.2, "beta": 0.5}),
    "ThresholdedRelu": (thresholded, {"alpha": 1.0}),
    "Shrink": (shrink, {"bias": 0.0, "lambd": 0.5}),
    "Swish": (swish, {"alpha": 1.0}),
}

RULES: dict[str, Callable[..., Any]] = {
    **{name.capitalize(): plain(getattr(ted, name)) for name in _SAME},
    **{name: plain(getattr(ted, word)) for name, word in _RENAMED.items()},
    **{name: with_attributes(fn, **attrs) for name, (fn, attrs) in ACTIVATIONS.items()},
    "Max": folded(ted.maximum),
    "Min": folded(ted.minimum),
    "Sum": folded(ted.add),
    "Mean": mean,
    "Div": divide,
    "Mod": modulo,
    "Pow": power,
    "Clip": clip,
    "BitShift": shift,
    "IsInf": is_infinite,
    "Cast": cast,
    "CastLike": cast_like,
    "Relu": relu,
    "Softsign": plain(nn.softsign),
    "Mish": plain(nn.mish),
    "HardSwish": plain(nn.hardswish),
    "Gelu": gelu,
    "PRelu": prelu,
    "Dropout": dropout,
    "Identity": lambda node, x: x,
}
