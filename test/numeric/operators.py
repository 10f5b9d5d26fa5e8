"""The operators of the language, each beside the same in torch, with small arguments.

Argument kinds: `normal` floats, `positive` floats away from zero, `fraction` between -1 and 1,
`distinct` floats without ties, 1 and -1 by `sign`, floats of which half are `zeros`, or a number n
for integer labels below n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import ted
from ted import nn


@dataclass(frozen=True)
class Operator:
    """One operator: ours, torch's, and the shapes and kinds of its arguments."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    kinds: tuple[str | int, ...] = ()
    scatters: bool = False  # an index is data
    heaviest: float = 4.0  # the bound on work of the gradients per work of the result

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """The arguments, the same in every run."""
        generator = np.random.default_rng(7)
        kinds = self.kinds or ("normal",) * len(self.shapes)
        return [_array(generator, s, k) for s, k in zip(self.shapes, kinds, strict=True)]


def _array(
    generator: np.random.Generator, shape: tuple[int, ...], kind: str | int
) -> np.ndarray[Any, Any]:
    if isinstance(kind, int):
        return np.asarray(generator.integers(0, kind, shape))
    if kind == "positive":
        return np.asarray(generator.uniform(0.5, 2.0, shape))
    if kind == "fraction":
        return np.asarray(generator.uniform(-0.9, 0.9, shape))
    if kind == "sign":
        return np.asarray(generator.integers(0, 2, shape) * 2.0 - 1.0)
    if kind == "zeros":
        return np.asarray(generator.normal(size=shape) * generator.integers(0, 2, shape))
    if kind == "distinct":
        count = int(np.prod(shape))
        return (generator.permutation(count).reshape(shape) - count / 2 + 0.25) / count
    return np.asarray(generator.normal(size=shape))


def conv(x: tuple[int, ...], w: tuple[int, ...], **options: Any) -> tuple[Any, Any, Any]:
    """A convolution in torch's layout."""
    return (
        lambda a, b: nn.conv2d(a, b, layout="NCHW", **options),
        lambda a, b: F.conv2d(a, b, **options),
        (x, w),
    )


def channels_last(x: tuple[int, ...], w: tuple[int, ...], **options: Any) -> tuple[Any, Any, Any]:
    """A convolution in our layout; torch's operands are permuted."""

    def theirs(a: Any, b: Any) -> Any:
        a, b = a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1)
        return F.conv2d(a, b, **options).permute(0, 2, 3, 1)

    return lambda a, b: nn.conv2d(a, b, **options), theirs, (x, w)


def depthwise(**options: Any) -> tuple[Any, Any, Any]:
    """One filter a channel."""
    return (
        lambda a, b: nn.depthwise_conv2d(a, b, layout="NCHW", **options),
        lambda a, b: F.conv2d(a, b, groups=3, **options),
        ((2, 3, 6, 5), (3, 1, 3, 3)),
    )


def triangular_sum(x: Any) -> Any:
    """The running sum as a triangular domain."""
    n, m = x.shape
    r = ted.reduce_axis(n, "r")
    return ted.compute((n, m), lambda i, j: ted.sum(x[r, j], axis=r, where=r <= i))


def triangular_product(a: Any, b: Any) -> Any:
    """The lower triangle of `a` times `b`."""
    n, m = a.shape[0], b.shape[1]
    r = ted.reduce_axis(n, "r")
    return ted.compute((n, m), lambda i, j: ted.sum(a[i, r] * b[r, j], axis=r, where=r <= i))


def indexed(shape: tuple[int, ...], element: Callable[..., Any]) -> Callable[..., Any]:
    """An index lambda over tensors: `element(i, j, ..., x, y)`."""

    def build(*tensors: Any) -> Any:
        return ted.compute(shape, lambda *i: element(*i, *tensors))

    return build


def summed(shape: tuple[int, ...], extent: int, element: Callable[..., Any]) -> Callable[..., Any]:
    """A sum over one reduce axis: `element(i, ..., r, x, y)`."""
    r = ted.reduce_axis(extent, "r")

    def term(*arguments: Any) -> Any:
        return ted.sum(element(*arguments[: len(shape)], r, *arguments[len(shape) :]), axis=r)

    return indexed(shape, term)


