"""Numbers of distributions that are made of others: each is JAX's of the same key and shape.

Before: random.laplace(key, shape)      After: sign(u) * log1p(-|u|) of u uniform in (-1, 1)

Those with parameters are differentiable in them, as the numbers that they are made of stay.
"""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend import checks
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.sorting import topk
from ted.frontend.tensors import Tensor, with_constant
from ted.ir.dtypes import DType
from ted.random.choices import permutation, randint
from ted.random.distributions import bernoulli, exponential, gumbel, normal, uniform
from ted.random.keys import checked


def cauchy(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the Cauchy distribution around 0 with scale 1.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.cauchy")
    return ted.tan(math.pi * (uniform(key, shape, row, 2.0**-row.mantissa, 1.0) - 0.5))


def laplace(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the Laplace distribution around 0 with scale 1.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.laplace")
    u = uniform(key, shape, row, -1 + 2.0 ** -(row.mantissa + 1), 1.0)
    return ted.sign(u) * ted.log1p(-ted.abs(u))


def logistic(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the logistic distribution around 0 with scale 1.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.logistic")
    u = uniform(key, shape, row, 2.0 ** (1 - row.exponent), 1.0)
    return ted.log(u) - ted.log1p(-u)


def maxwell(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the Maxwell distribution: lengths of three normal numbers.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.maxwell")
    extents = checks.shape_of(shape, row, "random.maxwell")
    return ted.sqrt(ted.sum(ted.square(normal(key, (*extents, 3), row)), -1))


def rademacher(key: Any, shape: checks.Shape = (), dtype: Any = "int32") -> Tensor:
    """1 and -1, one as likely as the other.

    Raises: FrontendError for what is no key, shape or type.
    """
    row = checks.dtype_of(dtype, "random.rademacher")
    extents = checks.shape_of(shape, row, "random.rademacher")
    return ted.where(bernoulli(key, 0.5, extents), ted.cast(1, row), ted.cast(-1, row))


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """exp(sigma z) of normal numbers z.

    Raises: FrontendError for what is no key or shape, or a sigma that does not broadcast to it.
    """
    (sigma,), extents, row = parameters("random.lognormal", [sigma], shape, dtype)
    return ted.exp(normal(key, extents, row) * sigma)


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Floats from 1 on, which are above x with probability x ** -b.

    Raises: FrontendError for what is no key or shape, or a b that does not broadcast to it.
    """
    (b,), extents, row = parameters("random.pareto", [b], shape, dtype)
    return ted.exp(exponential(key, extents, row) / b)


def rayleigh(key: Any, scale: Any = 1.0, shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Floats of the Rayleigh distribution: lengths of two normal numbers, times a scale.

    Raises: FrontendError for what is no key or shape, or a scale that does not broadcast to it.
    """
    (scale,), extents, row = parameters("random.rayleigh", [scale], shape, dtype)
    return scale * ted.sqrt(-2 * ted.log(uniform(key, extents, row)))


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = "float32"
) -> Tensor:
    """Floats of the Weibull distribution: powers of exponential numbers, times a scale.

    Raises: FrontendError for what is no key or shape, or parameters that do not broadcast to it.
    """
    given = [scale, concentration]
    (scale, power), extents, row = parameters("random.weibull_min", given, shape, dtype)
    return ted.power(exponential(key, extents, row), 1.0 / power) * scale


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = "int32") -> Tensor:
    """How often one tries until the first success, each with probability p above 0.

    What is more than `dtype` holds is the most that it holds, as in JAX.
    Raises: FrontendError for what is no key or shape, or a p that does not broadcast to it.
    """
    row = checks.dtype_of(dtype, "random.geometric")
    (p,), extents, _ = parameters("random.geometric", [p], shape, "float32")
    u = uniform(key, extents)
    tries = ted.floor(ted.log(ted.where(u == 0, 1.0, u)) / ted.log1p(-p)) + 1
    most = ted.inf if row.is_float else ted.iinfo(row).max
    return ted.where(tries < most, ted.cast(ted.stop_gradient(tries), row), most)


def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = "float32"
) -> Tensor:
    """Normal vectors with a mean and a covariance, which is positive definite.

    Shapes: mean (..., n), cov (..., n, n), result `shape` or what both broadcast to, then n.
    Raises: FrontendError for what is no key, or shapes that do not fit.
    """
    what = "random.multivariate_normal"
    row = checks.float_type(dtype, what)
    mean, cov = (ted.cast(to_tensor(v, what), row) for v in (mean, cov))
    if mean.ndim < 1 or cov.ndim < 2 or cov.shape[-2:] != (*mean.shape[-1:], *mean.shape[-1:]):
        fail(
            f"{what}: mean and cov must have the shapes (..., n) and (..., n, n), "
            f"got {mean.shape} and {cov.shape}"
        )
    batch = ted.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    extents = batch if shape is None else checks.shape_of(shape, row, what)
    checks.broadcast_to(batch, extents, what)
    z = normal(key, (*extents, mean.shape[-1]), row)
    return mean + ted.matvec(ted.cholesky(cov), z)


def choice(
    key: Any, a: Any, shape: checks.Shape = (), replace: bool = True, p: Any = None, axis: int = 0
) -> Tensor:
    """Slices of `a` along an axis, or integers below the number a: all as likely, or by weights p.

    Shapes: p (n) for n slices; the result has `shape` in place of the axis.
    Raises: FrontendError for what is no key, more slices than there are and no `replace`, or
    weights of another shape.
    """
    what = "random.choice"
    key = checked(key, what)
    plain = not isinstance(a, Tensor) and not hasattr(a, "__len__")
    x = ted.arange(checks.integer(a, f"{what}: a")) if plain else to_tensor(a, f"{what}: a")
    along = checks.axis_of(axis, x.ndim, what)
    count = checks.integer(x.shape[along], f"{what}: extent")
    extents = checks.shape_of(shape, x.dtype, what)
    drawn = math.prod(checks.integer(n, f"{what}: shape") for n in extents)
    again = checks.flag(replace, f"{what}: replace")
    if drawn and (not count or (drawn > count and not again)):
        way = " without replace=True" if count else ""
        fail(f"{what}: takes at most {count} of {count} slices{way}, got {drawn}")
    if not again and p is None:
        places = permutation(key, count)[:drawn]
    elif p is None:
        places = randint(key, (drawn,), 0, max(count, 1))
    else:
        places = _by_weights(key, to_tensor(p, f"{what}: p"), count, drawn, again)
    return ted.take(x, ted.reshape(places, extents), along, mode="unchecked")


def _by_weights(key: Any, p: Tensor, count: int, drawn: int, again: bool) -> Tensor:
    if p.shape != (count,) or not p.dtype.is_float:
        fail(f"random.choice: p must be {count} floats, got {p.dtype} of shape {p.shape}")
    if not again:
        return topk(gumbel(key, (count,), p.dtype) + ted.log(p), drawn)[1]
    upto = ted.cumsum(p)
    below = upto[count - 1] * (1 - uniform(key, (drawn,), p.dtype))
    return ted.searchsorted(upto, below)


def parameters(
    what: str, given: list[Any], shape: Any, dtype: Any
) -> tuple[list[Any], tuple[Any, ...], DType]:
    """Parameters in a type of floats, and the shape, theirs unless it is said.

    Raises: FrontendError for what are no numbers, no type, or no shape that they broadcast to.
    """
    row = checks.float_type(dtype, what)
    values = [with_constant(value, what) for value in given]
    tensors = [
        ted.cast(v, row) if isinstance(v, Tensor) else ted.full((), checks.number(v, what), row)
        for v in values
    ]
    own = ted.broadcast_shapes(*(t.shape for t in tensors))
    extents = own if shape is None else checks.shape_of(shape, row, what)
    checks.broadcast_to(own, extents, what)
    return list(tensors), tuple(extents), row
