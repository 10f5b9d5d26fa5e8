"""One step of an optimiser as expressions: parameters and state in, new ones out."""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, shaped


def sgd(param: Any, grad: Any, lr: Any, momentum: float = 0.0, velocity: Any = None) -> Any:
    """param - lr * grad; with a velocity (param, velocity), where velocity = momentum * it + grad.

    Shapes: param, grad and velocity equal; lr a number or a tensor of rank 0.
    Raises: FrontendError for shapes that differ, or a momentum without a velocity.
    """
    param = floating(param, "sgd: param")
    grad = shaped(grad, param.shape, "sgd: grad")

    def moved(p: Any, direction: Any, rate: Any) -> Any:
        return p - rate * direction

    if velocity is None:
        if momentum:
            fail(f"sgd: momentum needs a velocity, got momentum={momentum} and none")
        return ted.vectorize(moved)(param, grad, lr)
    velocity = shaped(velocity, param.shape, "sgd: velocity")
    velocity = ted.vectorize(lambda v, g: momentum * v + g)(velocity, grad)
    return ted.vectorize(moved)(param, velocity, lr), velocity


def adam(
    param: Any, grad: Any, m: Any, v: Any, step: Any, lr: Any = 1e-3, b1: float = 0.9,
    b2: float = 0.999, eps: float = 1e-8,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """One step of Adam: the new (param, m, v), where m and v start as zeros and `step` at 1.

    Shapes: param, grad, m and v equal; step and lr numbers or tensors of rank 0.
    Raises: FrontendError for shapes that differ, or a step below 1.
    Source: Kingma and Ba, Adam, algorithm 1, its efficient order of the bias corrections.
    """
    param = floating(param, "adam: param")
    grad, m, v = (
        shaped(t, param.shape, f"adam: {name}") for name, t in (("grad", grad), ("m", m), ("v", v))
    )
    if isinstance(step, (int, float)) and step < 1:
        fail(f"adam: step counts from 1, got {step}")
    # 1 - b ** step without cancellation: b2 ** step is close to 1 in the first steps.
    first = -ted.expm1(step * math.log(b1))
    second = -ted.expm1(step * math.log(b2))
    rate, root = lr / first, ted.sqrt(second)

    def mean(m: Any, g: Any) -> Any:
        return b1 * m + (1 - b1) * g

    def mean_square(v: Any, g: Any) -> Any:
        return b2 * v + (1 - b2) * (g * g)

    def moved(p: Any, m: Any, v: Any, rate: Any, root: Any) -> Any:
        return p - rate * m / (ted.sqrt(v) / root + eps)

    m, v = ted.vectorize(mean)(m, grad), ted.vectorize(mean_square)(v, grad)
    return ted.vectorize(moved)(param, m, v, rate, root), m, v