def _unary(name: str, kind: str = "normal") -> Operator:
    theirs = {"square": torch.square, "softplus": F.softplus}.get(name) or getattr(torch, name)
    return Operator(name, getattr(ted, name), theirs, ((3, 4),), (kind,))


X44, X23 = ((4, 4),), ((2, 3),)

CONTRACTIONS = [
    Operator("matmul", lambda a, b: a @ b, torch.matmul, ((3, 4), (4, 5))),
    Operator("matmul_of_vectors", lambda a, b: a @ b, torch.matmul, ((4,), (4,))),
    Operator("matmul_of_one_row", lambda a, b: a @ b, torch.matmul, ((1, 4), (4, 3))),
    Operator("batched_matmul", lambda a, b: a @ b, torch.matmul, ((2, 3, 4), (2, 4, 2))),
    Operator("broadcast_matmul", lambda a, b: a @ b, torch.matmul, ((2, 3, 4), (4, 2))),
    Operator(
        "einsum", lambda a, b: ted.einsum("bij,bkj->bik", a, b),
        lambda a, b: torch.einsum("bij,bkj->bik", a, b), ((2, 3, 4), (2, 2, 4)),
    ),
    Operator("linear", nn.linear, F.linear, ((3, 4), (2, 4), (2,))),
    Operator("triangular_product", triangular_product, lambda a, b: torch.tril(a) @ b,
             ((4, 4), (4, 3))),
    Operator("gram", lambda a: a.T @ a, lambda a: a.T @ a, ((4, 3),)),
]  # fmt: skip

CONVOLUTIONS = [
    Operator("conv", *conv((2, 2, 6, 5), (3, 2, 3, 3))),
    Operator("conv_padded", *conv((1, 2, 5, 5), (2, 2, 3, 3), padding=1)),
    Operator("conv_strided", *conv((1, 2, 7, 6), (2, 2, 3, 3), stride=2, padding=1)),
    Operator("conv_dilated", *conv((1, 2, 8, 7), (2, 2, 3, 3), dilation=2, padding=2)),
    Operator("conv_stride_3_dilation_2",
             *conv((1, 2, 9, 9), (2, 2, 3, 3), stride=3, dilation=2, padding=2)),
    Operator("conv_stride_2_dilation_3",
             *conv((1, 1, 9, 8), (1, 1, 3, 3), stride=2, dilation=3, padding=1)),
    Operator("conv_grouped", *conv((1, 4, 5, 5), (4, 2, 3, 3), groups=2, padding=1)),
    Operator("conv_stride_above_kernel", *conv((1, 2, 9, 9), (2, 2, 2, 2), stride=4)),
    Operator("conv_pointwise_strided", *conv((1, 3, 5, 5), (2, 3, 1, 1), stride=2)),
    Operator("conv_channels_last", *channels_last((1, 6, 5, 2), (3, 3, 2, 3), stride=2, padding=1)),
    Operator("conv_mixed_strides",
             *conv((1, 2, 7, 6), (2, 2, 3, 2), stride=(2, 1), padding=(1, 0))),
    Operator(
        "conv1d", lambda x, w: nn.conv1d(x, w, layout="NCL", stride=2, padding=1),
        lambda x, w: F.conv1d(x, w, stride=2, padding=1), ((2, 2, 7), (3, 2, 3)),
    ),
    Operator(
        "conv3d", lambda x, w: nn.conv3d(x, w, layout="NCDHW", padding=1),
        lambda x, w: F.conv3d(x, w, padding=1), ((1, 1, 3, 4, 3), (2, 1, 2, 2, 2)),
    ),
    Operator("depthwise", *depthwise(padding=1)),
    Operator("depthwise_strided", *depthwise(stride=2, padding=1)),
    Operator(
        "conv_transpose", lambda x, w: nn.conv_transpose2d(x, w, stride=2, layout="NCHW"),
        lambda x, w: F.conv_transpose2d(x, w, stride=2), ((1, 2, 3, 4), (2, 2, 3, 3)),
    ),
]  # fmt: skip

