"""Numbers that are tried until one is accepted: of the gamma distribution, and made of those.

Before: random.gamma(key, a)
After:  for each element, by a key of its own: x normal, u uniform, again and again, until
        log(u) < x ** 2 / 2 + d (1 - v + log(v)), of v = (1 + c x) ** 3; then d v

Keys, tries and formulas are JAX's, so numbers are, but for the roundings of `normal`. What is tried
has no slope: that in a parameter is of the number that has the same share of all below it, -(dP/da)
/ (dP/dx) of P = `special.gammainc`, of any order.
Sources: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000; Figurnov et al.,
Implicit Reparameterization Gradients, 2018; Hoermann, Transformed Rejection, 1993 (poisson).
"""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend import checks
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT32
from ted.random.distributions import exponential, normal, uniform
from ted.random.keys import checked, split
from ted.random.transformed import parameters

# Tries of a normal number above -1 / c, and of one that is accepted: one fails with probability
# 0.008 and 0.05 at most. Of poisson's, 64 counts below 10 expected ones and as many refusals are
# rarer than 1e-19.
_TRIES, _PAIRS = 16, 64


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Floats of the gamma distribution of shape `a` and scale 1, differentiable in `a`.

    Raises: FrontendError for what is no key or shape, or an a that does not broadcast to it.
    """
    return _gamma("random.gamma", key, a, shape, dtype, False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Logarithms of the numbers of `gamma`, also of those that are too small for their type.

    Raises: FrontendError as `gamma`.
    """
    return _gamma("random.loggamma", key, a, shape, dtype, True)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Floats of the beta distribution, differentiable in `a` and `b`.

    Raises: FrontendError for what is no key or shape, or parameters that do not broadcast to it.
    """
    (a, b), extents, row = parameters("random.beta", [a, b], shape, dtype)
    of_a, of_b = _keys(key, 2, "random.beta")
    return ted.sigmoid(loggamma(of_a, a, extents, row) - loggamma(of_b, b, extents, row))


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Vectors of shares that add up to 1, along a last dim as long as `alpha`'s.

    Raises: FrontendError for what is no key, an alpha without a dim, or a shape that the other dims
    of alpha do not broadcast to.
    """
    alpha = to_tensor(alpha, "random.dirichlet: alpha")
    if not alpha.ndim:
        fail(f"random.dirichlet: alpha must have a dim of classes, got a scalar ({alpha.name})")
    row = checks.float_type(dtype, "random.dirichlet")
    batch = alpha.shape[:-1] if shape is None else checks.shape_of(shape, row, "random.dirichlet")
    return ted.nn.softmax(loggamma(key, alpha, (*batch, alpha.shape[-1]), row), -1)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Floats of the chi-square distribution of `df` degrees of freedom, differentiable in them.

    Raises: FrontendError for what is no key or shape, or a df that does not broadcast to it.
    """
    (df,), extents, row = parameters("random.chisquare", [df], shape, dtype)
    return 2 * ted.exp(loggamma(key, df / 2, extents, row))


def t(key: Any, df: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Floats of Student's t distribution of `df` degrees of freedom, differentiable in them.

    Raises: FrontendError for what is no key or shape, or a df that does not broadcast to it.
    """
    (df,), extents, row = parameters("random.t", [df], shape, dtype)
    of_normal, of_gamma = _keys(key, 2, "random.t")
    half = df / 2
    return normal(of_normal, extents, row) * ted.sqrt(half / gamma(of_gamma, half, extents, row))


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = "int32") -> Tensor:
    """Counts of events of which `lam` are expected; -1 where lam is negative or NaN, as in JAX.

    That is the most of a type without a sign, as what is more than `dtype` holds is the most.
    Raises: FrontendError for what is no key or shape, no type of integers, or a lam that does not
    broadcast to the shape.
    """
    kind = checks.dtype_of(dtype, "random.poisson")
    if kind.kind != "int":
        fail(f"random.poisson: dtype must be one of integers, got {kind}")
    (lam,), extents, _ = parameters("random.poisson", [lam], shape, FLOAT32)
    key, lam = to_tensor(checked(key, "random.poisson"), "key"), ted.broadcast_to(lam, extents)
    lam = ted.stop_gradient(lam)  # counts have no slope
    few = ~(lam >= 10)
    counted = _counted(key, ted.where(few, lam, 0.0)) - 1
    tried = _tried(key, ted.where(few, 1e5, lam))
    found, most = ted.where(few, counted, tried), ted.iinfo(kind).max
    found = ted.where((lam == 0) | (lam == ted.inf), lam, found)
    none = ted.where(found < 0, most if kind.is_unsigned else -1, ted.cast(found, kind))
    return ted.where(found < most, none, most)


