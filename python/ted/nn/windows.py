"""Sliding windows: where output position p and window position k read the input, and when.

input position = p * stride + k * dilation - before,   read only inside [0, extent)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import ted
from ted.domain.sizes import Extent, surely_at_most
from ted.frontend.locations import fail
from ted.nn.arguments import one_for_each, per_dim
from ted.nn.intervals import Interval
from ted.records import dataclass


@dataclass(frozen=True)
class Window:
    """The geometry of one spatial dim."""

    extent: Extent
    kernel: int
    stride: int
    dilation: int
    before: Extent
    after: Extent
    partial: bool = False  # whether a last window may stick out behind the padding

    @property
    def reach(self) -> int:
        """The number of input positions that one window spans."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def positions(self) -> Extent:
        """The number of windows that fit."""
        room = self.padded - self.reach
        if not self.partial:
            return max(room // self.stride + 1, 0)
        count = -(-room // self.stride) + 1
        # A window that begins behind the input has none of its elements.
        return count - 1 if (count - 1) * self.stride >= self.extent + self.before else count

    @property
    def padded(self) -> Extent:
        """The number of elements with the padding."""
        return self.extent + self.before + self.after

    def counted(self, position: Any) -> Any:
        """How many elements of a window are in the padded input."""
        if surely_at_most((self.positions - 1) * self.stride + self.reach, self.padded):
            return self.kernel
        return ted.minimum(self.padded - position * self.stride, self.kernel)

    def at(self, position: Any, k: Any) -> Any:
        """The input position that window `position` reads with its element `k`."""
        return position * self.stride + k * self.dilation - self.before

    def inside(self, position: Any, k: Any) -> list[Any]:
        """The conditions under which that position exists, those that can fail only."""
        at, conditions = self.at(position, k), []
        if not surely_at_most(self.before, 0):
            conditions.append(at >= 0)
        end = (self.positions - 1) * self.stride + self.reach - self.before
        if not surely_at_most(end, self.extent):
            conditions.append(at < self.extent)
        return conditions

    def back(self, at: Any, k: Any, positions: Extent) -> tuple[Any, list[Any]]:
        """The window whose element `k` is at `at`, and when there is one, of so many windows."""
        start = at + self.before - k * self.dilation
        exists = [start >= 0, start < (positions - 1) * self.stride + 1]
        return start // self.stride, exists + [start % self.stride == 0] * (self.stride > 1)


@dataclass(frozen=True)
class Section:
    """One of nearly equal parts of a dim: from floor(p n / parts) to ceil((p + 1) n / parts)."""

    extent: int
    positions: int

    @property
    def kernel(self) -> int:
        """The number of elements of the widest part."""
        if not self.positions:
            return 0
        common = math.gcd(self.extent, self.positions)
        extent, positions = self.extent // common, self.positions // common
        return (extent + 2 * (positions - 1)) // positions  # of the part that begins latest

    def at(self, position: Any, k: Any) -> Any:
        """The input position of element `k` of a part."""
        return position * self.extent // self.positions + k

    def inside(self, position: Any, k: Any) -> list[Any]:
        """The condition that the part has so many elements, where it can fail."""
        fails = self.extent % self.positions != 0
        return [self.at(position, k) < self._end(position)] if fails else []

    def _end(self, position: Any) -> Any:
        return ((position + 1) * self.extent + self.positions - 1) // self.positions


Dim: TypeAlias = Window | Section | Interval


def taps_of(dims: Sequence[Dim]) -> list[Any]:
    """One reduce axis for the elements of the window, in each dim."""
    names = "dhw"[3 - len(dims) :] if len(dims) <= 3 else range(len(dims))
    return [ted.reduce_axis(d.kernel, f"k{name}") for d, name in zip(dims, names, strict=True)]


def under(dims: Sequence[Dim], place: Sequence[Any], taps: Sequence[Any]) -> tuple[list[Any], Any]:
    """The input position under a tap of the window at `place`, and when it exists, or None."""
    parts = list(zip(dims, place, taps, strict=True))
    inside = conjunction([c for d, p, tap in parts for c in d.inside(p, tap)])
    return [d.at(p, tap) for d, p, tap in parts], inside


def above(
    dims: Sequence[Window], at: Sequence[Any], taps: Sequence[Any], positions: Sequence[Extent]
) -> tuple[list[Any], Any]:
    """The converse of `under`: the windows that have a position under a tap, and when."""
    found = [d.back(*rest) for d, *rest in zip(dims, at, taps, positions, strict=True)]
    return [place for place, _ in found], conjunction([c for _, part in found for c in part])


def windows(
    extents: Sequence[Extent],
    kernel: Sequence[int],
    stride: Any,
    padding: Any,
    dilation: Any,
    what: str,
    partial: bool = False,
) -> list[Window]:
    """One window per spatial dim.

    `padding` is a number, one for each dim, a pair (before, after) for each dim, "valid", or "same"
    (as many windows as extent / stride, rounded up; the odd element comes after).  With `partial` a
    last window may stick out.

    Raises: FrontendError for a window that does not fit into the padded input, or a padding of
    another form.
    """
    rank = len(extents)
    strides = per_dim(stride, rank, 1, f"{what}: stride")
    dilations = per_dim(dilation, rank, 1, f"{what}: dilation")
    result = []
    pads = _padding(padding, rank, what)
    for k, (extent, size) in enumerate(zip(extents, kernel, strict=True)):
        before, after = pads[k] or _same(extent, size, strides[k], dilations[k])
        window = Window(extent, size, strides[k], dilations[k], before, after, partial)
        if extent != 0 and window.reach > extent + before + after:
            fail(
                f"{what}: the window must fit into the padded input, got a window over "
                f"{window.reach} positions and {extent} + {before} + {after} in spatial dim {k}; "
                "layout= says which dims are spatial"
            )
        result.append(window)
    return result


def _same(extent: Extent, kernel: int, stride: int, dilation: int) -> tuple[Extent, Extent]:
    positions = -(-extent // stride)
    total = max((positions - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


def _padding(padding: Any, rank: int, what: str) -> list[tuple[Extent, Extent] | None]:
    """A pair for each dim; None for "same"."""
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            fail(f'{what}: padding must be numbers, "same" or "valid", got {padding!r}')
        return [None if padding == "same" else (0, 0)] * rank
    items = one_for_each(padding, rank)
    if len(items) != rank:
        fail(f"{what}: padding must be a number or one for each of {rank} dims, got {padding!r}")
    pairs: list[tuple[Extent, Extent] | None] = []
    for item in items:
        before, after = per_dim(item, 2, 0, f"{what}: padding")
        pairs.append((before, after))
    return pairs


def conjunction(conditions: Sequence[Any]) -> Any:
    """All of the conditions, or None when there is none."""
    result = None
    for condition in conditions:
        result = condition if result is None else result & condition
    return result
