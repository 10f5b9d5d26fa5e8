"""Keys that a network sorts: values with their positions behind them, in one number where it holds.

Before: rows of values
After:  numbers in the order of the values, equal ones in that of their positions, NaN greatest; a
        position is read off its number again

Integers of 32 bits stand above their positions in one of 64.  Floats of 32 bits leave 29 bits of
one of 64, of which positions take 27: x becomes `x + |x| * position * 2 ** -52`, which is exact but
for one rounding that loses no position.  Wider values take a part of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.creation import arange
from ted.frontend.elementwise import (
    absolute,
    cast,
    isnan,
    maximum,
    minimum,
    round,
    stop_gradient,
    where,
)
from ted.frontend.float_numbers import FloatNumbers
from ted.frontend.layout import broadcast_to, reshape
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, INT32, INT64
from ted.records import dataclass

_NARROW = 32  # bits of values that fit beside their positions
_MOST = 1 << 27  # positions that a float of 64 bits holds beside one of 32
_UNIT = 2.0**-52
_INFINITE, _NO_NUMBER = 2.0**129, 2.0**130  # beyond floats of 32 bits, and finite
_AT_ZERO = 2.0**-400  # a position of a zero: below what any other float of 32 bits becomes


@dataclass(frozen=True)
class Keys:
    """The parts of keys of `count` values along dim 1, and of a key that comes behind all."""

    parts: tuple[Tensor, ...]
    last: tuple[Any, ...]
    count: int

    def positions(self, parts: Sequence[Tensor]) -> Tensor:
        """Where values were, by parts of their keys in any order."""
        key = parts[-1]
        if len(parts) > 1:
            return cast(key, INT64) % self.count
        if not key.dtype.is_float:
            return key & 0xFFFFFFFF

        def place(*i: Any) -> Any:
            size = absolute(key[i])
            beyond = cast(where(size > 1.5 * _INFINITE, 2.0, 1.0), "float64") * _INFINITE
            # Rounded as a cast is, which no contraction of products and sums can undo.
            near = cast(cast(key[i], "float32"), "float64")
            value = where(size < 0.75 * _INFINITE, near, where(key[i] < 0, -beyond, beyond))
            behind = (key[i] - value) / (absolute(value) * _UNIT)
            return cast(round(where(size < 1e-100, key[i] / _AT_ZERO, behind)), INT64)

        return compute(key.shape, place, name="place")


def keys_of(values: Tensor, descending: bool) -> Keys:
    """The keys of (outer, n, inner) values along n.

    Raises: FrontendError for a symbolic n.
    """
    n = checks.integer(values.shape[1], "sort: extent")
    if is_wide(values):
        parts = values_and_places(values, descending)
        top = math.inf if values.dtype.is_float else values.dtype.range[1]
        return Keys(parts, (top, 2 * n), n)
    if values.dtype.is_float:
        return Keys((_float_keys(values, descending),), (math.inf,), n)
    top = values.dtype.range[1]
    wide = comparable(cast(values, INT64) - (1 << 31 if top >= 1 << 31 else 0), descending)
    return Keys((wide * 2**32 + reshape(arange(n), (1, n, 1)),), (2**63 - 1,), n)


def is_wide(values: Tensor) -> bool:
    """Whether a value and its position do not fit into one number."""
    return values.dtype.bits > _NARROW or (values.dtype.is_float and values.shape[1] > _MOST)


def halves_of(values: Tensor, descending: bool) -> list[Tensor]:
    """The lower and the upper half of integers in the order of wide values, NaN greatest."""
    if values.dtype.is_float:
        floats = FloatNumbers.of("float64")

        def number(*i: Any) -> Any:
            found = floats.number_of(cast(stop_gradient(values[i]), "float64"))
            return -1 - found if descending else found

        numbers = compute(values.shape, number, name="number")
    else:
        least = values.dtype.range[0]  # of unsigned ones the sign is that of the other half
        numbers = cast(comparable(values, descending), INT64) - (0 if least else -(2**63))
    return [cast((numbers & 0xFFFFFFFF) - 2**31, INT32), cast(numbers >> 32, INT32)]


def comparable(values: Tensor, descending: bool) -> Tensor:
    """Integers in whose rising order the values, which are no floats, rise or fall."""
    if values.dtype == BOOL:
        values = cast(values, INT32)
    least, most = values.dtype.range
    return least + (most - values) if descending else values


def _float_keys(values: Tensor, descending: bool) -> Tensor:
    def key(a: Any, i: Any, b: Any) -> Any:
        x = cast(stop_gradient(values[a, i, b]), "float64")
        x = where(isnan(x), _NO_NUMBER, minimum(maximum(x, -_INFINITE), _INFINITE))
        x = -x if descending else x
        return x + (absolute(x) * _UNIT + _AT_ZERO) * cast(i, "float64")

    return compute(values.shape, key, name="key")


def values_and_places(values: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    """The values, and numbers that decide between equals: positions, further for NaN.

    NaN is an infinity that comes after others, or before them from the greatest on.
    Shapes: values (outer, n, inner), as the results.
    Raises: FrontendError for a symbolic n.
    """
    n = checks.integer(values.shape[1], "sort: extent")
    place = cast(reshape(arange(n), (1, n, 1)), INT32 if 4 * n < 2**31 else INT64)
    if not values.dtype.is_float:
        return comparable(values, descending), broadcast_to(place, values.shape)
    no_number = isnan(values)
    values = stop_gradient(where(no_number, math.inf, values))
    behind = where(no_number, place - n if descending else place + n, place)
    return -values if descending else values, behind
