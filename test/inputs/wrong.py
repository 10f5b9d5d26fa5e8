"""Functions for ted-check whose derivatives are wrong or cannot be had."""

import numpy as np

import ted


def square(x):
    return x * x


def square_backward(inputs, outputs, head):
    (x,) = inputs
    return -2.0 * x * head


def rounded(x):
    raise ValueError("never ready")


def forgetful(x):
    return x * x


def forgetful_backward(inputs, head):
    return 2.0 * inputs[0] * head


CHECK = [
    (square, square_backward, (np.array([1.0, 2.0, -3.0]),)),
    (ted.function(rounded), (np.array([1.0]),)),
    (forgetful, forgetful_backward, (np.array([1.0]),)),
]
