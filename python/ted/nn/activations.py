"""Activation functions: on whole tensors, and on scalars inside an index lambda."""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend.checks import float_type, number, reduced_axes
from ted.frontend.elementwise import to_tensor
from ted.frontend.precision import rounded_once
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, one_of

relu = ted.relu
sigmoid = ted.sigmoid


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """x where it is positive, else slope * x."""
    return ted.vectorize(lambda v: ted.where(v > 0, v, slope * v))(x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1).

    Raises: FrontendError for an alpha that is no number.
    """
    alpha = number(alpha, "elu: alpha")
    return ted.vectorize(lambda v: ted.where(v > 0, v, alpha * ted.expm1(v)))(x)


@ted.vectorize
def silu(x: Any) -> Any:
    """x * sigmoid(x), also called swish."""
    return x * ted.sigmoid(x)


def gelu(x: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function, by erf or by its "tanh" approximation.

    Raises: FrontendError for another `approximate`.
    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, section 2.
    """
    forms = {"none": _gelu, "tanh": _gelu_tanh}
    return ted.vectorize(forms[one_of(approximate, tuple(forms), "gelu: approximate")])(x)


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + ted.erf(x * math.sqrt(0.5)))


def _gelu_tanh(x: Any) -> Any:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + ted.tanh(inner))


# ------------------------------------------------------------------ along an axis


def softmax(x: Any, axis: Any = -1, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis` (one dim or several), computed on x - max.

    The maximum cancels, so it is a constant for differentiation. A `dtype` is that of x from the
    start.

    Raises: FrontendError for an axis that x does not have, or an x of no float type.
    """
    return _softmax(of_type(x, dtype, "softmax"), axis)


@rounded_once
def _softmax(x: Any, axis: Any) -> Tensor:
    exponentials = ted.exp(_shifted(x, axis, "softmax"))
    return exponentials / ted.sum(exponentials, axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along `axis` (one dim or several) without overflow or cancellation.

    Raises: FrontendError for an axis that x does not have, or an x of no float type.
    """
    return _log_softmax(of_type(x, dtype, "log_softmax"), axis)


@rounded_once
def _log_softmax(x: Any, axis: Any) -> Tensor:
    shifted = _shifted(x, axis, "log_softmax")
    return shifted - ted.log(ted.sum(ted.exp(shifted), axis, keepdims=True))


def of_type(x: Any, dtype: Any, what: str) -> Any:
    """x as it is, or in a float type that is asked for.

    Raises: FrontendError for another type.
    """
    if dtype is None:
        return x
    return ted.cast(to_tensor(x, f"{what}: x"), float_type(dtype, what))


def _shifted(x: Any, axis: Any, what: str) -> Tensor:
    x = floating(x, f"{what}: x")
    axes = reduced_axes(axis, x.ndim, what)
    return x - ted.stop_gradient(ted.max(x, axes, keepdims=True))
