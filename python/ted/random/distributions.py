"""Numbers of distributions, each a function of the uniform one at its position."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ted
from ted.frontend import checks
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor, with_constant
from ted.ir.dtypes import BFLOAT16, FLOAT16, FLOAT64, INT32, UINT8, UINT16, UINT32, DType
from ted.random.inverse_erf import inverse_erf
from ted.random.keys import drawn, of_words

_WORDS = {FLOAT16: UINT16, BFLOAT16: UINT8}  # the bits that floats of 16 are made of


def uniform(
    key: Any, shape: checks.Shape = (), dtype: Any = "float32", minval: Any = 0.0, maxval: Any = 1.0
) -> Tensor:
    """Floats of [minval, maxval): every multiple of 2 ** -mantissa of [0, 1), scaled.

    The ends are numbers, or tensors that broadcast to the shape.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.uniform")
    unit = drawn(key, shape, lambda a, b: fraction(a, b, row), "random.uniform")
    ends = [with_constant(end, "random.uniform: ends") for end in (minval, maxval)]
    if not any(isinstance(end, Tensor) for end in ends):
        low, high = (_number(end, "random.uniform: ends") for end in (minval, maxval))
        return unit if (low, high) == (0, 1) else scaled(unit, low, high, row)
    low, high = (_spread(end, unit, row) for end in ends)
    return ted.maximum(low, unit * (high - low) + low)


def _spread(end: Any, unit: Tensor, dtype: DType) -> Tensor:
    if not isinstance(end, Tensor):
        return ted.full((), end, dtype)
    checks.broadcast_to(end.shape, unit.shape, "random.uniform: ends")
    return ted.cast(end, dtype)


def normal(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the normal distribution with mean 0 and deviation 1.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.normal")
    least = -1 + 2.0 ** -(row.mantissa + 1)  # the first number above -1, as -1 gives -inf

    def number(first: Any, second: Any) -> Any:
        u = scaled(fraction(first, second, row), least, 1.0, row)
        return math.sqrt(2) * inverse_erf(u)

    return drawn(key, shape, number, "random.normal")


def truncated_normal(
    key: Any, lower: float, upper: float, shape: checks.Shape = (), dtype: Any = "float32"
) -> Tensor:
    """Normal numbers, of which those outside of [lower, upper] are drawn again, so to say.

    Raises: FrontendError for what is no key, shape, or type of floats, or ends that are no numbers
    with lower < upper.
    """
    what = "random.truncated_normal"
    row = checks.float_type(dtype, what)
    ends = [_number(end, f"{what}: ends") for end in (lower, upper)]
    if not ends[0] < ends[1]:
        fail(f"{what}: ends must be lower < upper, got {lower!r} and {upper!r}")
    low, high = (float(np.asarray(math.erf(end / math.sqrt(2)), row.dtype)) for end in ends)
    # A uniform number may be rounded to an end, or its root beyond it.
    inner = np.nextafter(*np.asarray([ends, ends[::-1]], np.float64).astype(row.dtype))

    def number(first: Any, second: Any) -> Any:
        u = scaled(fraction(first, second, row), low, high, row)
        return ted.clip(math.sqrt(2) * inverse_erf(u), *map(float, inner))

    return drawn(key, shape, number, what)


def _number(value: Any, what: str) -> float:
    return float(checks.number(value, what, "must be numbers"))


def exponential(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the exponential distribution with mean 1.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.exponential")
    what = "random.exponential"
    return drawn(key, shape, lambda a, b: -ted.log1p(-fraction(a, b, row)), what)


def gumbel(key: Any, shape: checks.Shape = (), dtype: Any = "float32") -> Tensor:
    """Floats of the Gumbel distribution, -log(-log(u)).

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    row = checks.float_type(dtype, "random.gumbel")
    tiny = 2.0 ** (1 - row.exponent)

    def number(first: Any, second: Any) -> Any:
        u = scaled(fraction(first, second, row), tiny, 1.0, row)
        return -ted.log(-ted.log(u))

    return drawn(key, shape, number, "random.gumbel")


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Tensor:
    """Bools that are true with probability `p`, a number or a tensor that broadcasts to `shape`.

    Raises: FrontendError for what is no key or shape, or a probability that is no float.
    """
    p = with_constant(p, "random.bernoulli: p")
    if not isinstance(p, Tensor):
        p = ted.full((), _probability(p, "random.bernoulli: p"), "float32")
    if not p.dtype.is_float:
        fail(f"random.bernoulli: p must be a float, got {p.dtype} of shape {p.shape} ({p.name})")
    extents = p.shape if shape is None else checks.shape_of(shape, p.dtype, "random.bernoulli")
    checks.broadcast_to(p.shape, extents, "random.bernoulli: p")
    unit = drawn(key, extents, lambda a, b: fraction(a, b, p.dtype), "random.bernoulli")
    return unit < p


def _probability(value: Any, what: str) -> float:
    return float(checks.number(value, what, "must be a number in [0, 1]", lambda p: 0 <= p <= 1))


def fraction(first: Any, second: Any, dtype: DType) -> Any:
    """The float of [0, 1) that two words make, a multiple of 2 ** -mantissa, exactly."""
    if dtype == FLOAT64:  # the upper 52 bits of 64: every sum of the two parts is exact
        return ted.cast(first, dtype) * 2.0**-32 + ted.cast(second >> 12, dtype) * 2.0**-52
    word = _WORDS.get(dtype, UINT32)
    whole = ted.cast(of_words(first, second, word) >> (word.bits - dtype.mantissa), INT32)
    return ted.cast(whole, dtype) * 2.0**-dtype.mantissa


def scaled(unit: Any, low: float, high: float, dtype: DType) -> Any:
    """A number of [0, 1) moved to [low, high)."""
    least = np.asarray(low, dtype.dtype)
    length = float(np.asarray(high, dtype.dtype) - least)
    return ted.maximum(float(least), unit * length + float(least))
