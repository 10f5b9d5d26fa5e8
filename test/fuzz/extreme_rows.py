"""The scalar functions that `make fuzz ORACLE=extremes` tries: ted's, and the exact ones.

A row has the function of ted, the same in jets (`fuzz/jets.py`), where it is defined, and points
that numbers are drawn around: kinks, roots, poles, ends.  Functions of two arguments have a row for
each, with the other argument drawn beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp

import ted
from fuzz.jets import JETS, Jet, jet, lifted, power
from ted import special

INF = math.inf
PI = math.pi


@dataclass(frozen=True)
class Row:
    """A function of one argument x, and perhaps of another one beside it.

    `least` < x < `most` is where it is smooth, without the points of `without`; `ends` are the
    bounds of ordinary numbers.
    """

    mine: Callable[..., Any]
    exact: Callable[..., Jet]
    near: tuple[float, ...] = ()
    least: float = -INF
    most: float = INF
    other: tuple[float, float] | None = None  # bounds of the other argument
    poles: Callable[[float], bool] = lambda x: False
    ends: tuple[float, float] = (-20.0, 20.0)
    points: int = 10_000  # that a seed tries, fewer where extended precision takes long


def _jets(name: str) -> Callable[[Jet], Jet]:
    return JETS[name]


def _of(name: str, **where: Any) -> Row:
    return Row(getattr(ted, name), JETS[name], **where)


def _is_pole(x: float) -> bool:
    return x <= 0 and x == math.floor(x)


def _phi(x: Jet) -> Jet:
    """The normal distribution."""
    return JETS["erfc"](x * (-1 / mp.sqrt(2))) * 0.5


def _gelu(x: Jet) -> Jet:
    return x * _phi(x)


def _gelu_tanh(x: Jet) -> Jet:
    """0.5 (1 + tanh(u)) is sigmoid(2 u)."""
    inner = (x + x * x * x * mp.mpf("0.044715")) * mp.sqrt(2 / mp.pi)
    return x * JETS["sigmoid"](inner * 2)


def _mish(x: Jet) -> Jet:
    """tanh(log(1 + e)) is e (e + 2) / (e (e + 2) + 2)."""
    e = JETS["exp"](x)
    part = e * (e + 2)
    return x * (1 - 2 / (part + 2) if x.value > 0 else part / (part + 2))


def _sinc(x: Jet) -> Jet:
    angle = x * mp.pi
    if abs(angle.value) > mp.mpf(10) ** -8:
        return JETS["sin"](angle) / angle
    square = angle * angle
    return 1 - square / 6 * (1 - square / 20)


def _abs(x: Jet) -> Jet:
    return -x if x.value < 0 else x


def _logaddexp(x: Jet, y: float) -> Jet:
    other = jet(y)
    if x.value >= other.value:
        return x + JETS["softplus"](other - x)
    return other + JETS["softplus"](x - other)


def _hypot(x: Jet, y: float) -> Jet:
    return JETS["sqrt"](x * x + jet(y) * jet(y))


def _angle(y: Jet, x: Jet) -> Jet:
    """The derivatives of both arguments by Leibniz's rule."""
    y, x = jet(y), jet(x)
    square = (x * x + y * y).value
    turn = x * y.first - y * x.first
    first = turn.value / square
    moved = 2 * (x.value * x.first + y.value * y.first)
    second = -first * moved / square
    return Jet(mp.atan2(y.value, x.value), first, second)


def _pow_base(x: Jet, y: float) -> Jet:
    return power(y)(x)


def _pow_exponent(y: Jet, x: float) -> Jet:
    return JETS["exp"](y * mp.log(mp.mpf(x)))


def _elu(x: Jet, alpha: float = 1.0, scale: float = 1.0) -> Jet:
    below = JETS["expm1"](x) * mp.mpf(alpha)
    return (x if x.value > 0 else below) * mp.mpf(scale)


def _log_ndtr(x: Jet) -> Jet:
    return JETS["log"](_phi(x))


def _ierf(y: mp.mpf) -> mp.mpf:
    """The inverse of erf, from the logarithm of the tail where that is small."""
    return mp.erfinv(y)


_ROOT = mp.sqrt(mp.pi) / 2
_ERFINV = lifted(
    _ierf,
    lambda y: _ROOT * mp.exp(_ierf(y) ** 2),
    lambda y: 2 * _ierf(y) * _ROOT**2 * mp.exp(2 * _ierf(y) ** 2),
)


def _bessel_i(n: int, scaled: bool) -> Callable[[Jet], Jet]:
    def call(x: Jet) -> Jet:
        plain = lifted(
            lambda v: mp.besseli(n, v),
            lambda v: (mp.besseli(n - 1, v) + mp.besseli(n + 1, v)) / 2,
            lambda v: (mp.besseli(n - 2, v) + 2 * mp.besseli(n, v) + mp.besseli(n + 2, v)) / 4,
        )(x)
        return plain * JETS["exp"](-_abs(x)) if scaled else plain

    return call


