"""Index variables: the parameters of an index lambda, and reduction axes.

While an expression is being written its dims carry numbers of their own, unique in the process;
closing the expression (closing.py) renumbers them by position.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from ted.domain.sizes import Extent
from ted.frontend.checks import extent as extent_of
from ted.frontend.checks import name_of
from ted.frontend.locations import fail, here
from ted.frontend.scalars import Scalar
from ted.ir.scalar import add, dim, index

_numbers = itertools.count(step=2)  # and one more for a reduction axis
_by_number: weakref.WeakValueDictionary[int, Axis] = weakref.WeakValueDictionary()


class Axis(Scalar):
    """An index variable over `lower, ..., lower + extent - 1`; of a time it has a direction."""

    __slots__ = ("extent", "is_reduction", "location", "lower", "name", "number", "reverse")

    def __init__(
        self,
        name: str,
        lower: Extent,
        extent: Extent,
        is_reduction: bool,
        reverse: bool | None = None,
    ) -> None:
        self.number = next(_numbers) + is_reduction
        self.name, self.lower, self.extent = name, lower, extent
        self.is_reduction, self.reverse = is_reduction, reverse
        self.location = here()
        super().__init__(add(dim(self.number), index(lower)))
        _by_number[self.number] = self

    def __repr__(self) -> str:
        kind = "reduce_axis" if self.is_reduction else "index"
        return f"{kind} {self.name} in [{self.lower}, {self.lower + self.extent})"


def axis_numbered(number: int) -> Axis | None:
    """The live axis that a dim number of an unfinished expression stands for."""
    return _by_number.get(number)


def is_of_reduction(number: int) -> bool:
    """Whether a dim number was given to a reduction axis, which nobody may hold any more."""
    return bool(number % 2)


class _Names(Sequence[str]):
    """The name of the axis that a dim number of an unfinished expression stands for."""

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, number: Any) -> Any:
        axis = axis_numbered(number)
        return f"d{number}" if axis is None else axis.name


Scalar.dim_names = _Names()


def reduce_axis(extent: Any, name: str | None = None) -> Axis:
    """A reduction axis over `range(extent)`, or over `[lower, upper)` of a pair or a range.

    Raises: FrontendError for a negative extent, a bound of more than 64 bits, or no integer.
    """
    if isinstance(extent, range):
        if extent.step != 1:
            fail(f"reduce_axis: a range must have step 1, got {extent}; scale the index instead")
        extent = (extent.start, max(extent.start, extent.stop))
    pair = tuple(extent) if isinstance(extent, (tuple, list)) else (0, extent)
    if len(pair) != 2:
        fail(f"reduce_axis: takes an extent or a pair (lower, upper), got {extent!r}")
    if any(isinstance(bound, Scalar) for bound in pair):
        fail("reduce_axis: bounds must be integers or sizes; state a varying bound by where=")
    lower, upper = (extent_of(bound, "reduce_axis: bound") for bound in pair)
    if upper < lower:
        fail(f"reduce_axis: the extent must be at least 0, got [{lower}, {upper})")
    if any(isinstance(bound, int) and abs(bound) >= 2**63 for bound in (lower, upper)):
        fail(f"reduce_axis: an index has 64 bits, got [{lower}, {upper})")
    checked = name_of(name, "reduce_axis")
    return Axis(checked or "r", lower, upper - lower, True)
