"""Convolutions: one sum over the window and the input channels, for every layout and stride.

Padding is a condition on the read, `where(inside, x[...], 0)`, never a padded copy.
"""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import channels_last, per_dim, ranked, shaped
from ted.nn.windows import Window, conjunction, windows


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, layout: str = "NHWC",
) -> Tensor:  # fmt: skip
    """The two-dimensional convolution (cross-correlation) of deep learning.

    Shapes: NHWC: x (n, h, w, ci), weight (kh, kw, ci / groups, co), result (n, h', w', co); NCHW:
    x (n, ci, h, w), weight (co, ci / groups, kh, kw), result (n, co, h', w'); bias (co).
    Units: stride, padding and dilation count elements; padding may be "same", "valid", a number,
    one for each dim, or a pair (before, after) for each.
    Raises: FrontendError for ranks, channels, groups or windows that do not fit together.
    """
    last = channels_last(layout, "NHWC", "NCHW", "conv2d")
    return _convolve("conv2d", 2, x, weight, bias, stride, padding, dilation, groups, last)


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, layout: str = "NLC",
) -> Tensor:  # fmt: skip
    """The one-dimensional convolution; options as in `conv2d`.

    Shapes: NLC: x (n, l, ci), weight (k, ci / groups, co), result (n, l', co); NCL: x (n, ci, l),
    weight (co, ci / groups, k), result (n, co, l').
    Raises: FrontendError for ranks, channels, groups or windows that do not fit together.
    """
    last = channels_last(layout, "NLC", "NCL", "conv1d")
    return _convolve("conv1d", 1, x, weight, bias, stride, padding, dilation, groups, last)


def conv3d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, layout: str = "NDHWC",
) -> Tensor:  # fmt: skip
    """The three-dimensional convolution; options as in `conv2d`.

    Shapes: NDHWC: x (n, d, h, w, ci), weight (kd, kh, kw, ci / groups, co); NCDHW: x (n, ci, d, h,
    w), weight (co, ci / groups, kd, kh, kw).
    Raises: FrontendError for ranks, channels, groups or windows that do not fit together.
    """
    last = channels_last(layout, "NDHWC", "NCDHW", "conv3d")
    return _convolve("conv3d", 3, x, weight, bias, stride, padding, dilation, groups, last)


