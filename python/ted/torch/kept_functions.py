"""Operators of torch that are functions of ted: a row each, called with the operator's arguments.

`OF_FLOATS` counts where the result is of floats, `OF_ANY` always.  What orders elements is in
`kept_orders.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

import ted
from ted.raising.algebra import halved
from ted.torch.kept_resizing import RESIZING

Function = Callable[..., Any]  # its result is a tensor or a tuple of them
aten = torch.ops.aten


def _grid_sampled(x: Any, grid: Any, mode: int, outside: int, corners: bool) -> Any:
    return ted.nn.grid_sample(
        x, grid, ("bilinear", "nearest", "bicubic")[mode],
        ("zeros", "border", "reflection")[outside], corners, "NCHW" if x.ndim == 4 else "NCDHW",
    )  # fmt: skip


def _embedded(table: Any, ids: Any, padding: int = -1, *_: Any) -> Any:
    return ted.nn.embedding(table, ids, None if padding < 0 else padding)


# ------------------------------------------------------------------ sums of products


def _added(product: Function) -> Function:
    """beta x + alpha product: with a factor of 0 what it is of takes no part, NaN included."""

    def function(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        scaled = [f * v() for f, v in ((beta, lambda: x), (alpha, lambda: product(a, b))) if f]
        return sum(scaled[1:], scaled[0]) if scaled else ted.zeros((), x.dtype)

    return function


def _summed_products(a: Any, b: Any) -> Any:
    return ted.sum(a @ b, 0, dtype=a.dtype)


_SUMS = {
    aten.addmm.default: _added(ted.matmul), aten.baddbmm.default: _added(ted.matmul),
    aten.addmv.default: _added(ted.matmul), aten.addr.default: _added(ted.outer),
    aten.addbmm.default: _added(_summed_products),
}  # fmt: skip


# ------------------------------------------------------------------ deviations


def _deviation(spread: Function, with_mean: bool) -> Function:
    def function(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        axes = tuple(dim) if dim else None
        found = spread(x, axes, 1 if correction is None else correction, keepdim)
        return (found, ted.mean(x, axes, keepdims=keepdim)) if with_mean else found

    return function


def _deviations(name: str, spread: Function, with_mean: bool) -> Mapping[Any, Function]:
    packet, function = getattr(aten, name), _deviation(spread, with_mean)

    def along(x: Any, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Any:
        return function(x, dim, correction=int(unbiased), keepdim=keepdim)

    def of_all(x: Any, unbiased: bool = True) -> Any:
        return function(x, correction=int(unbiased))

    return {packet.correction: function, packet.dim: along, packet.default: of_all}


# ------------------------------------------------------------------ pools


def _largest(pool: Function, rank: int) -> Function:
    """A pool with positions: of several NaN in a window the last one, as torch has it."""

    def function(x: Any, *rest: Any) -> Any:
        x, alone = (x[None], True) if x.ndim == rank + 1 else (x, False)
        spatial = x.shape[2:]
        values, places = pool(x, *rest, return_indices=True)
        own = ted.reshape(ted.arange(int(np.prod(spatial))), spatial)
        last = pool(ted.where(ted.isnan(x), own, -1), *rest)
        found = values, ted.where(ted.isnan(values), last, places)
        return tuple(part[0] for part in found) if alone else found

    return function


def _windowed(rank: int) -> Function:
    inner, layout = getattr(ted.nn, f"max_pool{rank}d"), ("NCL", "NCHW", "NCDHW")[rank - 1]

    def pool(
        x: Any, window: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil: bool = False, **options: Any,
    ) -> Any:  # fmt: skip
        each = (window, stride or window, padding, dilation)
        return inner(x, *each, layout=layout, ceil_mode=ceil, **options)

    return _largest(pool, rank)


def _in_parts(rank: int) -> Function:
    inner, layout = getattr(ted.nn, f"adaptive_max_pool{rank}d"), ("NCHW", "NCDHW")[rank - 2]

    def pool(x: Any, size: Any, **options: Any) -> Any:
        return inner(x, size, layout=layout, **options)

    return _largest(pool, rank)


# ------------------------------------------------------------------ distances


def _norms(difference: Any, p: float) -> Any:
    """Norms along the last dim, without a slope where they are 0."""
    size = ted.abs(difference)
    if p == 0:
        counted = ted.where(ted.isnan(size), size, ted.where(size != 0, 1.0, 0.0))
        return ted.sum(counted.astype(size.dtype), -1)
    if p in (1, np.inf):
        return ted.sum(size, -1) if p == 1 else ted.max(size, -1, init=0.0)
    total = ted.sum(size**p, -1)
    return ted.where(total == 0, 0.0, ted.sqrt(total) if p == 2 else total ** (1 / p))


def _distances(a: Any, b: Any, p: float = 2.0, _: Any = None) -> Any:
    return _norms(a[..., :, None, :] - b[..., None, :, :], p)


def _distance(a: Any, b: Any, p: float = 2.0) -> Any:
    return _norms(ted.reshape(a - b, (-1,)), p)


def _cosine(a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Each length is bounded, where the binding bounds their product."""
    a, b = ted.broadcast_arrays(a, b)
    return ted.nn.cosine_similarity(a, b, dim, eps)


