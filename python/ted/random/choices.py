"""Random choices: integers, classes, orders, and elements that are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ted
from ted.frontend import checks
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import INT32, INT64, UINT64, with_sign_of
from ted.random.distributions import bernoulli, gumbel, uniform
from ted.random.keys import bits, checked, split

_LEAST_OF_SELU = -1.7580993408473766
_ROUNDS_PER_BIT = 3 / math.log(2**32 - 1)  # equal sort keys are then rarer than 1 in n


def randint(
    key: Any, shape: checks.Shape, minval: Any, maxval: Any, dtype: Any = "int32"
) -> Tensor:
    """Integers of [minval, maxval), which are numbers that the type holds.

    Raises: FrontendError for what is no key or shape, or an interval without integers.
    """
    row = checks.dtype_of(dtype, "random.randint")
    if row.kind != "int":
        fail(f"random.randint: dtype must be one of integers, got {row}")
    low, high = (checks.integer(end, "random.randint: ends") for end in (minval, maxval))
    least, most = row.range
    if not least <= low < high <= most + 1:
        fail(
            f"random.randint: {least} <= minval < maxval <= {most + 1} of {row}, got {low}, {high}"
        )
    upper, lower = split(checked(key, "random.randint"))
    wide = row if row.bits >= 32 else INT32  # fewer bits would favour some integers
    word, span = with_sign_of(wide, UINT64), high - low
    first, second = (bits(k, shape, word) for k in (upper, lower))
    if span < 1 << wide.bits:
        half = (1 << wide.bits // 2) % span
        factor = half * half % (1 << wide.bits) % span
        second = ((first % span) * factor + second % span) % span
    return ted.cast(ted.cast(second, wide) + low, row)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> Tensor:
    """Positions along `axis`, each with the probability that softmax gives it.

    Shapes: that of `logits` without `axis`, or `shape`, which ends so.
    Raises: FrontendError for what is no key, or a shape that does not end in that of the logits.
    """
    logits = to_tensor(logits, "random.categorical: logits")
    if not logits.dtype.is_float:
        fail(f"random.categorical: logits must be floats, got {logits.dtype} ({logits.name})")
    along = checks.axis_of(axis, logits.ndim, "random.categorical")
    batch = (*logits.shape[:along], *logits.shape[along + 1 :])
    wanted = batch if shape is None else checks.shape_of(shape, INT64, "random.categorical")
    more = len(wanted) - len(batch)
    if more < 0 or wanted[more:] != batch:
        fail(f"random.categorical: shape must end in {batch} of the logits, got {wanted}")
    noise = gumbel(key, (*wanted[:more], *logits.shape), logits.dtype)
    return ted.argmax(noise + logits, axis=more + along)


def permutation(key: Any, x: Any, axis: int = 0) -> Tensor:
    """`x` in random order along `axis`, or for a number n the integers below n.

    The order is that of random numbers, which are sorted.

    Raises: FrontendError for what is no key, no number and no tensor with that axis.
    """
    key = checked(key, "random.permutation")
    if not isinstance(x, Tensor) and not hasattr(x, "__len__"):
        count = checks.integer(x, "random.permutation: x")
        if count < 0:
            fail(f"random.permutation: x must be a tensor or a number >= 0, got {count}")
        return _order(key, count)
    x = to_tensor(x, "random.permutation: x")
    along = checks.axis_of(axis, x.ndim, "random.permutation")
    count = x.shape[along]
    if not isinstance(count, int):
        fail(f"random.permutation: the extent along axis {along} must be a number, got {count}")
    order = _order(key, count)

    def element(*i: Any) -> Any:
        return x[(*i[:along], order[i[along]], *i[along + 1 :])]

    return ted.compute(x.shape, element, name="permutation")


def _order(key: Any, count: int) -> Tensor:
    order = ted.arange(count)
    for _ in range(math.ceil(_ROUNDS_PER_BIT * math.log(max(1, count)))):
        key, used = split(key)
        order = ted.take(order, ted.argsort(bits(used, (count,))), mode="unchecked")
    return order


def dropout(key: Any, x: Any, rate: float = 0.5, broadcast_dims: Sequence[int] = ()) -> Tensor:
    """x with elements zero with probability `rate`, the others divided by 1 - rate.

    Elements along `broadcast_dims` share their fate: of the spatial dims, whole channels do.
    Raises: FrontendError for what is no key, no tensor of floats, a rate outside [0, 1), or no dim.
    """
    x, kept = _kept("random.dropout", key, x, rate, broadcast_dims)
    return ted.where(kept, x / (1.0 - rate), 0.0)


def alpha_dropout(
    key: Any, x: Any, rate: float = 0.5, broadcast_dims: Sequence[int] = ()
) -> Tensor:
    """x with elements at the least value of `nn.selu` with probability `rate`, scaled and shifted.

    What has mean 0 and variance 1 keeps both.  Elements along `broadcast_dims` share their fate.
    Raises: FrontendError as `dropout`.
    Source: Klambauer et al., Self-Normalizing Neural Networks, NIPS 2017.
    """
    x, kept = _kept("random.alpha_dropout", key, x, rate, broadcast_dims)
    factor = ((1 - rate) * (1 + rate * _LEAST_OF_SELU**2)) ** -0.5
    return (ted.where(kept, x, _LEAST_OF_SELU) - rate * _LEAST_OF_SELU) * factor


def _kept(
    what: str, key: Any, x: Any, rate: float, broadcast_dims: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """The tensor, and which of its elements are kept."""
    x = _floats(what, x)
    rate = checks.number(rate, f"{what}: rate", "must be a number in [0, 1)", lambda r: 0 <= r < 1)
    shared = checks.axes_of(broadcast_dims, x.ndim, f"{what}: broadcast_dims")
    shape = tuple(1 if d in shared else n for d, n in enumerate(x.shape))
    return x, bernoulli(key, 1.0 - rate, shape)


def _floats(what: str, x: Any) -> Tensor:
    x = to_tensor(x, f"{what}: x")
    if not x.dtype.is_float:
        fail(f"{what}: x must be of a float type, got {x.dtype} ({x.name})")
    return x


def rrelu(key: Any, x: Any, lower: float = 1 / 8, upper: float = 1 / 3) -> Tensor:
    """x, where it is below 0 times a random factor of [lower, upper) for each element.

    Raises: FrontendError for what is no key, no tensor of floats, or no interval.
    """
    x = _floats("random.rrelu", x)
    low, high = (
        checks.number(b, "random.rrelu: bounds", "must be numbers") for b in (lower, upper)
    )
    if low > high:
        fail(f"random.rrelu: lower must be at most upper, got {lower!r} and {upper!r}")
    return ted.where(x < 0, x * uniform(key, x.shape, x.dtype, low, high), x)


def gumbel_softmax(
    key: Any, logits: Any, tau: float = 1.0, hard: bool = False, axis: int = -1
) -> Tensor:
    """softmax of logits with Gumbel noise, divided by `tau`: a categorical choice with slopes.

    `hard`: the value is 1 for the likeliest class and 0 elsewhere, the slopes are those of the
    softmax.
    Raises: FrontendError for what is no key, no tensor of floats, or a tau that is not positive.
    Source: Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax, ICLR 2017.
    """
    logits = to_tensor(logits, "random.gumbel_softmax: logits")
    if not logits.dtype.is_float or logits.ndim == 0:
        fail(f"random.gumbel_softmax: logits must be floats of a rank, got {logits!r}")
    tau = checks.number(tau, "random.gumbel_softmax: tau", "must be positive", lambda t: t > 0)
    along = checks.axis_of(axis, logits.ndim, "random.gumbel_softmax")
    noisy = (logits + gumbel(key, logits.shape, logits.dtype)) / tau
    raised = ted.exp(noisy - ted.stop_gradient(ted.max(noisy, along, keepdims=True)))
    soft = raised / ted.sum(raised, along, keepdims=True)
    if not checks.flag(hard, "random.gumbel_softmax: hard"):
        return soft
    top = ted.expand_dims(ted.argmax(soft, along), along)
    chosen = ted.compute(
        soft.shape,
        lambda *i: ted.where(top[(*i[:along], 0, *i[along + 1 :])] == i[along], 1, 0),
        name="chosen",
    )
    return ted.stop_gradient(chosen - soft) + soft
