"""Arrays as subscripts: their values are known, so they are checked where they are written.

Before: x[np.array([0, -1])], x[np.array([True, False])]     After: x[k] for k = 0, n - 1 and k = 0
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ted.domain.sizes import Extent
from ted.frontend.captures import array_of, is_array
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor, constant
from ted.records import dataclass


@dataclass(frozen=True)
class Known:
    """Indices; `of` is the extent that a mask had, `is_inside` whether they were compared."""

    array: np.ndarray[Any, Any]
    of: int | None = None
    is_inside: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.array.shape

    @property
    def tensor(self) -> Tensor:
        """The indices as a constant."""
        return constant(self.array)

    def inside(self, extent: Extent, what: str) -> Known:
        """The indices in a dim of this extent, those from the end counted from the start.

        Raises: FrontendError for one outside, or a mask of another extent.
        """
        if self.of is not None and self.of != extent:
            fail(f"{what}: a mask must have extent {extent} of its dim, got {self.of}")
        if not isinstance(extent, int):
            return self
        bad = (self.array < -extent) | (self.array >= extent)
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            fail(f"{what}: must be in [{-extent}, {extent}), got {self.array[at]} at {list(at)}")
        array = np.where(self.array < 0, self.array + extent, self.array)
        return replace(self, array=array, is_inside=True)


def known_indices(item: Any, name: str) -> tuple[Any, ...]:
    """The subscripts that an array is, one for each dim of a mask; others are themselves.

    Raises: FrontendError for an array of other than integers and bools.
    """
    if not is_array(item):
        return (item,)
    array = array_of(item, f"{name}: subscript")
    if array.size == 0 and isinstance(item, (list, tuple)):
        array = array.astype(np.int64)  # of no numbers numpy makes floats
    if array.dtype == np.bool_:
        return tuple(Known(k, n) for k, n in zip(np.nonzero(array), array.shape, strict=True))
    if array.dtype.kind not in "iu":
        fail(f"{name}: subscripts must be integers or bools, got an array of {array.dtype}")
    return (Known(array.astype(np.int64)),)
