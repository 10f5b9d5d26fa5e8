"""Random numbers as functions of keys: counter-based, the same on every target and any threads.

Nothing here has a state or a library: each element is an expression of its key and its position.
"""

from typing import Any

from ted.frontend.missing_names import missing
from ted.random.choices import (
    alpha_dropout,
    categorical,
    dropout,
    gumbel_softmax,
    permutation,
    randint,
    rrelu,
)
from ted.random.distributions import (
    bernoulli,
    exponential,
    gumbel,
    normal,
    truncated_normal,
    uniform,
)
from ted.random.keys import bits, fold_in, key, split

__all__ = [
    "alpha_dropout",
    "bernoulli",
    "bits",
    "categorical",
    "dropout",
    "exponential",
    "fold_in",
    "gumbel",
    "gumbel_softmax",
    "key",
    "normal",
    "permutation",
    "randint",
    "rrelu",
    "split",
    "truncated_normal",
    "uniform",
]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, __all__)