POOLS = [
    Operator(
        f"{kind}_pool_{name}",
        lambda x, o=options, k=kind: getattr(nn, f"{k}_pool2d")(x, layout="NCHW", **o),
        lambda x, o=options, k=kind: getattr(F, f"{k}_pool2d")(
            x, o["window"], **{n: v for n, v in o.items() if n != "window"}
        ),
        ((1, 2, 7, 6),),
        ("distinct",),
    )
    for kind in ("max", "avg")
    for name, options in {
        "tiles": {"window": 2, "stride": 2},
        "overlapping": {"window": 3, "stride": 2},
        "padded": {"window": 3, "stride": 2, "padding": 1},
        "sliding": {"window": 3, "stride": 1},
    }.items()
] + [
    Operator("global_avg_pool", lambda x: nn.global_avg_pool2d(x, layout="NCHW"),
             lambda x: x.mean((2, 3)), ((2, 2, 3, 4),)),
    Operator("global_max_pool", lambda x: nn.global_max_pool2d(x, layout="NCHW"),
             lambda x: x.amax((2, 3)), ((2, 2, 3, 4),), ("distinct",)),
]  # fmt: skip

LAYOUT = [
    Operator("broadcast_add", lambda a, b: a + b, lambda a, b: a + b, ((3, 4), (4,))),
    Operator("broadcast_multiply", lambda a, b: a * b, lambda a, b: a * b, ((3, 1), (2, 1, 4))),
    Operator("transpose", lambda x: x.T * 2, lambda x: x.T * 2, X23),
    Operator("permute", lambda x: ted.transpose(x, (2, 0, 1)), lambda x: x.permute(2, 0, 1),
             ((2, 3, 4),)),
    Operator("reshape", lambda x: x.reshape((6, 4)), lambda x: x.reshape(6, 4), ((2, 3, 4),)),
    Operator("reshape_uneven", lambda x: x.reshape((8, 15)), lambda x: x.reshape(8, 15),
             ((2, 3, 4, 5),)),
    Operator("flatten", nn.flatten, lambda x: x.flatten(1), ((2, 3, 2, 2),)),
    Operator("slice", lambda x: x[1:, ::2], lambda x: x[1:, ::2], ((4, 5),)),
    Operator("slice_reversed", lambda x: x[::-1], lambda x: x.flip(0), ((4, 2),)),
    Operator("flip", lambda x: ted.flip(x, 1), lambda x: x.flip(1), ((3, 4),)),
    Operator("roll", lambda x: ted.roll(x, 2, 1), lambda x: torch.roll(x, 2, 1), ((3, 5),)),
    Operator("tile", lambda x: ted.tile(x, (2, 3)), lambda x: x.tile(2, 3), X23),
    Operator("repeat", lambda x: ted.repeat(x, 3, 1), lambda x: x.repeat_interleave(3, 1), X23),
    Operator(
        "upsample_nearest", lambda x: ted.repeat(ted.repeat(x, 2, 2), 3, 3),
        lambda x: F.interpolate(x, scale_factor=(2, 3)), ((1, 2, 3, 2),),
    ),
    Operator(
        "resize_nearest", indexed((8, 11), lambda i, j, x: x[0, 0, i * 5 // 8, j * 7 // 11]),
        lambda x: F.interpolate(x, size=(8, 11))[0, 0], ((1, 1, 5, 7),),
    ),
    Operator("concatenate", lambda a, b: ted.concatenate([a, b, a], 1),
             lambda a, b: torch.cat([a, b, a], 1), ((2, 3), (2, 2))),
    Operator("stack", lambda a, b: ted.stack([a, b], 1), lambda a, b: torch.stack([a, b], 1),
             ((2, 3), (2, 3))),
    Operator("tril", ted.tril, torch.tril, ((4, 5),)),
    Operator("triu", lambda x: ted.triu(x, 1), lambda x: torch.triu(x, 1), ((4, 5),)),
    Operator("diagonal", indexed((4,), lambda i, x: x[i, i] * x[i, i]),
             lambda x: x.diagonal() ** 2, X44),
    Operator("trace", summed((), 4, lambda r, x: x[r, r]), torch.trace, X44),
    Operator(
        "pixel_shuffle",
        indexed((2, 4, 6), lambda c, i, j, x: x[c * 4 + i % 2 * 2 + j % 2, i // 2, j // 2]),
        lambda x: F.pixel_shuffle(x, 2), ((8, 2, 3),),
    ),
    Operator("embedding", nn.embedding, lambda t, n: F.embedding(n, t) ** 1, ((5, 3), (4,)),
             ("normal", 5), scatters=True),
    *(
        Operator(
            f"pad_{mode}", lambda x, m=mode: ted.pad(x, ((0, 0), (2, 1)), m),
            lambda x, m=theirs: F.pad(x, (2, 1), m), ((2, 4),),
        )
        for mode, theirs in (("constant", "constant"), ("edge", "replicate"),
                             ("reflect", "reflect"), ("wrap", "circular"))
    ),
]  # fmt: skip

INDICES = [
    Operator("two_strides", summed((3,), 3, lambda i, r, a, b: a[2 * i + 3 * r] * b[r]),
             lambda a, b: torch.stack([sum(a[2 * i + 3 * r] * b[r] for r in range(3))
                                       for i in range(3)]), ((11,), (3,))),
    Operator("quotient_times_remainder", indexed((10,), lambda i, a: a[i // 4] * a[i % 5]),
             lambda a: a[torch.arange(10) // 4] * a[torch.arange(10) % 5], ((5,),)),
    Operator("clamped", indexed((8, 3), lambda i, j, a: a[ted.minimum(i + j, 5), j] ** 2),
             lambda a: a[(torch.arange(8)[:, None] + torch.arange(3)).clamp(max=5),
                         torch.arange(3)] ** 2, ((6, 3),)),
    Operator("symmetric_sum", indexed((4, 4), lambda i, j, a: a[i, j] + a[j, i]),
             lambda a: a + a.T, X44),
    Operator("stencil", indexed((6,), lambda i, a: ted.tanh(a[i] * a[i + 1]) + a[i + 2]),
             lambda a: torch.tanh(a[:-2] * a[1:-1]) + a[2:], ((8,),)),
    Operator("shifted_guard", indexed((5,), lambda i, a: ted.where(i > 0, a[i - 1], 0.0) * a[i]),
             lambda a: F.pad(a[:-1], (1, 0)) * a, ((5,),)),
    Operator("running_sum", triangular_sum, lambda x: x.cumsum(0), ((5, 2),)),
    Operator("masked_root", lambda x: ted.where(x > 0, ted.sqrt(x), 0.0),
             lambda x: torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0), X44,
             ("zeros",)),
    Operator("masked_quotient",
             indexed((4, 4), lambda i, j, x: ted.where(x[i, j] != 0, 1 / x[i, j], 0.0)),
             lambda x: torch.where(x != 0, 1 / torch.where(x != 0, x, 1.0), 0.0), X44, ("zeros",)),
]  # fmt: skip

REDUCTIONS = [
    Operator("sum", lambda x: ted.sum(x, 1), lambda x: x.sum(1), ((3, 4),)),
    Operator("mean", lambda x: ted.mean(x, (0, 2)), lambda x: x.mean((0, 2)), ((2, 3, 4),)),
    Operator("sum_of_squares", lambda x: ted.sum(x * x), lambda x: (x * x).sum(), ((3, 4),)),
    Operator("max", lambda x: ted.max(x, 1), lambda x: x.amax(1), ((3, 5),), ("distinct",)),
    Operator("min_of_all", ted.min, torch.amin, ((3, 5),), ("distinct",)),
    Operator("prod", lambda x: ted.prod(x, 1), lambda x: x.prod(1), ((2, 8),)),
    Operator("logsumexp", lambda x: ted.logsumexp(x, 1), lambda x: x.logsumexp(1), ((3, 4),)),
    Operator("softmax", nn.softmax, lambda x: x.softmax(-1), ((3, 4),)),
    Operator("log_softmax", nn.log_softmax, lambda x: x.log_softmax(-1), ((3, 4),)),
    Operator("cross_entropy", nn.cross_entropy, F.cross_entropy, ((4, 3), (4,)), ("normal", 3)),
    Operator("mse", nn.mse, F.mse_loss, ((3, 2), (3, 2))),
    Operator("layer_norm", nn.layer_norm, lambda x, w, b: F.layer_norm(x, (4,), w, b),
             ((3, 4), (4,), (4,))),
    Operator("rms_norm", nn.rms_norm, lambda x, w: F.rms_norm(x, (4,), w, 1e-6), ((3, 4), (4,))),
    Operator("batch_norm", lambda x, w, b: nn.batch_norm(x, w, b, axis=1),
             lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((3, 2, 2, 2), (2,), (2,))),
    Operator("group_norm", lambda x, w, b: nn.group_norm(x, 2, w, b, axis=1),
             lambda x, w, b: F.group_norm(x, 2, w, b), ((2, 4, 3), (4,), (4,))),
    Operator("attention", nn.attention, F.scaled_dot_product_attention,
             ((1, 3, 4), (1, 5, 4), (1, 5, 2))),
    Operator("causal_attention", lambda q, k, v: nn.attention(q, k, v, causal=True),
             lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
             ((1, 4, 3), (1, 4, 3), (1, 4, 2))),
]  # fmt: skip

POINTWISE = [
    *map(_unary, ("exp", "tanh", "erf", "sin", "cos", "sigmoid", "softplus", "square", "relu",
                  "expm1", "atan", "sinh", "cosh", "asinh", "exp2", "erfc")),
    *(_unary(n, "positive")
      for n in ("log", "sqrt", "rsqrt", "log1p", "log2", "log10", "reciprocal", "tan")),
    *(_unary(n, "fraction") for n in ("asin", "acos", "atanh")),
    Operator("acosh", lambda a: ted.acosh(1 + a), lambda a: torch.acosh(1 + a), ((3, 4),),
             ("positive",)),
    Operator("cbrt", ted.cbrt, lambda a: a ** (1 / 3), ((3, 4),), ("positive",)),
    Operator("divide", lambda a, b: a / b, lambda a, b: a / b, ((3, 4), (3, 4)),
             ("normal", "positive")),
    Operator("power", lambda a, b: a**b, lambda a, b: a**b, ((3, 4), (3, 4)),
             ("positive", "normal")),
    Operator("cube", lambda a: a**3, lambda a: a**3, ((3, 4),)),
    Operator("maximum", ted.maximum, torch.maximum, ((3, 4), (3, 4))),
    Operator("clip", lambda x: ted.clip(x, -0.5, 0.5), lambda x: x.clip(-0.5, 0.5), ((3, 4),)),
    Operator("absolute", ted.absolute, torch.abs, ((3, 4),)),
    Operator("where", lambda a, b: ted.where(a > b, a * b, b),
             lambda a, b: torch.where(a > b, a * b, b),
             ((3, 4), (3, 4))),
    Operator("gelu", nn.gelu, F.gelu, ((3, 4),)),
    Operator("silu", nn.silu, F.silu, ((3, 4),)),
    Operator("elu", nn.elu, F.elu, ((3, 4),)),
    Operator("leaky_relu", nn.leaky_relu, F.leaky_relu, ((3, 4),)),
    Operator("hypot", ted.hypot, torch.hypot, ((3, 4), (3, 4))),
    Operator("fmod", ted.fmod, torch.fmod, ((3, 4), (3, 4)), ("normal", "positive")),
    Operator("remainder", ted.remainder, torch.remainder, ((3, 4), (3, 4)),
             ("normal", "positive")),
    Operator("atan2", ted.atan2, torch.atan2, ((3, 4), (3, 4))),
]  # fmt: skip

NETWORKS = [
    Operator(
        "relu_squared_of_conv",
        lambda x, w: ted.square(ted.relu(nn.conv2d(x, w, layout="NCHW", padding=1))),
        lambda x, w: F.relu(F.conv2d(x, w, padding=1)) ** 2, ((1, 2, 4, 4), (2, 2, 3, 3)),
    ),
    Operator(
        "conv_pool_dense_loss",
        lambda x, w, v, y: nn.cross_entropy(
            nn.flatten(nn.max_pool2d(ted.tanh(nn.conv2d(x, w)), 2)) @ v, y
        ),
        lambda x, w, v, y: F.cross_entropy(
            F.max_pool2d(
                torch.tanh(F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1))), 2
            ).permute(0, 2, 3, 1).flatten(1) @ v, y
        ),
        ((2, 6, 6, 1), (3, 3, 1, 2), (8, 3), (2,)), ("normal", "normal", "normal", 3),
    ),
    Operator(
        "two_layers",
        lambda x, w, v: ted.mean(ted.square(ted.tanh(x @ w) @ v)),
        lambda x, w, v: (torch.tanh(x @ w) @ v).square().mean(), ((3, 4), (4, 5), (5, 2)),
    ),
]  # fmt: skip

OPERATORS = [
    *CONTRACTIONS, *CONVOLUTIONS, *POOLS, *LAYOUT, *INDICES, *REDUCTIONS, *POINTWISE, *NETWORKS,
]  # fmt: skip