def _bessel_j(n: int) -> Callable[[Jet], Jet]:
    return lifted(
        lambda v: mp.besselj(n, v),
        lambda v: (mp.besselj(n - 1, v) - mp.besselj(n + 1, v)) / 2,
        lambda v: (mp.besselj(n - 2, v) - 2 * mp.besselj(n, v) + mp.besselj(n + 2, v)) / 4,
    )


_GAMMA = lifted(
    mp.gamma,
    lambda x: mp.gamma(x) * mp.digamma(x),
    lambda x: mp.gamma(x) * (mp.digamma(x) ** 2 + mp.polygamma(1, x)),
)
_E1 = lifted(mp.e1, lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) * (x + 1) / x**2)


def _erfcx(x: Jet) -> Jet:
    """By its differential equation y' = 2 x y - 2 / sqrt(pi)."""
    with mp.workprec(mp.mp.prec + 200):
        v = x.value
        y = mp.exp(v * v) * mp.erfc(v)
        first = 2 * v * y - 2 / mp.sqrt(mp.pi)
        return Jet(y, first, 2 * y + 2 * v * first)


def _polygamma(n: int) -> Callable[[Jet], Jet]:
    return lifted(*(lambda x, k=k: mp.polygamma(n + k, x) for k in range(3)))


_TRIG = tuple(k * PI / 2 for k in range(-4, 5))
_WHOLE = (-3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 1.4616321449683622, 2.0, 8.0)
_LOG_MAX = (88.72283, 103.97, 87.33, 709.7827128, 745.13, 708.39)
_STEEP = (*_LOG_MAX, *(-v for v in _LOG_MAX), 0.0)

_BESSEL: dict[str, Any] = {  # what mpmath knows by series that converge
    "least": -700.0, "most": 700.0, "poles": lambda x: abs(x) < 1e-6, "points": 1000,
}  # fmt: skip

