"""Normalisations: subtract a mean, divide by a deviation, scale and shift."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import ted
from ted.domain.sizes import Extent
from ted.frontend.checks import axes_of, axis_of, flag, is_several, number, shape_of
from ted.frontend.locations import fail
from ted.frontend.precision import narrowed, rounded_once, widened
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, per_dim, shaped
from ted.nn.windows import Window, under


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


def _in_torchs_order(
    form: Callable[..., dict[str, Any]],
    is_meant: Callable[[Sequence[Any], Mapping[str, Any]], bool],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates norms that take torch's arguments behind x, too, where these are meant.

    `form` has torch's parameters and gives the arguments of ted for them.
    """
    signature = inspect.signature(form)

    def decorate(norm: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(norm)
        def call(x: Any, *args: Any, **options: Any) -> Any:
            if not is_meant(args, options):
                return norm(x, *args, **options)
            try:
                given = signature.bind(*args, **options)
            except TypeError as error:
                names = ", ".join([*signature.parameters][:-1])
                fail(f"{norm.__name__}: torch's arguments are {names}, got {error}")
            return norm(x, **form(*given.args, **given.kwargs))

        return call

    return decorate


def _begin_with_extents(args: Sequence[Any], _: Mapping[str, Any]) -> bool:
    return bool(args) and is_several(args[0]) and all(type(n) is int for n in args[0])


def _layer_norm_of_torch(
    normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, **options: Any
) -> dict[str, Any]:
    return {"normalized_shape": normalized_shape, "weight": weight, "bias": bias, "eps": eps,
            **options}  # fmt: skip


def _rms_norm_of_torch(
    normalized_shape: Any, weight: Any = None, eps: float | None = None, **options: Any
) -> dict[str, Any]:
    return {"normalized_shape": normalized_shape, "weight": weight, "eps": eps, **options}


def _normalized(x: Tensor, axis: Any, extents: Any, what: str) -> tuple[int, ...]:
    """The dims over which a norm goes: `axis`, or the last ones, which have these extents."""
    if extents is None:
        return tuple(sorted(axes_of(axis, x.ndim, what)))
    if axis != -1:
        fail(f"{what}: axis or normalized_shape may be given, got axis={axis!r} and {extents!r}")
    shape = shape_of(extents, x.dtype, f"{what}: normalized_shape")
    first = x.ndim - len(shape)
    if not shape or first < 0 or x.shape[first:] != shape:
        fail(f"{what}: normalized_shape has the last extents of x, got {shape} and {x.shape}")
    return tuple(range(first, x.ndim))


@_in_torchs_order(_layer_norm_of_torch, _begin_with_extents)
@rounded_once
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: Any = -1, eps: float = 1e-5,
    normalized_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Standardised over `axis` (one dim or several), then scaled and shifted.

    As in torch, `normalized_shape`, also right behind x, names the last dims by their extents.
    Shapes: weight and bias have the extents of `axis`.
    Raises: FrontendError for an axis or extents that x does not have, or both, parameters of
    another shape, or an x of no float type.
    Source: Ba, Kiros and Hinton, Layer Normalization, section 3.
    """
    x = floating(x, "layer_norm: x")
    axes = _normalized(x, axis, normalized_shape, "layer_norm")
    return _affine(_standardized(x, axes, eps)[0], weight, bias, axes, "layer_norm")


@_in_torchs_order(_rms_norm_of_torch, _begin_with_extents)
@rounded_once
def rms_norm(
    x: Any, weight: Any = None, axis: Any = -1, eps: float | None = None,
    normalized_shape: Any = None,
) -> Tensor:  # fmt: skip
    """x / sqrt(mean(x * x) + eps) over `axis`, then scaled; eps is 1e-6.

    As in torch, `normalized_shape`, also right behind x, names the last dims by their extents, and
    eps is a rounding of the type then.
    Raises: FrontendError for an axis or extents that x does not have, or both, parameters of
    another shape, or an x of no float type.
    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, section 4.
    """
    x = floating(x, "rms_norm: x")
    axes = _normalized(x, axis, normalized_shape, "rms_norm")
    if eps is None:
        eps = 1e-6 if normalized_shape is None else ted.finfo(x.dtype).eps
    scale = ted.rsqrt(ted.mean(ted.square(x), axes, keepdims=True) + eps)
    return _affine(x * scale, weight, None, axes, "rms_norm")


def _batch_norm_of_torch(
    running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5, *, axis: int = 1,
    **options: Any,
) -> dict[str, Any]:  # fmt: skip
    running = None if running_mean is None and running_var is None else (running_mean, running_var)
    if running is not None and training:
        fail(
            "batch_norm: running statistics are moved in results: write axis=1 and "
            "running=(mean, variance), which gives (y, mean, variance), got running_mean "
            "and running_var with training=True"
        )
    return {
        "running": running, "weight": weight, "bias": bias, "training": training,
        "momentum": momentum, "eps": eps, "axis": axis, **options,
    }  # fmt: skip


def _have_statistics(args: Sequence[Any], options: Mapping[str, Any]) -> bool:
    """Whether these are torch's: statistics by their names, or before the parameters.

    Ted has a number as fourth.
    """
    is_behind = len(args) > 2 and not isinstance(args[2], Integral)
    is_before = len(args) == 2 and not {"weight", "bias"}.isdisjoint(options)
    return is_behind or is_before or not {"running_mean", "running_var"}.isdisjoint(options)


@_in_torchs_order(_batch_norm_of_torch, _have_statistics)
def batch_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: int = -1, eps: float = 1e-5,
    statistics: bool = False, running: Any = None, training: bool = True, momentum: float = 0.1,
    running_mean: Any = None, running_var: Any = None,
) -> Any:  # fmt: skip
    """Standardised for each channel over the batch, or by `running`; channels lie along `axis`.

    With `statistics` also the mean and the biased variance.  `running` is a pair (mean, variance)
    of earlier batches: with `training` the result is (y, mean, variance) with both moved by
    `momentum` towards those of this batch (the unbiased variance, and constant to differentiation),
    without it x is standardised by them.  As in torch, `running_mean` and `running_var`, by name or
    before the weight, are such a pair, channels lie along dim 1 then, and nothing is in training.

    Shapes: weight, bias, means and variances (channels).
    Raises: FrontendError for an axis that x does not have, parameters of another shape, an x of
    no float type, or no `running` where it is needed.
    Source: Ioffe and Szegedy, Batch Normalization, algorithm 1.
    """
    del running_mean, running_var  # they have become `running`
    x = floating(x, "batch_norm: x")
    channel = axis_of(axis, x.ndim, "batch_norm")
    statistics = flag(statistics, "batch_norm: statistics")
    earlier, wide = _running(running, (x.shape[channel],)), widened(x)
    if not flag(training, "batch_norm: training"):
        if earlier is None or statistics:
            fail(
                "batch_norm: without training it takes running=(mean, variance) and gives no "
                f"statistics, got running={running!r} and statistics={statistics}"
            )
        mean, variance = (_spread(widened(t), x.ndim, (channel,)) for t in earlier)
        normal = (wide - mean) * ted.rsqrt(variance + eps)
        normal = _affine(normal, weight, bias, (channel,), "batch_norm")
        return narrowed(normal, x, weight, bias, *earlier)
    others = tuple(k for k in range(x.ndim) if k != channel)
    normal, *found = _standardized(wide, others, eps)
    result = _affine(normal, weight, bias, (channel,), "batch_norm")
    result = narrowed(result, x, weight, bias)
    mean, variance = (t.reshape((x.shape[channel],)) for t in found)
    if earlier is None:
        return (result, narrowed(mean, x), narrowed(variance, x)) if statistics else result
    count = math.prod(x.shape[k] for k in others)
    unbiased = variance * (_number(count, wide) / _number(count - 1, wide))
    pairs = zip(earlier, (mean, unbiased), strict=True)
    moved = ((1 - momentum) * old + momentum * ted.stop_gradient(new) for old, new in pairs)
    return (result, *(narrowed(new, old, x) for new, old in zip(moved, earlier, strict=True)))


def _running(running: Any, shape: tuple[Extent, ...]) -> list[Tensor] | None:
    if running is None:
        return None
    if not isinstance(running, (tuple, list)) or len(running) != 2:
        fail(f"batch_norm: running is a pair (mean, variance), got {running!r}")
    names = ("mean", "variance")
    return [
        shaped(t, shape, f"batch_norm: running {n}") for t, n in zip(running, names, strict=True)
    ]


def _number(count: Extent, x: Tensor) -> Any:
    """A number of samples as a value; of one sample an unbiased variance is NaN or infinite."""
    return (count or math.nan) if isinstance(count, int) else ted.cast(count, x.dtype)


@rounded_once
def instance_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: int = -1, eps: float = 1e-5
) -> Tensor:
    """Standardised for each sample and channel; channels lie along `axis`.

    Shapes: x (n, ...), weight and bias (channels).
    Raises: FrontendError for channels in dim 0, no spatial dim, parameters of another shape, or an
    x of no float type.
    Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization, section 2.
    """
    x = floating(x, "instance_norm: x")
    channel = axis_of(axis, x.ndim, "instance_norm")
    spatial = tuple(k for k in range(1, x.ndim) if k != channel)
    if channel == 0 or not spatial:
        fail(
            "instance_norm: takes a batch, channels and a spatial dim at least, got shape "
            f"{x.shape} with channels in dim {channel}"
        )
    return _affine(_standardized(x, spatial, eps)[0], weight, bias, (channel,), "instance_norm")


@rounded_once
def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, axis: int = -1
) -> Tensor:
    """x / (k + alpha / size * the sum of squares over `size` channels around) ** beta.

    Of an even `size` one channel more lies before; channels outside count as 0.
    Raises: FrontendError for an axis that x does not have, an x of no float type, a size below 1.
    Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification, section 3.3.
    """
    x = floating(x, "local_response_norm: x")
    channel = axis_of(axis, x.ndim, "local_response_norm")
    (size,) = per_dim(size, 1, 1, "local_response_norm: size")
    alpha, beta, k = (number(v, f"local_response_norm: {name}")
                      for v, name in ((alpha, "alpha"), (beta, "beta"), (k, "k")))  # fmt: skip
    window = Window(x.shape[channel], size, 1, 1, size // 2, (size - 1) // 2)
    tap = ted.reduce_axis(size, "r")

    def squares(*i: Any) -> Any:
        (at,), inside = under([window], [i[channel]], [tap])
        value = x[(*i[:channel], at, *i[channel + 1 :])]
        return ted.sum(value * value, axis=tap, where=inside)

    total = ted.compute(x.shape, squares, name="local_response_norm")
    return x / (k + (alpha / size) * total) ** beta


def _group_norm_of_torch(
    num_groups: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, **options: Any
) -> dict[str, Any]:
    return {"num_groups": num_groups, "weight": weight, "bias": bias, "eps": eps, **options}


@_in_torchs_order(
    _group_norm_of_torch, lambda args, _: len(args) == 4 and isinstance(args[3], float)
)
@rounded_once
def group_norm(
    x: Any, groups: Any = None, weight: Any = None, bias: Any = None, axis: int = -1,
    eps: float = 1e-5, num_groups: Any = None,
) -> Tensor:  # fmt: skip
    """Standardised for each sample over groups of neighbouring channels; channels along `axis`.

    As in torch, `num_groups` are groups of channels along dim 1, as they are before a fifth `eps`.
    Shapes: weight and bias (channels).
    Raises: FrontendError unless `groups` divides the channels, or for both words of them.
    Source: Wu and He, Group Normalization, section 3.
    """
    x = floating(x, "group_norm: x")
    if num_groups is not None:
        if groups is not None:
            fail(f"group_norm: groups or num_groups, got both: {groups!r} and {num_groups!r}")
        groups, axis = num_groups, 1 if axis == -1 else axis
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
