"""Pools: a reduction over a sliding window; positions outside the input take no part.

Every pool is made for one, two and three spatial dims by the same function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ted
from ted import random
from ted.frontend.checks import flag, integer
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.tensors import Tensor
from ted.nn.arguments import (
    LAYOUTS,
    Layout,
    above_zero,
    floating,
    layout_of,
    named,
    per_dim,
    ranked,
    shaped,
    within,
)
from ted.nn.intervals import Interval, intervals
from ted.nn.windows import Dim, Section, Window, taps_of, under, windows

Dims = Sequence[Dim]
Parts = Sequence[tuple[Dim, Any]]  # each dim, and the place in it


def _max_pool(rank: int) -> Callable[..., Any]:
    what = f"max_pool{rank}d"

    def pool(
        x: Any, window: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        layout: str = LAYOUTS[rank][0], ties: str = "first", ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The greatest element under each window; the stride is the window's extent by default.

        The gradient goes to the first greatest one, or in even parts to all (`ties="even"`).
        With `ceil_mode` a last window may stick out behind the padding.  With `return_indices` the
        result is a pair, with the row-major positions in the spatial dims.
        Shapes: channels last: x (n, spatial..., c), result (n, spatial'..., c); channels first: x
        (n, c, spatial...), result (n, c, spatial'...).
        Raises: FrontendError for a window that does not fit into the padded input, or that may lie
        in padding alone.
        """
        x, images = ranked(x, rank + 2, f"{what}: x"), layout_of(layout, rank, what)
        dims = _windows(what, x, images, window, stride, padding, dilation, ceil_mode)
        return _greatest(what, x, images, dims, ties, return_indices)

    return named(pool, what)


