"""The converse of pools of maxima: values go back where they were, zeros elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ted
from ted.frontend.checks import integer
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import LAYOUTS, layout_of, named, per_dim, ranked, within


def _max_unpool(rank: int) -> Callable[..., Any]:
    what = f"max_unpool{rank}d"

    def unpool(
        x: Any, indices: Any, window: Any, stride: Any = None, padding: Any = 0,
        output_size: Any = None, layout: str = LAYOUTS[rank][0],
    ) -> Tensor:  # fmt: skip
        """The elements of x at row-major positions in the spatial dims, zeros elsewhere.

        Positions are those of a pool with `return_indices`, whose window, stride and padding say
        what extents it had; `output_size` says it where several have the same pool.  Of equal
        positions the last one counts; one outside is an error when the program runs.
        Shapes: as in `max_pool2d`, x and indices that of its results, the result that of its x.
        Raises: FrontendError for shapes that differ, indices that are no integers, or an
        output_size that no such pool has.
        """
        x, images = ranked(x, rank + 2, f"{what}: x"), layout_of(layout, rank, what)
        at = to_tensor(indices, f"{what}: indices")
        if at.shape != x.shape or at.dtype.kind != "int":
            fail(f"{what}: indices must be integers of shape {x.shape}, got {at!r}")
        n, spatial, c = images.split(x.shape)
        sizes = _extents(what, spatial, window, stride, padding, output_size)
        first = images.join(0, range(2, rank + 2), 1)  # each dim of x, counted channels first
        order = [first.index(k) for k in range(rank + 2)]
        values, places = (ted.transpose(t, order).reshape((n, c, -1)) for t in (x, at))
        rows = ted.compute(values.shape, lambda n, c, s: n, dtype="int64")
        columns = ted.compute(values.shape, lambda n, c, s: c, dtype="int64")
        size = math.prod(sizes)
        places = within(places, size - 1, f"indices of {what}")
        found = ted.scatter((n, c, size), (rows, columns, places), values, "set", 0)
        return ted.transpose(found.reshape((n, c, *sizes)), first)

    return named(unpool, what)


def _extents(
    what: str, spatial: Sequence[Any], window: Any, stride: Any, padding: Any, wanted: Any
) -> tuple[int, ...]:
    rank = len(spatial)
    kernel = per_dim(window, rank, 1, f"{what}: window")
    steps = per_dim(kernel if stride is None else stride, rank, 1, f"{what}: stride")
    pads = per_dim(padding, rank, 0, f"{what}: padding")
    counts = [integer(m, f"{what}: spatial extent {k}") for k, m in enumerate(spatial)]
    rows = zip(counts, kernel, steps, pads, strict=True)
    usual = tuple((m - 1) * s - 2 * p + k for m, k, s, p in rows)
    sizes = per_dim(usual if wanted is None else wanted, rank, 0, f"{what}: output_size")
    if any(abs(a - b) >= s for a, b, s in zip(sizes, usual, steps, strict=True)):
        fail(f"{what}: output_size must be less than a stride {steps} from {usual}, got {sizes}")
    return sizes


max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, LAYOUTS)
