"""Random numbers as functions of keys: counter-based, the same on every target and any threads.

Nothing here has a state or a library: each element is an expression of its key and its position.
"""

import typing

from ted.frontend import keywords, missing_names
from ted.random.choices import alpha_dropout as alpha_dropout
from ted.random.choices import categorical as categorical
from ted.random.choices import dropout as dropout
from ted.random.choices import gumbel_softmax as gumbel_softmax
from ted.random.choices import permutation as permutation
from ted.random.choices import randint as randint
from ted.random.choices import rrelu as rrelu
from ted.random.distributions import bernoulli as bernoulli
from ted.random.distributions import exponential as exponential
from ted.random.distributions import gumbel as gumbel
from ted.random.distributions import normal as normal
from ted.random.distributions import truncated_normal as truncated_normal
from ted.random.distributions import uniform as uniform
from ted.random.keys import bits as bits
from ted.random.keys import fold_in as fold_in
from ted.random.keys import key as key
from ted.random.keys import split as split
from ted.random.rejection import beta as beta
from ted.random.rejection import chisquare as chisquare
from ted.random.rejection import dirichlet as dirichlet
from ted.random.rejection import gamma as gamma
from ted.random.rejection import loggamma as loggamma
from ted.random.rejection import poisson as poisson
from ted.random.rejection import t as t
from ted.random.transformed import cauchy as cauchy
from ted.random.transformed import choice as choice
from ted.random.transformed import geometric as geometric
from ted.random.transformed import laplace as laplace
from ted.random.transformed import logistic as logistic
from ted.random.transformed import lognormal as lognormal
from ted.random.transformed import maxwell as maxwell
from ted.random.transformed import multivariate_normal as multivariate_normal
from ted.random.transformed import pareto as pareto
from ted.random.transformed import rademacher as rademacher
from ted.random.transformed import rayleigh as rayleigh
from ted.random.transformed import weibull_min as weibull_min

__all__ = keywords.published(globals(), __name__)


def __getattr__(name: str) -> typing.Any:
    raise missing_names.missing(__name__, name, __all__)
