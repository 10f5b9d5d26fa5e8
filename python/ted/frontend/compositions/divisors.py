"""Divisors and multiples that integers have in common, by steps that are counted before.

Before: ted.gcd(a, b)      After: a, b = b, min(a % b, b - a % b), as often as a type may need it
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from ted.frontend import checks
from ted.frontend.elementwise import absolute, cast, minimum, vectorize, where
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.ir.dtypes import INT64, UNSIGNED, DType, promote
from ted.ir.scalar import is_const

# Of the two remainders the lesser one is at most half of the divisor, and two of them in turn make
# numbers less by 1 + sqrt(2) each: Pell's numbers take the most steps.
# Source: Knuth, The Art of Computer Programming, volume 2, section 4.5.3, exercise 30.
_BITS_PER_STEP = math.log2(1 + math.sqrt(2))


@vectorize
def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor of integers, not negative; that of 0 and b is |b|.

    Raises: FrontendError for what is no integer.
    """
    kind = _meeting("gcd", a, b)
    return math.gcd(a, b) if kind is None else cast(_divisor(*_sizes(kind, a, b)), kind)


@vectorize
def lcm(a: Any, b: Any) -> Any:
    """The least common multiple of integers, not negative, 0 where one is 0; it wraps around.

    Raises: FrontendError for what is no integer.
    """
    kind = _meeting("lcm", a, b)
    if kind is None:
        return math.lcm(a, b)
    x, y = _sizes(kind, a, b)
    return cast(x // _divisor(x, y) * y, kind)  # by 0 it gives 0


def _meeting(what: str, *operands: Any) -> DType | None:
    """The type in which two integers meet; None for numbers of Python."""
    kinds = [v.dtype for v in operands if isinstance(v, Scalar)]
    for value in operands:
        if not isinstance(value, Scalar):
            checks.integer(value, f"{what}: an operand")
        elif value.dtype.kind not in ("int", "index"):
            fail(f"{what}: operands must be integers, got {value.dtype}")
    if not kinds:
        return None
    kind = reduce(promote, [INT64 if k.is_index else k for k in kinds])
    if kind.is_float:
        fail(f"{what}: no type of integers holds those of both {kinds[0]} and {kinds[1]}; cast one")
    return kind


def _sizes(kind: DType, *operands: Any) -> list[Any]:
    """Magnitudes, which the type without a sign holds, that of the least integer, too."""
    wide = next(t for t in UNSIGNED if t.bits == kind.bits)
    return [cast(cast(absolute(cast(v, kind)), kind), wide) for v in operands]


def _divisor(a: Any, b: Any) -> Any:
    """The greatest common divisor of magnitudes: of remainders, which get less, the last one."""
    for _ in range(math.ceil(a.dtype.bits / _BITS_PER_STEP) + 1):
        if is_const(b.expr, 0):
            return a
        rest = a % b  # of 0 it is 0
        a, b = where(b == 0, a, b), minimum(rest, b - rest)
    return a
