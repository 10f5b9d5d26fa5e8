"""Windows at random distances, as fractional pools have them: where each begins is data.

start of window p = trunc((p + u) * a) - trunc(u * a),   a = (extent - kernel) / (positions - 1)

The last one ends where the dim ends; u is a number of [0, 1) for each image and channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ted
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import per_dim
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class Interval:
    """One spatial dim; `starts` (n, c, positions) has where windows begin, `row` is one of it."""

    extent: int
    kernel: int
    positions: int
    starts: Tensor | None = None
    row: tuple[Any, Any] = (0, 0)

    def begun(self, samples: Tensor, k: int) -> Interval:
        """The dim with windows that begin where samples (n, c, dims) say, those of dim k."""
        room, last = self.extent - self.kernel, self.positions - 1
        step = ted.full((), room / max(last, 1), samples.dtype)

        def start(n: Any, c: Any, p: Any) -> Any:
            u = samples[n, c, k]
            ahead, behind = (ted.cast(v * step[()], "int64") for v in (p + u, u))
            at = ted.where(p == last, room, ahead - behind)
            return ted.minimum(ted.maximum(at, 0), room)  # so that it is known to be inside

        shape = (*samples.shape[:2], self.positions)
        return replace(self, starts=ted.compute(shape, start, name="starts"))

    def of(self, n: Any, c: Any) -> Interval:
        """The windows of one image and channel."""
        return replace(self, row=(n, c))

    def at(self, position: Any, k: Any) -> Any:
        """The input position of element `k` of a window."""
        assert self.starts is not None, "asked for where windows begin"
        return self.starts[(*self.row, position)] + k

    def inside(self, position: Any, k: Any) -> list[Any]:
        """No condition: all of a window is in the dim."""
        del position, k
        return []


def intervals(
    extents: Sequence[int], kernel: Sequence[int], positions: Any, what: str
) -> list[Interval]:
    """One for each dim.

    Raises: FrontendError for more windows than fit.
    """
    counts = per_dim(positions, len(extents), 1, f"{what}: output_size")
    for n, size, count in zip(extents, kernel, counts, strict=True):
        if size + count - 1 > n:
            fail(f"{what}: {count} windows of {size} must begin at different places, got {n}")
    rows = zip(extents, kernel, counts, strict=True)
    return [Interval(n, size, count) for n, size, count in rows]
