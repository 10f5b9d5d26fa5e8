"""Functions for ted-check whose derivatives are wrong or cannot be had."""

import numpy as np

import ted


def square(x):
    return x * x


def square_backward(inputs, outputs, heads):
    (x,) = inputs
    return -2.0 * x * heads[0]


def rounded(x):
    raise ValueError("never ready")


def forgetful(x):
    return x * x


def forgetful_backward(inputs, heads):
    return 2.0 * inputs[0] * heads[0]


CHECK = [
    (square, square_backward, (np.array([1.0, 2.0, -3.0]),)),
    (ted.function(rounded), (np.array([1.0]),)),
    (forgetful, forgetful_backward, (np.array([1.0]),)),
]
