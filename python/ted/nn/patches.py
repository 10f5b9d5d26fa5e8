"""Rearranged images: windows as columns and back, channels as pixels and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ted
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import layout_of, per_dim, ranked, shaped
from ted.nn.windows import above, taps_of, under, windows


def unfold(
    x: Any, window: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, layout: str = "NHWC"
) -> Tensor:
    """The windows of a convolution side by side, so that it is a matrix product; padding is 0.

    Shapes: NHWC: x (n, h, w, c), result (n, positions, kh * kw * c); NCHW: x (n, c, h, w), result
    (n, c * kh * kw, positions), as in torch.
    Raises: FrontendError for a window that does not fit into the padded input.
    """
    images, x = layout_of(layout, 2, "unfold"), ranked(x, 4, "unfold: x")
    batch, spatial, channels = images.split(x.shape)
    kernel = per_dim(window, 2, 1, "unfold: window")
    dims = windows(spatial, kernel, stride, padding, dilation, "unfold")
    positions = [d.positions for d in dims]

    def element(n: Any, *i: Any) -> Any:
        place, taps, c = (i[:2], i[2:4], i[4]) if images.last else (i[3:], i[1:3], i[0])
        at, inside = under(dims, place, taps)
        value = x[images.join(n, at, c)]
        return value if inside is None else ted.where(inside, value, 0)

    rest = (*positions, *kernel, channels) if images.last else (channels, *kernel, *positions)
    many = math.prod(positions)
    joined = (many, math.prod(kernel) * channels)
    result = ted.compute((batch, *rest), element, name="unfold")
    return result.reshape((batch, *(joined if images.last else joined[::-1])))


def fold(
    x: Any, output_size: Any, window: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    layout: str = "NHWC",
) -> Tensor:  # fmt: skip
    """The sums of windows where they lie in an image: the transpose of `unfold`.

    Shapes: those of `unfold`, the other way round; output_size (h, w).
    Raises: FrontendError for a window that does not fit, or another number of windows or elements.
    """
    images, x = layout_of(layout, 2, "fold"), ranked(x, 3, "fold: x")
    spatial = per_dim(output_size, 2, 1, "fold: output_size")
    kernel = per_dim(window, 2, 1, "fold: window")
    dims = windows(spatial, kernel, stride, padding, dilation, "fold")
    positions = [d.positions for d in dims]
    size, width = math.prod(kernel), x.shape[2 if images.last else 1]
    if width % size:
        fail(f"fold: x: windows of {size} elements for each channel, got shape {x.shape}")
    channels, many = width // size, math.prod(positions)
    joined = (many, width) if images.last else (width, many)
    x = shaped(x, (x.shape[0], *joined), "fold: x")
    rest = (*positions, *kernel, channels) if images.last else (channels, *kernel, *positions)
    parts, taps = x.reshape((x.shape[0], *rest)), taps_of(dims)

    def element(*i: Any) -> Any:
        n, at, c = images.split(i)
        place, exists = above(dims, at, taps, positions)
        where = (*place, *taps, c) if images.last else (c, *taps, *place)
        return ted.sum(parts[(n, *where)], axis=taps, where=exists)

    return ted.compute(images.join(x.shape[0], spatial, channels), element, name="fold")


def pixel_shuffle(x: Any, factor: int, layout: str = "NHWC") -> Tensor:
    """Channels moved into squares of factor x factor pixels.

    Shapes: NHWC: x (..., h, w, c * factor * factor), result (..., h * factor, w * factor, c).
    Raises: FrontendError for fewer than 3 dims, or channels that factor * factor does not divide.
    """
    images, x = layout_of(layout, 2, "pixel_shuffle"), to_tensor(x, "pixel_shuffle: x")
    if x.ndim != 4:
        return _of_batches(lambda y: pixel_shuffle(y, factor, layout), x, "pixel_shuffle")
    (f,) = per_dim(factor, 1, 1, "pixel_shuffle: factor")
    batch, spatial, channels = images.split(x.shape)
    if channels % (f * f):
        fail(f"pixel_shuffle: x: a multiple of {f} * {f} channels, got shape {x.shape} ({x.name})")

    def element(*i: Any) -> Any:
        n, (h, w), c = images.split(i)
        return x[images.join(n, (h // f, w // f), c * (f * f) + h % f * f + w % f)]

    shape = images.join(batch, [n * f for n in spatial], channels // (f * f))
    return ted.compute(shape, element, name="pixel_shuffle")


def pixel_unshuffle(x: Any, factor: int, layout: str = "NHWC") -> Tensor:
    """Squares of factor x factor pixels moved into channels: the converse of `pixel_shuffle`.

    Raises: FrontendError for fewer than 3 dims, or extents that the factor does not divide.
    """
    images, x = layout_of(layout, 2, "pixel_unshuffle"), to_tensor(x, "pixel_unshuffle: x")
    if x.ndim != 4:
        return _of_batches(lambda y: pixel_unshuffle(y, factor, layout), x, "pixel_unshuffle")
    (f,) = per_dim(factor, 1, 1, "pixel_unshuffle: factor")
    batch, spatial, channels = images.split(x.shape)
    if any(n % f for n in spatial):
        fail(f"pixel_unshuffle: x: extents that {f} divides, got shape {x.shape} ({x.name})")

    def element(*i: Any) -> Any:
        n, (h, w), c = images.split(i)
        return x[images.join(n, (h * f + c // f % f, w * f + c % f), c // (f * f))]

    shape = images.join(batch, [n // f for n in spatial], channels * (f * f))
    return ted.compute(shape, element, name="pixel_unshuffle")


def channel_shuffle(x: Any, groups: int, layout: str = "NHWC") -> Tensor:
    """Channels of `groups` neighbouring groups taken from each of these in turn.

    Shapes: those of x and of the result are (..., h, w, c), or (..., c, h, w) by the layout.
    Raises: FrontendError for fewer than 3 dims, or channels that the groups do not divide.
    """
    images, x = layout_of(layout, 2, "channel_shuffle"), to_tensor(x, "channel_shuffle: x")
    if x.ndim != 4:
        return _of_batches(lambda y: channel_shuffle(y, groups, layout), x, "channel_shuffle")
    (g,) = per_dim(groups, 1, 1, "channel_shuffle: groups")
    channels = images.split(x.shape)[2]
    if channels % g:
        fail(f"channel_shuffle: x: a multiple of {g} channels, got shape {x.shape} ({x.name})")

    def element(*i: Any) -> Any:
        n, at, c = images.split(i)
        return x[images.join(n, at, c % g * (channels // g) + c // g)]

    return ted.compute(x.shape, element, name="channel_shuffle")


def _of_batches(function: Callable[[Tensor], Tensor], x: Tensor, what: str) -> Tensor:
    """A function of images for any number of dims before these three."""
    if x.ndim < 3:
        fail(f"{what}: x: must have at least 3 dims, got shape {x.shape} ({x.name})")
    found = function(x.reshape((math.prod(x.shape[:-3]), *x.shape[-3:])))
    return found.reshape((*x.shape[:-3], *found.shape[1:]))