def _avg_pool(rank: int) -> Callable[..., Any]:
    what = f"avg_pool{rank}d"

    def pool(
        x: Any, window: Any, stride: Any = None, padding: Any = 0,
        layout: str = LAYOUTS[rank][0], count_include_pad: bool = True, ceil_mode: bool = False,
        divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        """The mean under each window; padding counts as zeros unless `count_include_pad` is False.

        `divisor_override` divides the sums instead of the number of elements.
        Shapes: as in `max_pool2d`.
        Raises: FrontendError for a window that does not fit into the padded input, or that may lie
        in padding alone, or a divisor below 1.
        """
        x, images = ranked(x, rank + 2, f"{what}: x"), layout_of(layout, rank, what)
        dims = _windows(what, x, images, window, stride, padding, 1, ceil_mode)
        counted = flag(count_include_pad, f"{what}: count_include_pad")
        if divisor_override is not None:
            (divisor_override,) = per_dim(divisor_override, 1, 1, f"{what}: divisor_override")
        elif not counted:
            return _pool(what, _mean, x, images, dims)

        def mean(value: Any, taps: Any, inside: Any, parts: Parts) -> Any:
            total = ted.sum(value, axis=taps, where=inside)
            return total / (divisor_override or _count(parts, x))

        return _pool(what, mean, x, images, dims)

    return named(pool, what)


def _lp_pool(rank: int) -> Callable[..., Any]:
    what = f"lp_pool{rank}d"

    def pool(
        x: Any, norm_type: float, window: Any, stride: Any = None, ceil_mode: bool = False,
        layout: str = LAYOUTS[rank][0],
    ) -> Tensor:  # fmt: skip
        """sum(x ** norm_type) ** (1 / norm_type) under each window.

        The slope is 0 where the sum is.  A window that sticks out (`ceil_mode`) counts as if what
        is missing had the mean of the rest, as in torch.
        Shapes: as in `max_pool2d`.
        Raises: FrontendError for a window that does not fit, or a norm_type that is not positive.
        """
        x, images = floating(ranked(x, rank + 2, f"{what}: x"), what), layout_of(layout, rank, what)
        dims = _windows(what, x, images, window, stride, 0, 1, ceil_mode)
        norm_type = above_zero(norm_type, f"{what}: norm_type")

        def norm(value: Any, taps: Any, inside: Any, parts: Parts) -> Any:
            total = ted.sum(value**norm_type, axis=taps, where=inside)
            if inside is not None:
                total = total * (math.prod(d.kernel for d in dims) / _count(parts, x))
            return ted.where(total == 0, 0.0, total ** (1 / norm_type))

        return _pool(what, norm, x, images, dims)

    return named(rounded_once(pool), what)


def _adaptive_max_pool(rank: int) -> Callable[..., Any]:
    what = f"adaptive_max_pool{rank}d"

    def pool(
        x: Any, output_size: Any, layout: str = LAYOUTS[rank][0], ties: str = "first",
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The greatest elements of `output_size` nearly equal parts of each dim; None keeps a dim.

        Part p of m of extent n goes from floor(p n / m) to ceil((p + 1) n / m).
        Shapes: as in `max_pool2d`, with the spatial extents `output_size`.
        Raises: FrontendError for an x of another rank, of a symbolic extent, or parts below 1.
        """
        x, images = ranked(x, rank + 2, f"{what}: x"), layout_of(layout, rank, what)
        dims = _sections(what, x, images, output_size)
        return _greatest(what, x, images, dims, ties, return_indices)

    return named(pool, what)


def _adaptive_avg_pool(rank: int) -> Callable[..., Any]:
    what = f"adaptive_avg_pool{rank}d"

    def pool(x: Any, output_size: Any, layout: str = LAYOUTS[rank][0]) -> Tensor:
        """The means of `output_size` nearly equal parts of each dim, as in `adaptive_max_pool2d`.

        Shapes: as in `max_pool2d`, with the spatial extents `output_size`.
        Raises: FrontendError for an x of another rank, of a symbolic extent, or parts below 1.
        """
        x, images = ranked(x, rank + 2, f"{what}: x"), layout_of(layout, rank, what)
        return _pool(what, _mean, x, images, _sections(what, x, images, output_size))

    return named(pool, what)


def _fractional_max_pool(rank: int) -> Callable[..., Any]:
    what = f"fractional_max_pool{rank}d"

    def pool(
        x: Any, window: Any, output_size: Any = None, output_ratio: Any = None, samples: Any = None,
        key: Any = None, layout: str = LAYOUTS[rank][0], ties: str = "first",
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The greatest elements of windows at random distances, of n / m positions in the mean.

        The m = `output_size` windows of a dim, or `output_ratio` of its extent, begin where a
        number of [0, 1) says: `samples`, torch's `_random_samples`, or numbers of `key`.
        Shapes: as in `max_pool2d`; samples (n, c, spatial dims), of 2 dims the last one first, as
        in torch; key (2).
        Raises: FrontendError for windows that do not fit, other than one of output_size and
        output_ratio, or of samples and key.
        Source: Graham, Fractional max-pooling, 2014.
        """
        x = floating(ranked(x, rank + 2, f"{what}: x"), f"{what}: x")
        images = layout_of(layout, rank, what)
        if (output_size is None) == (output_ratio is None) or (samples is None) == (key is None):
            fail(f"{what}: takes one of output_size and output_ratio, and one of samples and key")
        n, spatial, c = images.split(x.shape)
        extents = [integer(e, f"{what}: spatial extent {k}") for k, e in enumerate(spatial)]
        sizes = output_size if output_ratio is None else _shares(output_ratio, extents, what)
        starts = intervals(extents, per_dim(window, rank, 1, f"{what}: window"), sizes, what)
        drawn = random.uniform(key, (n, c, rank), x.dtype) if samples is None else samples
        drawn = ted.cast(shaped(drawn, (n, c, rank), f"{what}: samples"), x.dtype)
        order = (1, 0) if rank == 2 else range(rank)
        dims = [d.begun(drawn, k) for d, k in zip(starts, order, strict=True)]
        return _greatest(what, x, images, dims, ties, return_indices)

    return named(pool, what)


def _shares(ratio: Any, extents: Sequence[int], what: str) -> tuple[int, ...]:
    given = ratio if isinstance(ratio, (tuple, list)) else (ratio,) * len(extents)
    fitting = len(given) == len(extents) and all(isinstance(r, float) and 0 < r < 1 for r in given)
    if not fitting:
        fail(f"{what}: output_ratio is a number of (0, 1), or one for each dim, got {ratio!r}")
    return tuple(int(n * r) for n, r in zip(extents, given, strict=True))


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, LAYOUTS)
fractional_max_pool2d, fractional_max_pool3d = map(_fractional_max_pool, (2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, LAYOUTS)
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, LAYOUTS)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(_adaptive_max_pool, LAYOUTS)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg_pool, LAYOUTS)


# ------------------------------------------------------------------ the reduction


