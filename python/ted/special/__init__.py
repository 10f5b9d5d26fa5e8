"""Special functions, `ted.special`, by the names of `scipy.special`, `jax.scipy.special` and torch.

Each is an expression of elements, computed in f64 and rounded to the type of its arguments, and is
differentiated as what it is, at every order: nothing here has a derivative of its own.
"""

from typing import Any

from ted.frontend.elementwise import erf, erfc
from ted.frontend.elementwise import sigmoid as expit
from ted.frontend.gamma_functions import digamma
from ted.frontend.gamma_functions import lgamma as gammaln
from ted.frontend.keywords import accepting
from ted.frontend.missing_names import missing
from ted.frontend.reductions import logsumexp
from ted.nn import log_softmax, softmax
from ted.special.around_gamma import (
    beta,
    betaln,
    exp1,
    gammainc,
    gammaincc,
    multigammaln,
    polygamma,
    zeta,
)
from ted.special.bessel import i0, i0e, i1, i1e, j0, j1
from ted.special.entropy import entr, logit, rel_entr, xlog1py, xlogy
from ted.special.factorials import comb, factorial, gamma
from ted.special.incomplete_beta import betainc
from ted.special.normal import erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri

bessel_j0, bessel_j1 = j0, j1
igamma, igammac = gammainc, gammaincc
psi = digamma

__all__ = [
    "bessel_j0", "bessel_j1", "beta", "betainc", "betaln", "comb", "digamma", "entr", "erf", "erfc",
    "erfcinv", "erfcx", "erfinv", "exp1", "expit", "factorial", "gamma", "gammainc", "gammaincc",
    "gammaln", "i0", "i0e", "i1", "i1e", "igamma", "igammac", "j0", "j1", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "rel_entr",
    "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

for _name in __all__:  # other libraries' keywords are accepted, as in `ted`
    globals()[_name] = accepting(globals()[_name], __name__, _name)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, __all__)
