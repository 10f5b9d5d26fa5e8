"""The normal distribution and its quantiles, and with them the inverses of erf and erfc.

Source: Wichura, Algorithm AS 241, PPND16, Applied Statistics 37, 1988.
"""

from __future__ import annotations

import math
from typing import Any

from ted.frontend.elementwise import absolute, erfc, exp, log, log1p, minimum, sqrt, where
from ted.frontend.gamma_functions import series
from ted.special.arguments import elementwise

# Numerator and denominator, the lowest power first: in the middle, in tails, far out in them.
_RATIONAL = (
    ((
        3.3871328727963666080, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
        1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
        3.3430575583588128105e+4, 2.5090809287301226727e+3,
    ), (
        1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
        2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
        5.2264952788528545610e+3,
    )),
    ((
        1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
        3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ), (
        1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
        1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    )),
    ((
        6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ), (
        1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
        7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    )),
)  # fmt: skip
_MIDDLE, _NEAR, _FAR = _RATIONAL


def _quotient(x: Any, row: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    return series(x, row[0]) / series(x, row[1])


def _quantile(q: Any, tail: Any) -> Any:
    """Where the normal distribution is 1/2 + q; `tail` is 1/2 - |q|, which q alone has rounded."""
    central = absolute(q) <= 0.425
    inside = where(central, q, 0.0)
    middle = inside * _quotient(0.180625 - inside * inside, _MIDDLE)
    small = where(central | (tail <= 0), 0.05, tail)
    root = sqrt(-log(small))
    far = root > 5
    outer = where(
        far,
        _quotient(where(far, root, 5.0) - 5, _FAR),
        _quotient(where(far, 1.6, root) - 1.6, _NEAR),
    )
    outer = where(tail == 0, -log(tail), where(tail > 0, outer, math.nan))
    return where(central, middle, where(q < 0, -outer, outer))


@elementwise
def ndtri(p: Any) -> Any:
    """The inverse of `ndtr` on [0, 1], NaN outside."""
    return _quantile(p - 0.5, minimum(p, 1 - p))


@elementwise
def erfinv(x: Any) -> Any:
    """The inverse of erf on [-1, 1], NaN outside."""
    return _quantile(0.5 * x, 0.5 * (1 - absolute(x))) * math.sqrt(0.5)


@elementwise
def erfcinv(x: Any) -> Any:
    """The inverse of erfc on [0, 2], NaN outside."""
    return _quantile(0.5 - 0.5 * x, 0.5 * minimum(x, 2 - x)) * math.sqrt(0.5)


@elementwise
def ndtr(x: Any) -> Any:
    """The normal distribution: the integral of its density up to x."""
    return 0.5 * erfc(-x * math.sqrt(0.5))


@elementwise
def log_ndtr(x: Any) -> Any:
    """log(ndtr(x)), also where that is too small for a number."""
    far, right = x < -20, x > 0
    low = where(far, x, -20.0)
    inverse = 1 / (low * low)
    terms, term = [], 1.0
    for k in range(1, 13):
        term *= -(2 * k - 1)
        terms.append(term)
    asymptotic = log1p(series(inverse, terms) * inverse)
    left = -0.5 * low * low - log(-low) - 0.5 * math.log(2 * math.pi) + asymptotic
    middle = log(0.5 * erfc(where(far | right, 0.0, -x) * math.sqrt(0.5)))
    high = log1p(-0.5 * erfc(where(right, x, 0.0) * math.sqrt(0.5)))
    value = where(far, left, where(right, high, middle))
    return where(x != x, math.nan, where(x == -math.inf, -0.5 * x * x, value))


@elementwise
def erfcx(x: Any) -> Any:
    """exp(x * x) erfc(x), which is not small for large x."""
    far = x > 12
    high, low = where(far, x, 12.0), where(far, 0.0, x)
    inverse = 1 / (high * high)
    terms, term = [1.0], 1.0
    for k in range(1, 12):
        term *= -(k - 0.5)
        terms.append(term)
    tail = series(inverse, terms) / (high * math.sqrt(math.pi))
    return where(x == math.inf, 0.0, where(far, tail, exp(low * low) * erfc(low)))
