"""The gradients of the compiled training step against central differences.

Adam starts from zeros, so that after the first step m = (1 - b1) * gradient: the step that trains
is itself what is checked, nothing compiled for the purpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from digits import model

B1 = 0.9
# Short, so that hardly any relu or maximum changes its side; rounding adds eps / WIDTH = 2e-10.
WIDTH = 1e-6


def gradients(params: model.Parameters, x: Any, y: Any) -> tuple[float, model.Parameters]:
    """The loss and its gradients, out of the compiled step."""
    value, _, state = model.step(params, model.OPTIMIZER.init(params), x, y)
    return float(value), {name: value / (1 - B1) for name, value in state["m"].items()}


def check(x: Any, y: Any, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Relative errors for each parameter: (float64 against differences, float32 against float64).

    The differences are taken of the compiled loss along one random direction of length 1 for each
    parameter; errors are relative to the length of the gradient.
    """
    params = model.initial(seed, "float64")
    exact = gradients(params, x.astype(np.float64), y)[1]
    single = gradients(model.initial(seed), x.astype(np.float32), y)[1]
    rng = np.random.default_rng(seed)
    errors = {}
    for name, gradient in exact.items():
        direction = rng.standard_normal(gradient.shape)
        direction /= np.linalg.norm(direction)
        measured = _difference(params, name, direction, x.astype(np.float64), y)
        length = np.linalg.norm(gradient)
        errors[name] = (
            float(abs(measured - np.sum(gradient * direction)) / length),
            float(np.linalg.norm(single[name] - gradient) / length),
        )
    return errors


def _difference(params: model.Parameters, name: str, direction: Any, x: Any, y: Any) -> float:
    """The derivative of the loss along a direction of one parameter, by central differences."""
    after, before = (
        gradients({**params, name: params[name] + side * WIDTH * direction}, x, y)[0]
        for side in (1, -1)
    )
    return (after - before) / (2 * WIDTH)