def _windows(
    what: str, x: Tensor, images: Layout, window: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: Any,
) -> list[Window]:  # fmt: skip
    spatial = images.split(x.shape)[1]
    kernel = per_dim(window, len(spatial), 1, f"{what}: window")
    partial = flag(ceil_mode, f"{what}: ceil_mode")
    step = kernel if stride is None else stride
    found = windows(spatial, kernel, step, padding, dilation, what, partial)
    for k, one in enumerate(found):  # in padding alone nothing is greatest, and no mean
        if max(one.before, one.after) >= one.reach:
            fail(
                f"{what}: padding must be below the extent of a window, got {one.before} and "
                f"{one.after} with {one.reach} in spatial dim {k}"
            )
    return found


def _sections(what: str, x: Tensor, images: Layout, output_size: Any) -> list[Section]:
    spatial = images.split(x.shape)[1]
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * len(spatial)
    if len(given) == len(spatial):
        given = [n if m is None else m for n, m in zip(spatial, given, strict=True)]
    extents = [integer(n, f"{what}: spatial extent {k}") for k, n in enumerate(spatial)]
    parts = per_dim(tuple(given), len(spatial), 1, f"{what}: output_size")
    return [Section(n, m) for n, m in zip(extents, parts, strict=True)]


def _pool(
    what: str, combine: Callable[..., Any], x: Tensor, images: Layout, dims: Dims
) -> Tensor:  # fmt: skip
    taps = taps_of(dims)
    batch, _, channels = images.split(x.shape)

    def element(*i: Any) -> Any:
        n, place, c = images.split(i)
        own = [d.of(n, c) if isinstance(d, Interval) else d for d in dims]
        at, inside = under(own, place, taps)
        parts = list(zip(own, place, strict=True))
        return combine(x[images.join(n, at, c)], taps, inside, parts)

    shape = images.join(batch, [d.positions for d in dims], channels)
    return ted.compute(shape, element, name=what)


def _mean(value: Any, taps: Any, inside: Any, _: Any) -> Any:
    return ted.mean(value, axis=taps, where=inside)


def _count(parts: Parts, x: Tensor) -> Any:
    """The number of elements of a window, with padding."""
    count = math.prod(d.counted(p) if isinstance(d, Window) else d.kernel for d, p in parts)
    return count if isinstance(count, int) else ted.cast(count, x.dtype)


def _greatest(what: str, x: Tensor, images: Layout, dims: Dims, ties: Any, indices: Any) -> Any:
    def greatest(value: Any, taps: Any, inside: Any, _: Any) -> Any:
        return ted.max(value, axis=taps, where=inside, ties=ties)

    result = _pool(what, greatest, x, images, dims)
    if not flag(indices, f"{what}: return_indices"):
        return result
    spatial = images.split(x.shape)[1]
    position = functools.partial(_position, spatial)
    return result, _pool(f"{what}_indices", position, x, images, dims)


def _position(spatial: Sequence[Any], value: Any, taps: Any, inside: Any, parts: Parts) -> Any:
    """The row-major position in the spatial dims of the first greatest element; -1 of none."""
    found = ted.argmax(value, axis=taps, where=inside)
    number, within = found, []
    for d, _ in reversed(parts):
        within.insert(0, number % d.kernel)
        number = number // d.kernel
    flat: Any = 0
    for (d, p), extent, k in zip(parts, spatial, within, strict=True):
        flat = flat * extent + d.at(p, k)
    return ted.where(found < 0, -1, ted.cast(flat, "int64"))


def global_avg_pool2d(x: Any, layout: str = "NHWC") -> Tensor:
    """The mean over height and width.

    Shapes: NHWC: x (n, h, w, c), NCHW: x (n, c, h, w); result (n, c).
    Raises: FrontendError for an x of another rank, or an unknown layout.
    """
    what = "global_avg_pool2d"
    return ted.mean(ranked(x, 4, f"{what}: x"), axis=_spatial(layout, what))


def global_max_pool2d(x: Any, layout: str = "NHWC", ties: str = "first") -> Tensor:
    """The greatest element over height and width.

    Shapes: as in `global_avg_pool2d`.
    Raises: FrontendError for an x of another rank, or an unknown layout.
    """
    what = "global_max_pool2d"
    return ted.max(ranked(x, 4, f"{what}: x"), axis=_spatial(layout, what), ties=ties)


def _spatial(layout: Any, what: str) -> tuple[int, ...]:
    return layout_of(layout, 2, what).split(range(4))[1]


# ------------------------------------------------------------------ unpooling
#
# The converse of pools of maxima: values go back where they were, zeros elsewhere.


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
        places = within(places, size - 1, f"{what}: indices")
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
