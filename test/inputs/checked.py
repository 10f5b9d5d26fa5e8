"""Functions for ted-check: right derivatives, and one written by hand."""

import numpy as np

import ted

RNG = np.random.default_rng(0)


@ted.function
def layer(x, w):
    return ted.tanh(x @ w)


@ted.function
def forgotten(x):
    return x * x


def square(x):
    return x * x


def square_backward(inputs, outputs, heads):
    (x,) = inputs
    return 2.0 * x * heads[0]


CHECK = [
    (layer, (RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2)))),
    (square, square_backward, (RNG.normal(size=(3,)),)),
]
