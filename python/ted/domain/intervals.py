"""Interval arithmetic on integers: the bounds of an operation from those of its operands.

One table for index expressions, quasi-affine functions and the affine expressions of MLIR.  An end
without bound is infinite: what is data, and a symbolic size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ted.domain.affine import Aff, Floor
from ted.domain.linear import Form
from ted.domain.size_ranges import Bound
from ted.domain.sizes import Extent

Interval: TypeAlias = "tuple[Bound, Bound]"
"""The least and the greatest value, both included."""

UNKNOWN: Interval = (-math.inf, math.inf)
INDICES: Interval = (-(2**63), 2**63 - 1)


def fits(interval: Interval, whole: Interval = INDICES) -> bool:
    """Whether a type with the values of `whole` holds the ends; one without bound is no reason."""
    return all(math.isinf(end) or whole[0] <= end <= whole[1] for end in interval)


def of_dim(extent: Extent) -> Interval:
    """The values of a dim that counts from 0; of one without points, those at its start."""
    most = extent if isinstance(extent, int) else extent.range[1]
    return 0, max(most - 1, 0)


def of_extent(extent: Extent) -> Interval:
    """The values of a number or a symbolic size."""
    return (extent, extent) if isinstance(extent, int) else extent.range


def hull(*intervals: Interval) -> Interval:
    """The least interval around some."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def add(a: Interval, b: Interval) -> Interval:
    """a + b."""
    return a[0] + b[0], a[1] + b[1]


def sub(a: Interval, b: Interval) -> Interval:
    """a - b."""
    return a[0] - b[1], a[1] - b[0]


def neg(a: Interval) -> Interval:
    """-a."""
    return -a[1], -a[0]


def mul(a: Interval, b: Interval) -> Interval:
    """a * b."""
    products = [0 if 0 in (x, y) else x * y for x in a for y in b]  # also of 0 and an infinity
    return min(products), max(products)


def floordiv(a: Interval, b: Interval) -> Interval:
    """The quotient rounded down; that by 0 is 0."""
    if b[0] == b[1] and b[0] > 0:
        low, high = (end if math.isinf(end) else end // b[0] for end in a)
        return low, high
    if b[1] < 0:
        return floordiv(neg(a), neg(b))
    if b[0] > 0:
        return min(a[0], 0), max(a[1], 0)
    largest = max(-a[0], a[1], 0)
    return -largest, largest


def ceildiv(a: Interval, b: Interval) -> Interval:
    """The quotient rounded up."""
    return neg(floordiv(neg(a), b))


def mod(a: Interval, b: Interval) -> Interval:
    """a - b * floordiv(a, b), with the sign of b."""
    if b[1] < 0:
        return neg(mod(neg(a), neg(b)))
    by = b[0]
    if by == b[1] and by > 0 and all(map(math.isfinite, a)) and a[0] // by == a[1] // by:
        return a[0] % by, a[1] % by
    if by > 0:
        return 0, b[1] - 1
    largest = max(-b[0], b[1], 1) - 1
    return -largest, largest


def minimum(a: Interval, b: Interval) -> Interval:
    """The lesser of a and b."""
    return min(a[0], b[0]), min(a[1], b[1])


def maximum(a: Interval, b: Interval) -> Interval:
    """The greater of a and b."""
    return max(a[0], b[0]), max(a[1], b[1])


def absolute(a: Interval) -> Interval:
    """|a|."""
    return max(a[0], -a[1], 0), max(-a[0], a[1])


def select(condition: Interval, a: Interval, b: Interval) -> Interval:
    """One of a and b."""
    del condition
    return hull(a, b)


OPERATIONS: dict[str, Callable[..., Interval]] = {
    "add": add, "sub": sub, "neg": neg, "mul": mul, "abs": absolute, "floordiv": floordiv,
    "mod": mod, "minimum": minimum, "maximum": maximum, "select": select, "unchecked": hull,
}  # fmt: skip
"""By the names of scalar operations."""


def of_form(form: Form[Any], ranges: Sequence[Interval] | Mapping[Any, Interval]) -> Interval:
    """The values of a linear form of terms that have these."""
    found: Interval = (form.constant, form.constant)
    of: Any = ranges  # a sequence is a mapping of its places
    for term, factor in form.terms:
        found = add(found, mul((factor, factor), of[term]))
    return found


def of_aff(value: Aff, dims: Sequence[Interval]) -> Interval:
    """The values of a quasi-affine function of dims; parameters are without bound."""
    found: Interval = (value.const, value.const)
    for factor, term in value.terms:
        found = add(found, mul((factor, factor), _of_term(term, dims)))
    return found


def _of_term(term: int | str | Floor, dims: Sequence[Interval]) -> Interval:
    if isinstance(term, Floor):
        return floordiv(of_aff(term.inner, dims), (term.divisor, term.divisor))
    return UNKNOWN if isinstance(term, str) else dims[term]