def _pairs(x: Any, p: float = 2.0) -> Any:
    first, second = np.triu_indices(x.shape[0], 1)
    return _norms(x[first] - x[second], p)


# ------------------------------------------------------------------ extrema
#
# Equal elements share the gradient in torch.


def _shared(extremum: Function) -> Function:
    def function(x: Any, dim: Any = (), keepdim: bool = False) -> Any:
        axes = dim if isinstance(dim, int) else tuple(dim) or None
        return extremum(x, axes, keepdims=keepdim, ties="even")

    return function


# ------------------------------------------------------------------ shares and losses


def _shares(function: Function) -> Function:
    """A softmax in the type that torch is told; the binding has none for another type."""

    def call(x: Any, dim: int, dtype: Any = None) -> Any:
        wide = ted.cast(x, str(dtype).removeprefix("torch.")) if dtype in _FLOATS else x
        return function(wide, dim) if x.ndim else ted.exp(wide - wide) - (function is _logs)

    return call


_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_logs = ted.nn.log_softmax

_REDUCTIONS = ("none", "mean", "sum")


def _hinge_of_classes(
    x: Any, labels: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> Any:
    return ted.nn.multi_margin_loss(x, labels, p, margin, weight, _REDUCTIONS[reduction])


def _hinge_of_labels(x: Any, labels: Any, reduction: int = 1) -> Any:
    """Torch takes it apart into one loss for the whole batch, where each row has its labels."""
    return ted.nn.multilabel_margin_loss(x, labels, _REDUCTIONS[reduction])


def _near_square(loss: Function) -> Function:
    """Torch takes it apart into a magnitude, whose square has no curvature of its own at 0."""

    def call(x: Any, target: Any, reduction: int = 1, *bend: float) -> Any:
        x, target = ted.broadcast_arrays(x, target)
        return loss(x, target, _REDUCTIONS[reduction], *bend)

    return call


# ------------------------------------------------------------------ arithmetic


@ted.vectorize
def _between(a: Any, b: Any, weight: Any) -> Any:
    """From the nearer end, as torch does: so an infinite end stays one."""
    way = b - a
    return ted.where(ted.abs(weight) < 0.5, a + weight * way, b - way * (1 - weight))


def _powered(x: Any, exponent: Any) -> Any:
    """A half is a root in torch, which differs at -infinity."""
    return ted.sqrt(x) if exponent == 0.5 and x.dtype.is_float else ted.power(x, exponent)


def _divided(a: Any, b: Any, *, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return a / b
    floors = ted.floor_divide(a, b)
    if rounding_mode == "floor":
        return floors
    if floors.dtype.is_float:
        return ted.trunc(a / b)
    return ted.where((floors < 0) & (floors * b != a), floors + 1, floors)


def _angle(x: Any) -> Any:
    """That of -0 is 0 in torch."""
    return ted.angle(ted.where(x == 0, 0.0, x))


def _in_degrees(x: Any) -> Any:
    return x * (180 / math.pi)


# ------------------------------------------------------------------ the rows


def _rolled(x: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    if not x.ndim:
        return x
    return ted.roll(x, tuple(shifts), tuple(dims)) if dims else ted.roll(x, shifts[0])


def _root_mean_square_norm(
    x: Any, shape: Sequence[int], weight: Any = None, eps: Any = None
) -> Any:
    if eps is None:  # of the type that is computed with
        eps = ted.finfo("float64" if x.dtype.name == "float64" else "float32").eps
    axes = tuple(range(-len(shape), 0))
    normal = ted.nn.rms_norm(x, axis=axes, eps=eps)
    return normal if weight is None else normal * weight


OF_FLOATS: Mapping[Any, Function] = {
    aten.maximum.default: halved(ted.maximum), aten.max.other: halved(ted.maximum),
    aten.minimum.default: halved(ted.minimum), aten.min.other: halved(ted.minimum),
    aten.amax.default: _shared(ted.max), aten.max.default: _shared(ted.max),
    aten.amin.default: _shared(ted.min), aten.min.default: _shared(ted.min),
    aten.clamp.default: ted.clip, aten.clamp.Tensor: ted.clip,
    aten.clamp_min.default: ted.maximum, aten.clamp_min.Tensor: ted.maximum,
    aten.clamp_max.default: ted.minimum, aten.clamp_max.Tensor: ted.minimum,
    aten.relu6.default: ted.nn.relu6, aten.hardtanh.default: ted.nn.hardtanh,
    aten.threshold.default: ted.nn.threshold, aten.hardshrink.default: ted.nn.hardshrink,
    aten.softshrink.default: ted.nn.softshrink, aten.log_sigmoid.default: ted.nn.logsigmoid,
    aten.gelu.default: ted.nn.gelu, aten.grid_sampler.default: _grid_sampled,
    aten.embedding.default: _embedded, aten.rms_norm.default: _root_mean_square_norm,
    aten.detach.default: ted.stop_gradient,
    aten.erfc.default: ted.erfc, aten.lgamma.default: ted.lgamma,
    aten.digamma.default: ted.digamma, aten.hypot.default: ted.hypot,
    aten.copysign.Tensor: ted.copysign, aten.nextafter.default: ted.nextafter,
    aten.logaddexp.default: ted.logaddexp, aten.logaddexp2.default: ted.logaddexp2,
    aten.lerp.Scalar: _between, aten.lerp.Tensor: _between, aten.rad2deg.default: _in_degrees,
    aten.trunc.default: ted.trunc, aten.fix.default: ted.trunc,
    aten.cdist.default: _distances, aten._cdist_forward.default: _distances,
    aten.pdist.default: _pairs, aten._pdist_forward.default: _pairs, aten.dist.default: _distance,
    aten.cosine_similarity.default: _cosine,
    aten.angle.default: _angle, aten.frexp.Tensor: ted.frexp,
    **dict.fromkeys((aten.softmax.int, aten._softmax.default), _shares(ted.nn.softmax)),
    **dict.fromkeys((aten.log_softmax.int, aten._log_softmax.default), _shares(_logs)),
    aten.huber_loss.default: _near_square(ted.nn.huber_loss),
    aten.smooth_l1_loss.default: _near_square(ted.nn.smooth_l1_loss),
    aten.multi_margin_loss.default: _hinge_of_classes,
    aten.multilabel_margin_loss.default: _hinge_of_labels,
    **_SUMS, **RESIZING,
    **_deviations("var", ted.var, False), **_deviations("std", ted.std, False),
    **_deviations("var_mean", ted.var, True), **_deviations("std_mean", ted.std, True),
    **{getattr(aten, f"adaptive_max_pool{n}d").default: _in_parts(n) for n in (2, 3)},
}  # fmt: skip

OF_ANY: Mapping[Any, Function] = {
    aten.roll.default: _rolled, aten._reshape_copy.default: ted.reshape,
    aten.floor_divide.default: ted.floor_divide,
    aten.div.Tensor_mode: _divided, aten.div.Scalar_mode: _divided,
    aten.pow.Tensor_Scalar: _powered, aten.pow.Tensor_Tensor: ted.power,
    aten.pow.Scalar: ted.power, aten.bitwise_or.Scalar: ted.bitwise_or,
    aten.bitwise_xor.Scalar: ted.bitwise_xor,
    aten.fmod.Tensor: ted.fmod, aten.fmod.Scalar: ted.fmod,
    aten.remainder.Scalar_Tensor: ted.remainder, aten.gcd.default: ted.gcd,
    aten.lcm.default: ted.lcm, aten.fmax.default: ted.fmax, aten.fmin.default: ted.fmin,
    aten.isfinite.default: ted.isfinite, aten.isinf.default: ted.isinf,
    aten.isnan.default: ted.isnan, aten.signbit.default: ted.signbit,
    **{getattr(aten, f"max_pool{n}d_with_indices").default: _windowed(n) for n in (1, 2, 3)},
}  # fmt: skip


def _itself(x: Any, *_: Any, **__: Any) -> Any:
    return x


def _first(*_: Any, **__: Any) -> Any:
    return ted.zeros((), "int64")


# Along a dim of what has none: the importer refuses some, and does not end for others.
OF_SCALARS: Mapping[Any, Function] = {
    aten.cumsum.default: _itself, aten.cumprod.default: _itself, aten.prod.dim_int: _itself,
    aten.logcumsumexp.default: _itself, aten.argmax.default: _first, aten.argmin.default: _first,
    **dict.fromkeys((aten.max.dim, aten.min.dim), lambda x, *_, **__: (x, _first())),
}  # fmt: skip
