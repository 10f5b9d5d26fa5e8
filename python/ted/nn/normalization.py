"""Normalisations: subtract a mean, divide by a deviation, scale and shift."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.checks import axes_of, axis_of, flag
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, per_dim, shaped


def _standardized(x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + eps) over `axes`, with mean and variance, dims kept."""
    mean = ted.mean(x, axes, keepdims=True)
    centered = x - mean
    variance = ted.mean(ted.square(centered), axes, keepdims=True)
    return centered * ted.rsqrt(variance + eps), mean, variance


def _affine(x: Tensor, weight: Any, bias: Any, axes: tuple[int, ...], what: str) -> Tensor:
    """x * weight + bias, both over the dims `axes`."""
    shape = tuple(x.shape[k] for k in axes)
    if weight is not None:
        x = x * _spread(shaped(weight, shape, f"{what}: weight"), x.ndim, axes)
    if bias is not None:
        x = x + _spread(shaped(bias, shape, f"{what}: bias"), x.ndim, axes)
    return x


def _spread(parameter: Tensor, rank: int, axes: tuple[int, ...]) -> Tensor:
    """A parameter over `axes` with dims of extent 1 elsewhere, so that it broadcasts."""
    extents = dict(zip(axes, parameter.shape, strict=True))
    return parameter.reshape(tuple(extents.get(k, 1) for k in range(rank)))


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: Any = -1, eps: float = 1e-5
) -> Tensor:
    """Standardised over `axis` (one dim or several), then scaled and shifted.

    Shapes: weight and bias have the extents of `axis`.
    Raises: FrontendError for an axis that x does not have, parameters of another shape, or an x of
    no float type.
    Source: Ba, Kiros and Hinton, Layer Normalization, section 3.
    """
    x = floating(x, "layer_norm: x")
    axes = tuple(sorted(axes_of(axis, x.ndim, "layer_norm")))
    return _affine(_standardized(x, axes, eps)[0], weight, bias, axes, "layer_norm")


def rms_norm(x: Any, weight: Any = None, axis: Any = -1, eps: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x * x) + eps) over `axis`, then scaled.

    Raises: FrontendError for an axis that x does not have, parameters of another shape, or an x of
    no float type.
    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, section 4.
    """
    x = floating(x, "rms_norm: x")
    axes = tuple(sorted(axes_of(axis, x.ndim, "rms_norm")))
    scale = ted.rsqrt(ted.mean(ted.square(x), axes, keepdims=True) + eps)
    return _affine(x * scale, weight, None, axes, "rms_norm")


def batch_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: int = -1, eps: float = 1e-5,
    statistics: bool = False,
) -> Any:  # fmt: skip
    """Standardised for each channel over the batch, as in training; channels lie along `axis`.

    With `statistics` also the mean and the biased variance, for running averages.

    Shapes: weight, bias, mean and variance (channels).
    Raises: FrontendError for an axis that x does not have, parameters of another shape, or an x of
    no float type.
    Source: Ioffe and Szegedy, Batch Normalization, algorithm 1.
    """
    x = floating(x, "batch_norm: x")
    channel = axis_of(axis, x.ndim, "batch_norm")
    statistics = flag(statistics, "batch_norm: statistics")
    others = tuple(k for k in range(x.ndim) if k != channel)
    normal, mean, variance = _standardized(x, others, eps)
    result = _affine(normal, weight, bias, (channel,), "batch_norm")
    shape = (x.shape[channel],)
    return (result, mean.reshape(shape), variance.reshape(shape)) if statistics else result


def group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, axis: int = -1, eps: float = 1e-5
) -> Tensor:
    """Standardised for each sample over groups of neighbouring channels; channels along `axis`.

    Shapes: weight and bias (channels).
    Raises: FrontendError unless `groups` divides the channels.
    Source: Wu and He, Group Normalization, section 3.
    """
    x = floating(x, "group_norm: x")
    channel = axis_of(axis, x.ndim, "group_norm")
    (count,) = per_dim(groups, 1, 1, "group_norm: groups")
    channels = x.shape[channel]
    if channel == 0 or channels % count:
        fail(
            f"group_norm: groups must divide the channels of a batched tensor, got {count} groups "
            f"and shape {x.shape} with channels in dim {channel}"
        )
    split = (*x.shape[:channel], count, channels // count, *x.shape[channel + 1 :])
    axes = tuple(k for k in range(1, x.ndim + 1) if k != channel)
    normal = _standardized(x.reshape(split), axes, eps)[0].reshape(x.shape)
    return _affine(normal, weight, bias, (channel,), "group_norm")
