"""`nextafter`: the float next to another one, by arithmetic that rounds in every type alike.

Before: ted.nextafter(x, y)      After: |x| + u (1 + 2 u) |x|, rounded; near 0 by the least distance
"""

from __future__ import annotations

import math
from typing import Any

from ted.frontend.element_types import FloatLimits, finfo, result_type
from ted.frontend.elementwise import (
    absolute,
    cast,
    isfinite,
    isinf,
    isnan,
    stop_gradient,
    vectorize,
    where,
)
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar


@vectorize
def nextafter(a: Any, b: Any) -> Any:
    """The float next to `a` on the way to `b`, and `b` where both are equal.

    It is NumPy's bit by bit, but of zeros of two signs in float16: there NumPy has `a`.

    As in torch, the derivative in a is 1, 0 where both are equal, and that in b is 0.

    Shapes: broadcast; of the float type in which both meet.
    Raises: FrontendError for integers.
    Source: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding to
    nearest", BIT 49 (2009), algorithm 2.
    """
    if not isinstance(a, Scalar) and not isinstance(b, Scalar):
        return math.nextafter(a, b)
    kind = result_type(*(x.dtype if isinstance(x, Scalar) else x for x in (a, b)))
    if not kind.is_float:
        fail(f"nextafter: takes floats, got {kind}; write x.astype('float32')")
    x, y = cast(a, kind.name), cast(b, kind.name)
    one, limits = cast(1.0, kind.name), finfo(kind)
    sign = where(x < 0, -one, one)
    near = sign * _neighbour(absolute(x), where(y > x, sign, -sign), limits)
    near = where(isinf(x), sign * limits.max, near)  # on the way to what is not as large
    near = stop_gradient(near)
    has_slope = isfinite(x) & isfinite(near) & (near != 0)
    near = where(has_slope, near + (x - stop_gradient(x)), near)
    return where(isnan(x) | isnan(y), x + y, where(x == y, stop_gradient(y), near))


def _neighbour(size: Any, outwards: Any, limits: FloatLimits) -> Any:
    """The size next to one, away from 0 where `outwards` is 1, towards it where it is -1."""
    unit, least = limits.eps / 2, limits.smallest_normal * limits.eps
    more = unit * (1 + 2 * unit)
    middle = size / unit
    middle = (middle + outwards * (more * middle)) * unit
    near_zero = where(size < least / unit, size + outwards * least, middle)
    return where(size >= least / unit**2 / 2, size + outwards * (more * size), near_zero)
