"""Convolutions: one sum over the window and the input channels, for every layout and stride.

Padding is a condition on the read, `where(inside, x[...], 0)`, never a padded copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ted
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import LAYOUTS, Layout, layout_of, named, one_of, per_dim, ranked, shaped
from ted.nn.windows import Window, above, taps_of, under, windows


def _conv(rank: int) -> Callable[..., Tensor]:
    what = f"conv{rank}d"

    def convolution(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, layout: str = LAYOUTS[rank][0],
        padding_mode: str = "zeros",
    ) -> Tensor:  # fmt: skip
        """The convolution (cross-correlation) of deep learning, in as many dims as its name says.

        Shapes: channels last: x (n, spatial..., ci), weight (window..., ci / groups, co), result
        (n, spatial'..., co); channels first: x (n, ci, spatial...), weight (co, ci / groups,
        window...), result (n, co, spatial'...); bias (co).
        Units: stride, padding and dilation count elements; padding may be "same", "valid", a
        number, one for each dim, or a pair (before, after) for each.  `padding_mode` says what is
        there: zeros, or what is near ("reflect", "replicate") or at the other end ("circular"), in
        a padded copy.
        Raises: FrontendError for ranks, channels, groups or windows that do not fit together.
        """
        window = (stride, padding, dilation, padding_mode)
        return _convolve(what, rank, x, weight, bias, window, groups, layout)

    return named(convolution, what)


conv1d, conv2d, conv3d = map(_conv, LAYOUTS)


def _convolve(
    what: str, rank: int, x: Any, weight: Any, bias: Any, window: tuple[Any, Any, Any, Any],
    groups: Any, layout: Any,
) -> Tensor:  # fmt: skip
    images = layout_of(layout, rank, what)
    x, weight = ranked(x, rank + 2, f"{what}: x"), ranked(weight, rank + 2, f"{what}: weight")
    _, spatial, channels = images.split(x.shape)
    *kernel, per_group, outputs = weight.shape if images.last else _window_first(weight.shape)
    (groups,) = per_dim(groups, 1, 1, f"{what}: groups")
    if per_group * groups != channels or outputs % groups:
        fail(
            f"{what}: weight needs {channels} / groups input channels and a multiple of groups "
            f"outputs, got {per_group} and {outputs} with groups={groups}; layout={layout!r} takes "
            f"channels in dim {rank + 1 if images.last else 1} of x, of shape {x.shape}"
        )
    stride, padding, dilation, mode = window
    dims = windows(spatial, kernel, stride, padding, dilation, what)
    x, dims = _extended(x, dims, images, mode, what)
    taps, channel = taps_of(dims), ted.reduce_axis(per_group, "c")

    def element(*i: Any) -> Any:
        n, place, o = images.split(i)
        source = channel if groups == 1 else o // (outputs // groups) * per_group + channel
        value = _read(x, n, source, dims, place, taps, images)
        factor = weight[(*taps, channel, o)] if images.last else weight[(o, channel, *taps)]
        return ted.sum(value * factor, axis=(*taps, channel))

    shape = images.join(x.shape[0], [d.positions for d in dims], outputs)
    return _biased(ted.compute(shape, element, name=what), bias, images, what)


def _extended(
    x: Tensor, dims: list[Window], images: Layout, mode: Any, what: str
) -> tuple[Tensor, list[Window]]:
    """The input with its padding in it, unless that is zeros."""
    filled = _MODES[one_of(mode, tuple(_MODES), f"{what}: padding_mode")]
    if filled == "constant":
        return x, dims
    width = images.join((0, 0), [(d.before, d.after) for d in dims], (0, 0))
    inner = [replace(d, extent=d.padded, before=0, after=0) for d in dims]
    return ted.pad(x, width, filled), inner


# torch's names of padding modes -> those of `ted.pad`.
_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def depthwise_conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    layout: str = "NHWC",
) -> Tensor:  # fmt: skip
    """A convolution of every channel by itself, giving m results for each; options as in `conv2d`.

    Shapes: NHWC: x (n, h, w, c), weight (kh, kw, c, m), result (n, h', w', c * m); NCHW:
    x (n, c, h, w), weight (c * m, 1, kh, kw), result (n, c * m, h', w').
    Raises: FrontendError for ranks, channels or windows that do not fit together.
    """
    what = "depthwise_conv2d"
    images = layout_of(layout, 2, what)
    x, weight = ranked(x, 4, f"{what}: x"), ranked(weight, 4, f"{what}: weight")
    batch, spatial, channels = images.split(x.shape)
    kernel = weight.shape[:2] if images.last else weight.shape[2:]
    outputs = weight.shape[2] * weight.shape[3] if images.last else weight.shape[0]
    fits = weight.shape[2] == channels if images.last else weight.shape[1] == 1
    if not fits or not channels or outputs % channels:
        fail(f"{what}: weight must match {channels} channels of x, got {weight.shape} in {layout}")
    many = outputs // channels
    dims = windows(spatial, kernel, stride, padding, dilation, what)
    taps = taps_of(dims)

    def element(*i: Any) -> Any:
        n, place, o = images.split(i)
        value = _read(x, n, o if many == 1 else o // many, dims, place, taps, images)
        if not images.last:
            return ted.sum(value * weight[(o, 0, *taps)], axis=taps)
        own = (o, 0) if many == 1 else (o // many, o % many)
        return ted.sum(value * weight[(*taps, *own)], axis=taps)

    shape = images.join(batch, [d.positions for d in dims], outputs)
    return _biased(ted.compute(shape, element, name=what), bias, images, what)


# ------------------------------------------------------------------ transposed


def _conv_transpose(rank: int) -> Callable[..., Tensor]:
    what = f"conv_transpose{rank}d"

    def convolution(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
        layout: str = LAYOUTS[rank][0],
    ) -> Tensor:  # fmt: skip
        """The transpose of a convolution with respect to its input: it undoes the change of shape.

        Shapes: channels last: x (n, spatial..., ci), weight (window..., co / groups, ci), result
        (n, spatial'..., co) with extents (m - 1) * stride - 2 * padding + (k - 1) * dilation + 1 +
        output_padding; channels first: x (n, ci, spatial...), weight (ci, co / groups, window...).
        Units: stride, dilation and output_padding count output elements; padding is a number or
        one for each dim, and removes them on both sides.
        Raises: FrontendError for ranks, channels or groups that do not fit together, a padding that
        leaves nothing, an output_padding that is neither below the stride nor the dilation.
        """
        images = layout_of(layout, rank, what)
        x, weight = ranked(x, rank + 2, f"{what}: x"), ranked(weight, rank + 2, f"{what}: weight")
        window = (stride, padding, output_padding, dilation)
        (count,) = per_dim(groups, 1, 1, f"{what}: groups")
        result = _transposed(what, x, weight, window, count, images)
        return _biased(result, bias, images, what)

    return named(convolution, what)


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_conv_transpose, LAYOUTS)


def _transposed(
    what: str, x: Tensor, weight: Tensor, window: tuple[Any, Any, Any, Any], groups: int,
    images: Layout,
) -> Tensor:  # fmt: skip
    batch, spatial, channels = images.split(x.shape)
    *kernel, many, inputs = weight.shape if images.last else _window_first(weight.shape)
    if inputs != channels or channels % groups:
        fail(
            f"{what}: weight must have {channels} input channels, and groups divide them, got "
            f"{weight.shape} with groups={groups}"
        )
    dims = _unfolded(what, spatial, kernel, window)
    taps, c, share = taps_of(dims), ted.reduce_axis(channels // groups, "c"), channels // groups

    def element(*i: Any) -> Any:
        n, at, o = images.split(i)
        place, exists = above(dims, at, taps, spatial)
        group, own = (0, o) if groups == 1 else (o // many, o % many)
        source = c if groups == 1 else group * share + c
        factor = weight[(*taps, own, source)] if images.last else weight[(source, own, *taps)]
        value = x[images.join(n, place, source)]
        return ted.sum(value * factor, axis=(*taps, c), where=exists)

    shape = images.join(batch, [d.extent for d in dims], many * groups)
    return ted.compute(shape, element, name=what)


def _unfolded(
    what: str, spatial: Sequence[Any], kernel: Sequence[Any], window: tuple[Any, Any, Any, Any]
) -> list[Window]:
    """The windows over the result of which x has one element each."""
    rank = len(spatial)
    names = ("stride", "padding", "output_padding", "dilation")
    strides, cuts, extra, dilations = (
        per_dim(value, rank, name in ("stride", "dilation"), f"{what}: {name}")
        for name, value in zip(names, window, strict=True)
    )
    if any(e >= max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)):
        fail(
            f"{what}: output_padding must be below the stride or the dilation, got {extra} with "
            f"stride {strides} and dilation {dilations}"
        )
    dims = []
    for n, k, s, cut, e, d in zip(spatial, kernel, strides, cuts, extra, dilations, strict=True):
        extent = (n - 1) * s - 2 * cut + (k - 1) * d + 1 + e
        dims.append(Window(extent, k, s, d, cut, cut))
    if any(d.extent < 1 for d in dims):
        extents = [d.extent for d in dims]
        fail(f"{what}: the padding must leave an element, got result extents {extents}")
    return dims


# ------------------------------------------------------------------ reads, layouts


def _window_first(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The extents of a weight (outputs, inputs, *window), its window first and outputs last."""
    return (*shape[2:], shape[1], shape[0])


def _read(
    x: Tensor, n: Any, channel: Any, dims: list[Window], place: tuple[Any, ...], taps: list[Any],
    images: Layout,
) -> Any:  # fmt: skip
    """The element under a tap of the window, 0 in the padding."""
    at, inside = under(dims, place, taps)
    value = x[images.join(n, at, channel)]
    return value if inside is None else ted.where(inside, value, 0)


def _biased(result: Tensor, bias: Any, images: Layout, what: str) -> Tensor:
    if bias is None:
        return result
    bias = shaped(bias, (images.split(result.shape)[2],), f"{what}: bias")
    if images.last:
        return result + bias
    return ted.compute(result.shape, lambda *i: result[i] + bias[i[1]], name=f"{what}_bias")
