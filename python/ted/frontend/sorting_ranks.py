"""Elements by their ranks without an order: a search for the number that so many are below.

Before: x of n elements along a dim, and ranks
After:  the greatest floats that at most as many elements are below as a rank says, bit by bit

Floats in their order have numbers: of what a bit is tried for there is one float, and a pass over
x counts how many are below it.  So elements are only compared with few others, as often as a float
has bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.elementwise import absolute, cast, stop_gradient, where
from ted.frontend.float_numbers import FloatNumbers
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum
from ted.frontend.tensors import Tensor, constant


def with_slopes(values: Tensor, x: Tensor) -> Tensor:
    """Values that stand along dim 1 of x, as what they are of x.

    Gradients go to all finite elements that are equal, in equal parts.
    Shapes: values (outer, m, inner), as the result; x (outer, n, inner).
    """
    r = reduce_axis(x.shape[1], "r")

    def equal(a: Any, q: Any, b: Any) -> Any:
        return sum(cast(x[a, r, b] == values[a, q, b], "int64"), axis=r)

    def apart(a: Any, q: Any, b: Any) -> Any:  # no number but zero: it is there for its slopes
        is_it = (x[a, r, b] == values[a, q, b]) & (absolute(values[a, q, b]) < math.inf)
        return sum(where(is_it, x[a, r, b] - values[a, q, b], 0.0), axis=r)

    found = [compute(values.shape, f, name=f.__name__) for f in (apart, equal)]
    return cast(values + found[0] / found[1], x.dtype)


def is_sooner_searched(x: Tensor, n: int, ranks: int) -> bool:
    """Whether so many ranks of n elements are sooner searched for than all elements sorted."""
    return ranks * x.dtype.bits <= 4 * n.bit_length() ** 2


def searched(x: Tensor, ranks: Sequence[int]) -> Tensor:
    """The elements of these ranks along dim 1, from the least on, where there is no NaN.

    Shapes: x (outer, n, inner), result (outer, ranks, inner); it has no slopes.
    """
    x = stop_gradient(x)
    outer, n, inner = x.shape
    floats = FloatNumbers.of("float64" if x.dtype.bits > 32 else "float32")
    bits, kind = floats.bits, floats.kind
    least = -(1 << (bits - 1))
    tried = constant(np.array([1 << b for b in reversed(range(bits))], np.uint64).view(np.int64))
    wanted, r = constant(np.array(ranks)), reduce_axis(n, "r")

    def trial(found: Any, a: Any, t: Any, q: Any, b: Any) -> Any:
        return where(t > 0, found[a, t - 1, q, b], least) + tried[t]

    def number(number: Any, below: Any, found: Any, *at: Any) -> Any:
        return floats.float_of(trial(found, *at))

    def count(number: Any, below: Any, found: Any, a: Any, t: Any, q: Any, b: Any) -> Any:
        return sum(cast(cast(x[a, r, b], kind.name) < number[a, t, q, b], "int64"), axis=r)

    def code(number: Any, below: Any, found: Any, a: Any, t: Any, q: Any, b: Any) -> Any:
        one = trial(found, a, t, q, b)
        return where(below[a, t, q, b] <= wanted[q], one, one - tried[t])

    shape = (outer, bits, len(ranks), inner)
    codes = recurrence(
        [shape] * 3, [number, count, code], [kind.name, "int64", "int64"],
        time_axis=1, name=["number", "below", "found"],
    )[2]  # fmt: skip
    last = codes[:, bits - 1]
    return compute(last.shape, lambda *at: floats.float_of(last[at]), name="number")
