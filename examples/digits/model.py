"""The classifier and its training step, all of it expressions.

conv 3x3, relu, max pool 2x2, conv 3x3, relu, flatten, dense, softmax cross-entropy; Adam.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import ted

CLASSES = 10
LEARNING_RATE, HALVED_AFTER = 5e-3, 200  # steps
SHAPES = {
    "conv1": (3, 3, 1, 16),  # height, width, channels in, channels out
    "bias1": (16,),
    "conv2": (3, 3, 16, 32),
    "bias2": (32,),
    "dense": (4 * 4 * 32, CLASSES),
    "bias3": (CLASSES,),
}

Parameters = dict[str, Any]


def logits(params: Parameters, x: Any) -> Any:
    """Scores of the classes.

    Shapes: x (n, 8, 8, 1), result (n, 10).
    """
    x = ted.relu(ted.nn.conv2d(x, params["conv1"], params["bias1"], padding="same"))
    x = ted.nn.max_pool2d(x, 2)
    x = ted.relu(ted.nn.conv2d(x, params["conv2"], params["bias2"], padding="same"))
    return ted.nn.dense(ted.nn.flatten(x), params["dense"], params["bias3"])


def loss(params: Parameters, x: Any, y: Any) -> Any:
    """The mean cross-entropy of a batch with labels y (n)."""
    return ted.nn.cross_entropy(logits(params, x), y)


OPTIMIZER = ted.nn.adam(ted.nn.exponential_schedule(LEARNING_RATE, 0.5, HALVED_AFTER))


@partial(ted.function, subnormals="flush")  # Adam's averages of what is zero get that small
def step(params: Parameters, state: Any, x: Any, y: Any) -> Any:
    """One step of Adam: (loss, params, state).

    Shapes: params as SHAPES, state of `OPTIMIZER.init(params)`, x (n, 8, 8, 1), y (n).
    """
    value, gradients = ted.value_and_grad(loss)(params, x, y)
    return value, *OPTIMIZER.update(params, gradients, state)


@ted.function
def correct(params: Parameters, x: Any, y: Any) -> Any:
    """How many digits of a batch are classified right."""
    return ted.sum(ted.cast(ted.argmax(logits(params, x), axis=1) == y, "int64"))


def initial(seed: int = 0, dtype: str = "float32") -> Parameters:
    """Weights uniform with variance 2 / inputs, so that relu keeps the variance; small biases.

    Source: He et al., Delving Deep into Rectifiers, section 2.2.
    """
    rng = np.random.default_rng(seed)
    params: Parameters = {}
    inputs = 1
    for name, shape in SHAPES.items():
        inputs = math.prod(shape[:-1]) if len(shape) > 1 else inputs
        bound = math.sqrt((6 if len(shape) > 1 else 1) / inputs)
        params[name] = rng.uniform(-bound, bound, shape).astype(dtype)
    return params