def _counted(key: Tensor, lam: Tensor) -> Tensor:
    """How many uniform numbers have a product above exp(-lam), by Knuth."""

    def step(state: Any) -> Any:
        count, key, logarithm = state
        key, used = split(key)
        count = ted.where(logarithm > -lam, count + 1, count)
        return count, key, logarithm + ted.log(uniform(used, lam.shape))

    start = ted.zeros_like(lam)
    return ted.while_loop(lambda s: ted.any(s[2] > -lam), step, (start, key, start), _PAIRS)[0]


def _tried(key: Tensor, lam: Tensor) -> Tensor:
    """Of many expected events: by transformed rejection."""
    b = 0.931 + 2.53 * ted.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse, most = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)

    def step(state: Any) -> Any:
        found, open, key = state
        key, first, second = _keys(key, 3, "random.poisson")
        u, v = uniform(first, lam.shape) - 0.5, uniform(second, lam.shape)
        side = 0.5 - ted.abs(u)
        k = ted.floor((2 * a / side + b) * u + lam + 0.43)
        s = ted.log(v * inverse / (a / (side * side) + b))
        below = s <= -lam + k * ted.log(lam) - ted.lgamma(k + 1)
        refused = (k < 0) | ((side < 0.013) & (v > side))
        accepted = ((side >= 0.07) & (v <= most)) | (~refused & below)
        return ted.where(accepted, k, found), open & ~accepted, key

    start = ted.full(lam.shape, -1.0, FLOAT32), ted.full(lam.shape, True, "bool"), key
    return ted.while_loop(lambda s: ted.any(s[1]), step, start, _PAIRS)[0]


def _keys(key: Any, count: int, what: str) -> list[Any]:
    keys = split(checked(key, what), count)
    return [keys[k] for k in range(count)]


# ------------------------------------------------------------------ the gamma distribution


def _gamma(what: str, key: Any, a: Any, shape: Any, dtype: Any, in_logs: bool) -> Tensor:
    (a,), extents, row = parameters(what, [a], shape, dtype)
    wide = row if row.bits > 16 else FLOAT32
    count = math.prod(checks.integer(n, f"{what}: extent") for n in extents)
    flat = ted.reshape(ted.broadcast_to(ted.cast(a, wide), extents), (count,))
    keys = to_tensor(split(checked(key, what), count), "keys")

    @ted.custom_vjp
    def drawn(keys: Tensor, flat: Tensor) -> Tensor:
        return ted.vmap(lambda key, a: _one(key, a, in_logs))(keys, flat)

    @drawn.defvjp
    def _adjoint(inputs: Any, outputs: Any, heads: Any) -> Any:
        return None, heads[0] * _slope(inputs[1], outputs[0], in_logs)

    return ted.cast(ted.reshape(drawn(keys, flat), extents), row)


def _slope(a: Tensor, found: Tensor, in_logs: bool) -> Tensor:
    """How a number changes with `a`, which keeps its share of all numbers below it."""
    x = ted.maximum(ted.exp(found) if in_logs else found, ted.finfo(found.dtype).smallest_normal)
    of_a = ted.jvp(ted.special.gammainc, (a, x), (ted.ones_like(a), ted.zeros_like(x)))[1]
    power = a if in_logs else a - 1  # that of x in the density, times x for a logarithm
    return -of_a * ted.exp(x + ted.lgamma(a) - power * ted.log(x))


def _one(key: Tensor, shape: Tensor, in_logs: bool) -> Tensor:
    """A number of one shape, or its logarithm; of a shape below 1 by one of a + 1."""
    small, dtype = shape < 1, shape.dtype
    a = ted.where(small, shape + 1, shape)
    d = a - 1 / 3
    c = 1 / 3 / ted.sqrt(d)

    def refused(state: Any) -> Any:
        _, square, v, u = state
        below = square * 0.5 + d * (1 - v + ted.log(v))
        return (u >= 1 - 0.0331 * (square * square)) & (ted.log(u) >= below)

    def again(state: Any) -> Any:
        key, used = _keys(state[0], 2, "random.gamma")
        x = normal(used, (), dtype)
        return key, x, 1 + x * c

    def step(state: Any) -> Any:
        key, of_x, of_u = _keys(state[0], 3, "random.gamma")
        none = ted.zeros((), dtype)
        first = of_x, none, none
        _, x, v = ted.while_loop(lambda s: s[2] <= 0, again, first, max_steps=_TRIES)
        return key, x * x, v * v * v, uniform(of_u, (), dtype)

    key, used = _keys(key, 2, "random.gamma")
    start = key, ted.zeros((), dtype), ted.ones((), dtype), ted.full((), 2.0, dtype)
    v = ted.while_loop(refused, step, start, max_steps=_PAIRS)[2]
    if in_logs:
        more = -exponential(used, (), dtype)
        return ted.log(d) + ted.log(v) + ted.where(small & (more != 0), more / shape, 0.0)
    return d * v * ted.where(small, (1 - uniform(used, (), dtype)) ** (1 / shape), 1.0)