def _convolve(
    what: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any, last: bool,
) -> Tensor:  # fmt: skip
    x, weight = ranked(x, rank + 2, f"{what}: x"), ranked(weight, rank + 2, f"{what}: weight")
    batch, spatial, channels = _split(x.shape, last)
    *kernel, per_group, outputs = weight.shape if last else _channels_last(weight.shape)
    (groups,) = per_dim(groups, 1, 1, f"{what}: groups")
    if per_group * groups != channels or outputs % groups:
        fail(
            f"{what}: weight needs {channels} / groups input channels and a multiple of groups "
            f"outputs, got {per_group} and {outputs} with groups={groups}"
        )
    dims = windows(spatial, kernel, stride, padding, dilation, what)
    taps = [ted.reduce_axis(k, f"k{'dhw'[3 - rank + n]}") for n, k in enumerate(kernel)]
    channel = ted.reduce_axis(per_group, "c")

    def element(n: Any, place: tuple[Any, ...], o: Any) -> Any:
        source = channel if groups == 1 else o // (outputs // groups) * per_group + channel
        value = _read(x, n, source, dims, place, taps, last)
        factor = weight[(*taps, channel, o)] if last else weight[(o, channel, *taps)]
        return ted.sum(value * factor, axis=(*taps, channel))

    result = _over_outputs(what, batch, dims, outputs, last, element)
    return result if bias is None else _biased(result, bias, outputs, last, what)


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
    last = channels_last(layout, "NHWC", "NCHW", what)
    x, weight = ranked(x, 4, f"{what}: x"), ranked(weight, 4, f"{what}: weight")
    batch, spatial, channels = _split(x.shape, last)
    kernel = weight.shape[:2] if last else weight.shape[2:]
    outputs = weight.shape[2] * weight.shape[3] if last else weight.shape[0]
    fits = weight.shape[2] == channels if last else weight.shape[1] == 1
    if not fits or not channels or outputs % channels:
        fail(f"{what}: weight must match {channels} channels of x, got {weight.shape} in {layout}")
    many = outputs // channels
    dims = windows(spatial, kernel, stride, padding, dilation, what)
    taps = [ted.reduce_axis(k, name) for k, name in zip(kernel, ("kh", "kw"), strict=True)]

    def element(n: Any, place: tuple[Any, ...], o: Any) -> Any:
        value = _read(x, n, o if many == 1 else o // many, dims, place, taps, last)
        if not last:
            return ted.sum(value * weight[(o, 0, *taps)], axis=taps)
        own = (o, 0) if many == 1 else (o // many, o % many)
        return ted.sum(value * weight[(*taps, *own)], axis=taps)

    result = _over_outputs(what, batch, dims, outputs, last, element)
    return result if bias is None else _biased(result, bias, outputs, last, what)


def conv_transpose2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    layout: str = "NHWC",
) -> Tensor:  # fmt: skip
    """The transpose of `conv2d` with respect to its input: it undoes the change of shape.

    Shapes: NHWC: x (n, h, w, ci), weight (kh, kw, co, ci), result (n, h', w', co) with h' =
    (h - 1) * stride - 2 * padding + kh; NCHW: x (n, ci, h, w), weight (ci, co, kh, kw).
    Units: stride counts output elements; padding is a number or one for each dim, and removes them.
    Raises: FrontendError for ranks or channels that do not fit together, or a padding that leaves
    nothing.
    """
    what = "conv_transpose2d"
    last = channels_last(layout, "NHWC", "NCHW", what)
    x, weight = ranked(x, 4, f"{what}: x"), ranked(weight, 4, f"{what}: weight")
    batch, spatial, channels = _split(x.shape, last)
    *kernel, outputs, inputs = weight.shape if last else _channels_last(weight.shape)
    if inputs != channels:
        fail(f"{what}: weight must have {channels} input channels, got {weight.shape}")
    steps = per_dim(stride, 2, 1, f"{what}: stride")
    cuts = per_dim(padding, 2, 0, f"{what}: padding")
    shape = [
        (n - 1) * s - 2 * p + k for n, s, p, k in zip(spatial, steps, cuts, kernel, strict=True)
    ]
    if any(n < 1 for n in shape):
        fail(f"{what}: the padding must leave an element, got result extents {shape}")
    taps = [ted.reduce_axis(k, name) for k, name in zip(kernel, ("kh", "kw"), strict=True)]
    c = ted.reduce_axis(channels, "c")

    def element(n: Any, place: tuple[Any, ...], o: Any) -> Any:
        conditions, at = [], []
        for p, tap, step, cut, extent in zip(place, taps, steps, cuts, spatial, strict=True):
            from_start = p + cut - tap
            at.append(from_start // step)
            conditions += [from_start >= 0, from_start < (extent - 1) * step + 1]
            conditions += [from_start % step == 0] if step > 1 else []
        value = x[(n, *at, c)] if last else x[(n, c, *at)]
        factor = weight[(*taps, o, c)] if last else weight[(c, o, *taps)]
        return ted.sum(value * factor, axis=(*taps, c), where=conjunction(conditions))

    result = _over_outputs(what, batch, shape, outputs, last, element)
    return result if bias is None else _biased(result, bias, outputs, last, what)


# ------------------------------------------------------------------ layouts


def _split(shape: tuple[int, ...], last: bool) -> tuple[int, tuple[int, ...], int]:
    """A shape as (batch, spatial extents, channels)."""
    return (shape[0], shape[1:-1], shape[-1]) if last else (shape[0], shape[2:], shape[1])


def _channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents of a weight (outputs, inputs, *window), its window first and outputs last."""
    return (*shape[2:], shape[1], shape[0])


def _read(
    x: Tensor, n: Any, channel: Any, dims: list[Window], place: tuple[Any, ...], taps: list[Any],
    last: bool,
) -> Any:  # fmt: skip
    """The element under a tap of the window, 0 in the padding."""
    parts = list(zip(dims, place, taps, strict=True))
    at = [window.at(p, tap) for window, p, tap in parts]
    value = x[(n, *at, channel)] if last else x[(n, channel, *at)]
    inside = conjunction([c for window, p, tap in parts for c in window.inside(p, tap)])
    return value if inside is None else ted.where(inside, value, 0)


def _over_outputs(
    what: str, batch: int, dims: Any, outputs: int, last: bool, element: Any
) -> Tensor:
    """One value per output element, whatever the place of the channels."""
    extents = [d.positions if isinstance(d, Window) else d for d in dims]
    if last:
        return ted.compute(
            (batch, *extents, outputs), lambda n, *i: element(n, i[:-1], i[-1]), name=what
        )
    return ted.compute((batch, outputs, *extents), lambda n, o, *i: element(n, i, o), name=what)


def _biased(result: Tensor, bias: Any, outputs: int, last: bool, what: str) -> Tensor:
    bias = shaped(bias, (outputs,), f"{what}: bias")
    if last:
        return result + bias
    return ted.compute(result.shape, lambda *i: result[i] + bias[i[1]], name=f"{what}_bias")
