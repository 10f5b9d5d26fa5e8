"""Values and derivatives of two orders in extended precision: triples that calculus alone moves.

A jet holds f, f' and f'' at a point.  Sums, products and quotients follow from Leibniz's rule; of a
function `lifted` takes the function and its two derivatives, written here from a table of calculus.
Nothing is shared with ted: its rules are what the jets judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp

Real = Any  # a number of mpmath


@dataclass(frozen=True)
class Jet:
    """A number and its first and second derivatives."""

    value: Real
    first: Real
    second: Real

    def __add__(self, other: Any) -> Jet:
        o = jet(other)
        return Jet(self.value + o.value, self.first + o.first, self.second + o.second)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.first, -self.second)

    def __sub__(self, other: Any) -> Jet:
        return self + -jet(other)

    def __rsub__(self, other: Any) -> Jet:
        return jet(other) - self

    def __mul__(self, other: Any) -> Jet:
        o = jet(other)
        cross = 2 * self.first * o.first
        return Jet(
            self.value * o.value,
            self.first * o.value + self.value * o.first,
            self.second * o.value + cross + self.value * o.second,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        return self * reciprocal(jet(other))

    def __rtruediv__(self, other: Any) -> Jet:
        return jet(other) / self


def jet(value: Any) -> Jet:
    """A constant, or a jet as it is."""
    return value if isinstance(value, Jet) else Jet(mp.mpf(value), mp.mpf(0), mp.mpf(0))


def variable(value: float) -> Jet:
    """A variable at a point."""
    return Jet(mp.mpf(value), mp.mpf(1), mp.mpf(0))


Function = Callable[[Any], Any]


def lifted(f: Function, first: Function, second: Function) -> Callable[[Jet], Jet]:
    """A function of jets from one of numbers and its derivatives."""

    def call(x: Jet) -> Jet:
        slope = first(x.value)
        bend = second(x.value) * x.first**2 + slope * x.second
        return Jet(f(x.value), slope * x.first, bend)

    return call


reciprocal = lifted(lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3)
_BELL = 2 / mp.sqrt(mp.pi)


def _bell(x: Real) -> Real:
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def power(n: float) -> Callable[[Jet], Jet]:
    """x to a constant power, of positive x."""
    p = mp.mpf(n)
    return lifted(lambda x: x**p, lambda x: p * x ** (p - 1), lambda x: p * (p - 1) * x ** (p - 2))


def _cbrt(x: Real) -> Real:
    return mp.sign(x) * mp.cbrt(abs(x))


# Function -> it and its two derivatives, in forms that lose no digits.
CALCULUS: dict[str, tuple[Function, Function, Function]] = {
    "exp": (mp.exp, mp.exp, mp.exp),
    "exp2": (lambda x: mp.exp(x * mp.ln2), lambda x: mp.ln2 * mp.exp(x * mp.ln2),
             lambda x: mp.ln2**2 * mp.exp(x * mp.ln2)),
    "expm1": (mp.expm1, mp.exp, mp.exp),
    "log": (mp.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "log2": (lambda x: mp.log(x) / mp.ln2, lambda x: 1 / (x * mp.ln2),
             lambda x: -1 / (x**2 * mp.ln2)),
    "log10": (lambda x: mp.log(x) / mp.ln10, lambda x: 1 / (x * mp.ln10),
              lambda x: -1 / (x**2 * mp.ln10)),
    "log1p": (mp.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2),
    "sqrt": (mp.sqrt, lambda x: 0.5 / mp.sqrt(x), lambda x: -0.25 / mp.sqrt(x) ** 3),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), lambda x: -0.5 / mp.sqrt(x) ** 3,
              lambda x: 0.75 / mp.sqrt(x) ** 5),
    "cbrt": (_cbrt, lambda x: 1 / (3 * _cbrt(x) ** 2), lambda x: -2 / (9 * _cbrt(x) ** 5)),
    "sin": (mp.sin, mp.cos, lambda x: -mp.sin(x)),
    "cos": (mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "tan": (mp.tan, lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.sec(x) ** 2 * mp.tan(x)),
    "asin": (mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)),
             lambda x: x / mp.sqrt((1 - x) * (1 + x)) ** 3),
    "acos": (mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)),
             lambda x: -x / mp.sqrt((1 - x) * (1 + x)) ** 3),
    "atan": (mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    "sinh": (mp.sinh, mp.cosh, mp.sinh),
    "cosh": (mp.cosh, mp.sinh, mp.cosh),
    "tanh": (mp.tanh, lambda x: mp.sech(x) ** 2, lambda x: -2 * mp.tanh(x) * mp.sech(x) ** 2),
    "asinh": (mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3),
    "acosh": (mp.acosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1)),
              lambda x: -x / mp.sqrt((x - 1) * (x + 1)) ** 3),
    "atanh": (mp.atanh, lambda x: 1 / ((1 - x) * (1 + x)),
              lambda x: 2 * x / ((1 - x) * (1 + x)) ** 2),
    "erf": (mp.erf, _bell, lambda x: -2 * x * _bell(x)),
    "erfc": (mp.erfc, lambda x: -_bell(x), lambda x: 2 * x * _bell(x)),
    "lgamma": (lambda x: mp.re(mp.loggamma(x)), mp.digamma, lambda x: mp.polygamma(1, x)),
    "digamma": (mp.digamma, lambda x: mp.polygamma(1, x), lambda x: mp.polygamma(2, x)),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)),
                lambda x: 1 / (1 + mp.exp(-x)) / (1 + mp.exp(x)),
                lambda x: -mp.tanh(x / 2) / (1 + mp.exp(-x)) / (1 + mp.exp(x))),
    "softplus": (lambda x: mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x)),
                 lambda x: 1 / (1 + mp.exp(-x)),
                 lambda x: 1 / (1 + mp.exp(-x)) / (1 + mp.exp(x))),
}  # fmt: skip
JETS = {name: lifted(*row) for name, row in CALCULUS.items()}