ROWS: dict[str, Row] = {
    **{n: _of(n, near=_STEEP, ends=(-110.0, 110.0)) for n in
       ("exp", "expm1", "sinh", "cosh", "softplus", "sigmoid", "tanh")},
    "exp2": _of("exp2", near=(128.0, -126.0, -149.0, 1024.0, -1022.0, -1074.0, 0.0)),
    **{n: _of(n, near=(1.0,), least=0.0) for n in ("log", "log2", "log10", "sqrt", "rsqrt")},
    "log1p": _of("log1p", near=(0.0, -1.0), least=-1.0),
    "cbrt": _of("cbrt", near=(1.0, -1.0), poles=lambda x: x == 0),
    **{n: _of(n, near=_TRIG, least=-1e5, most=1e5) for n in ("sin", "cos", "tan")},
    **{n: _of(n, near=(-1.0, 0.0, 1.0), least=-1.0, most=1.0, ends=(-1.0, 1.0))
       for n in ("asin", "acos", "atanh")},
    "atan": _of("atan", near=(0.0, 1.0, -1.0)),
    "asinh": _of("asinh", near=(0.0, 1.0, -1.0, 1e9, -1e9, 1e20)),
    "acosh": _of("acosh", near=(1.0, 2.0, 1e9, 1e20), least=1.0),
    "erf": _of("erf", near=(0.0, 1.0, 3.9, 5.9), ends=(-6.0, 6.0)),
    "erfc": _of("erfc", least=-1e4, most=1e4,
                near=(0.0, 0.5, 9.2, 10.05, 26.5, 27.2), ends=(-6.0, 28.0)),
    "lgamma": _of("lgamma", near=_WHOLE, least=-1e4, poles=_is_pole, points=1000),
    "digamma": _of("digamma", near=_WHOLE, least=-1e4, poles=_is_pole, points=1000),
    "sinc": Row(ted.sinc, _sinc, near=(0.0, 0.02, 1.0, 2.0, 0.5, -1.0), least=-1e5, most=1e5),
    "square": Row(ted.square, lambda x: x * x, near=(0.0,)),
    "reciprocal": Row(ted.reciprocal, lambda x: 1 / x, poles=lambda x: x == 0),
    "logaddexp": Row(ted.logaddexp, _logaddexp, other=(-100.0, 100.0), ends=(-100.0, 100.0)),
    "hypot": Row(ted.hypot, _hypot, other=(1e-30, 1e30)),
    "atan2 by y": Row(ted.atan2, lambda y, x: _angle(y, jet(x)), other=(1e-30, 1e30)),
    "atan2 by x": Row(lambda x, y: ted.atan2(y, x), lambda x, y: _angle(jet(y), x),
                      other=(1e-30, 1e30)),
    "power by base": Row(ted.power, _pow_base, other=(-3.0, 3.0), least=0.0, near=(1.0,)),
    "power by exponent": Row(lambda y, x: ted.power(x, y), _pow_exponent, other=(1e-3, 1e3)),
    "silu": Row(ted.nn.silu, lambda x: x * JETS["sigmoid"](x), near=_STEEP, ends=(-110.0, 110.0)),
    "gelu": Row(ted.nn.gelu, _gelu, least=-1e4, most=1e4,
                near=(0.0, -5.4, -0.75), ends=(-15.0, 15.0)),
    "gelu tanh": Row(lambda x: ted.nn.gelu(x, "tanh"), _gelu_tanh, least=-1e4, most=1e4,
                     near=(0.0, -5.4),
                     ends=(-15.0, 15.0)),
    "mish": Row(ted.nn.mish, _mish, near=_STEEP, ends=(-110.0, 110.0)),
    "elu": Row(ted.nn.elu, _elu, near=_STEEP, poles=lambda x: x == 0),
    "selu": Row(ted.nn.selu, lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805),
                near=_STEEP, poles=lambda x: x == 0),
    "celu": Row(ted.nn.celu, _elu, near=_STEEP, poles=lambda x: x == 0),
    "softsign": Row(ted.nn.softsign, lambda x: x / (1 + _abs(x)), poles=lambda x: x == 0),
    "logsigmoid": Row(ted.nn.logsigmoid, lambda x: -JETS["softplus"](-x), near=_STEEP,
                      ends=(-110.0, 110.0)),
    "tanhshrink": Row(ted.nn.tanhshrink, lambda x: x - JETS["tanh"](x), near=(0.0,)),
    "squareplus": Row(ted.nn.squareplus, lambda x: (x + JETS["sqrt"](x * x + 4)) / 2),
    "erfinv": Row(special.erfinv, _ERFINV, near=(0.0, 0.85, -1.0, 1.0), least=-1.0, most=1.0,
                  ends=(-1.0, 1.0), points=1000),
    "ndtr": Row(special.ndtr, _phi, least=-1e4, most=1e4, near=(0.0,), ends=(-40.0, 10.0)),
    "log_ndtr": Row(special.log_ndtr, _log_ndtr, least=-1e4, most=1e4,
                    near=(0.0, -20.0), ends=(-40.0, 10.0)),
    "erfcx": Row(special.erfcx, _erfcx,
                 near=(0.0, 12.0), least=-26.0, most=1e4, ends=(-26.0, 30.0)),
    "i0": Row(special.i0, _bessel_i(0, False), near=(20.0,), **_BESSEL),
    "i0e": Row(special.i0e, _bessel_i(0, True), near=(20.0,), **_BESSEL),
    "i1": Row(special.i1, _bessel_i(1, False), near=(20.0,), **_BESSEL),
    "i1e": Row(special.i1e, _bessel_i(1, True), near=(20.0,), **_BESSEL),
    "j0": Row(special.j0, _bessel_j(0), near=(25.0, 2.404825557695773), **_BESSEL),
    "j1": Row(special.j1, _bessel_j(1), near=(25.0, 3.831705970207512), **_BESSEL),
    "gamma": Row(special.gamma, _GAMMA, near=(*_WHOLE, 171.6243769563027), least=-170.0,
                 most=1e4, poles=_is_pole, points=1000),
    "exp1": Row(special.exp1, _E1, near=(1.0,), least=0.0, most=1e4, points=1000),
    "entr": Row(special.entr, lambda x: -(x * JETS["log"](x)), near=(1.0,), least=0.0),
    "logit": Row(special.logit, lambda x: JETS["log"](x) - JETS["log1p"](-x),
                 near=(0.0, 0.25, 0.5, 0.75, 1.0), least=0.0, most=1.0, ends=(0.0, 1.0)),
    "xlogy by x": Row(special.xlogy, lambda x, y: x * mp.log(mp.mpf(y)), other=(1e-30, 1e30)),
    "xlogy by y": Row(lambda y, x: special.xlogy(x, y), lambda y, x: JETS["log"](y) * mp.mpf(x),
                      other=(1e-30, 1e30), least=0.0, near=(1.0,)),
    "xlog1py by y": Row(lambda y, x: special.xlog1py(x, y),
                        lambda y, x: JETS["log1p"](y) * mp.mpf(x),
                        other=(1e-30, 1e30), least=-1.0, near=(0.0, -1.0)),
    "polygamma 1": Row(lambda x: special.polygamma(1, x), _polygamma(1), near=_WHOLE, least=-1e3,
                       poles=_is_pole),
    "1 / (1 + exp(-x))": Row(lambda x: 1 / (1 + ted.exp(-x)), JETS["sigmoid"], near=_STEEP,
                             ends=(-110.0, 110.0)),
    "1 / cosh(x)": Row(lambda x: 1 / ted.cosh(x), lambda x: 1 / JETS["cosh"](x), near=_STEEP,
                       ends=(-110.0, 110.0)),
    "1 / (1 + x * x)": Row(lambda x: 1 / (1 + x * x), lambda x: 1 / (1 + x * x), near=(0.0,)),
    "1 / (x * x)": Row(lambda x: 1 / (x * x), lambda x: 1 / (x * x), poles=lambda x: x == 0),
    "x / (1 + x * x)": Row(lambda x: x / (1 + x * x), lambda x: x / (1 + x * x), near=(0.0, 1.0)),
    "asinh(exp(x))": Row(lambda x: ted.asinh(ted.exp(x)), lambda x: JETS["asinh"](JETS["exp"](x)),
                         ends=(-100.0, 88.0), most=88.0),
}  # fmt: skip
