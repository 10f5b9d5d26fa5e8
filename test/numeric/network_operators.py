"""The operators of `ted.nn`, each beside the same in torch, with small arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import ted
from numeric.operators import Operator
from ted import nn

FIRST = {1: "NCL", 2: "NCHW", 3: "NCDHW"}


def named(name: str, *positional: Any, **options: Any) -> tuple[Any, Any]:
    """A function of both libraries, with the same arguments behind the tensors."""

    def of(library: Any) -> Callable[..., Any]:
        return lambda *tensors: getattr(library, name)(*tensors, *positional, **options)

    return of(nn), of(F)


def images(name: str, rank: int, *positional: Any, **options: Any) -> tuple[Any, Any]:
    """The same, with channels first."""
    _, theirs = named(name, *positional, **options)
    ours, _ = named(name, *positional, **options, layout=FIRST[rank])
    return ours, theirs


def behind(name: str, *positional: Any, **options: Any) -> tuple[Any, Any]:
    """The same with channels last: torch's operands and results are turned."""
    ours, theirs = named(name, *positional, **options)

    def turned(x: Any, *others: Any) -> Any:
        weights = [t.movedim((-1, -2), (0, 1)) if t.ndim > 1 else t for t in others]
        return theirs(x.movedim(-1, 1), *weights).movedim(1, -1)

    return ours, turned


# ------------------------------------------------------------------ pools

_POOLS = [
    ("max_pool1d", 1, (2, 7), (3, 2, 1)),
    ("max_pool2d", 2, (1, 5, 4), (3, 2, 1)),
    ("max_pool3d", 3, (1, 3, 4, 3), (2, 2, 1)),
    ("avg_pool1d", 1, (2, 7), (3, 2, 1)),
    ("avg_pool2d", 2, (1, 5, 4), ((3, 2), 2, 1)),
    ("avg_pool3d", 3, (1, 3, 4, 3), (2, 2, 1)),
    ("lp_pool1d", 1, (2, 7), (2.0, 3, 2)),
    ("lp_pool2d", 2, (1, 5, 4), (3.0, 2)),
    ("lp_pool3d", 3, (1, 3, 4, 3), (2.0, 2)),
    ("adaptive_max_pool1d", 1, (2, 7), (3,)),
    ("adaptive_max_pool2d", 2, (1, 5, 4), ((3, None),)),
    ("adaptive_max_pool3d", 3, (1, 3, 4, 3), ((2, 3, 2),)),
    ("adaptive_avg_pool1d", 1, (2, 7), (3,)),
    ("adaptive_avg_pool2d", 2, (1, 5, 4), ((3, 2),)),
    ("adaptive_avg_pool3d", 3, (1, 3, 4, 3), ((2, 3, 2),)),
]


def _pool(name: str, rank: int, shape: tuple[int, ...], *given: Any, **options: Any) -> Operator:
    kind = "positive" if name.startswith("lp") else "distinct"
    label = "_".join([name, *options])
    return Operator(label, *images(name, rank, *given, **options), ((1, *shape),), (kind,))


def _fractional(
    rank: int, layout: str, spatial: tuple[int, ...], window: Any, sizes: tuple[int, ...]
) -> Operator:
    """Windows that begin where random numbers say: the same ones in both libraries."""
    name, last = f"fractional_max_pool{rank}d", layout.endswith("C")
    samples = np.random.default_rng(1).random((1, 2, rank))

    def ours(x: Any) -> Any:
        options = {"samples": samples, "layout": layout}
        return getattr(nn, name)(x, window, sizes, **options)

    def theirs(x: Any) -> Any:
        first = x.movedim(-1, 1) if last else x
        found = getattr(F, name)(first, window, sizes, _random_samples=torch.tensor(samples))
        return found.movedim(1, -1) if last else found

    shape = (1, *spatial, 2) if last else (1, 2, *spatial)
    return Operator(f"{name}_{layout}", ours, theirs, (shape,), ("distinct",), scatters=True)


def _unpool(rank: int, layout: str, spatial: tuple[int, ...], *given: Any) -> Operator:
    """Elements at positions of a pool of the same window, one in each of its windows."""
    name, last = f"max_unpool{rank}d", layout.endswith("C")
    shape = (1, 2, *spatial)
    whole = getattr(F, name)(torch.zeros(shape), torch.zeros(shape, dtype=torch.long), *given)
    drawn = torch.tensor(np.random.default_rng(1).permutation(whole.numel())).reshape(whole.shape)
    at = getattr(F, f"max_pool{rank}d")(drawn.double(), *given, return_indices=True)[1]

    def ours(x: Any) -> Any:
        places = (at.movedim(1, -1) if last else at).numpy()
        return getattr(nn, name)(x, places, *given, layout=layout)

    def theirs(x: Any) -> Any:
        found = getattr(F, name)(x.movedim(-1, 1) if last else x, at, *given)
        return found.movedim(1, -1) if last else found

    own = (1, *spatial, 2) if last else shape
    return Operator(f"{name}_{layout}", ours, theirs, (own,), ("normal",), scatters=True)


POOLS = [
    *(_pool(name, rank, shape, *given) for name, rank, shape, given in _POOLS),
    _pool("max_pool2d", 2, (1, 5, 4), 2, 2, ceil_mode=True),
    _pool("max_pool1d", 1, (1, 9), 3, 2, dilation=2, padding=1),
    _pool("avg_pool2d", 2, (1, 5, 4), 3, 2, 1, ceil_mode=True),
    _pool("avg_pool1d", 1, (1, 6), 3, 2, 1, ceil_mode=True, count_include_pad=False),
    _pool("avg_pool2d", 2, (1, 4, 4), 2, divisor_override=3),
    _pool("lp_pool2d", 2, (1, 5, 4), 2.0, 2, ceil_mode=True),
    _fractional(2, "NCHW", (5, 6), (2, 3), (3, 2)),
    _fractional(2, "NHWC", (5, 6), 2, (4, 1)),
    _fractional(3, "NCDHW", (4, 3, 5), 2, (2, 1, 3)),
    _unpool(1, "NCL", (4,), 2),
    _unpool(2, "NCHW", (2, 3), 2, (3, 2)),
    _unpool(2, "NHWC", (3, 2), 3, 3, 1),
    _unpool(3, "NCDHW", (2, 1, 2), 2),
    Operator("max_pool3d_last", *behind("max_pool3d", 2), ((1, 4, 2, 4, 2),), ("distinct",)),
    Operator("avg_pool1d_last", *behind("avg_pool1d", 3, 2, 1), ((1, 6, 2),)),
    Operator("adaptive_avg_pool2d_last", *behind("adaptive_avg_pool2d", (2, 3)), ((1, 3, 4, 2),)),
]

# ------------------------------------------------------------------ convolutions


def _mode(rank: int, mode: str, x: tuple[int, ...], w: tuple[int, ...]) -> Operator:
    """A padding mode, which torch has in its layers alone."""

    def theirs(a: Any, b: Any) -> Any:
        wide = F.pad(a, (1, 1) * rank, mode)
        return getattr(F, f"conv{rank}d")(wide, b)

    ours = images(f"conv{rank}d", rank, padding=1, padding_mode=mode)[0]
    return Operator(f"conv{rank}d_{mode}", ours, theirs, (x, w))


def _conv(
    name: str, rank: int, x: tuple[int, ...], w: tuple[int, ...], **options: Any
) -> Operator:  # fmt: skip
    label = "_".join([name, *options])
    return Operator(label, *images(name, rank, **options), (x, w))


CONVOLUTIONS = [
    _conv("conv1d", 1, (1, 4, 7), (2, 2, 3), stride=2, padding=1, groups=2),
    _conv("conv2d", 2, (1, 2, 5, 4), (2, 1, 2, 2), dilation=2, groups=2, padding=1),
    _conv("conv3d", 3, (1, 2, 3, 3, 2), (2, 1, 2, 2, 1), groups=2, stride=(1, 2, 1)),
    _mode(1, "circular", (1, 2, 5), (2, 2, 3)),
    _mode(2, "reflect", (1, 1, 3, 4), (1, 1, 3, 3)),
    _mode(3, "replicate", (1, 1, 2, 3, 2), (1, 1, 3, 2, 3)),
    _conv("conv_transpose1d", 1, (1, 2, 4), (2, 3, 3), stride=2, padding=1, output_padding=1),
    _conv("conv_transpose1d", 1, (1, 1, 4), (1, 1, 2), dilation=3, output_padding=2),
    _conv("conv_transpose2d", 2, (1, 4, 2, 3), (4, 1, 2, 3), stride=(2, 1), groups=2, dilation=2),
    _conv("conv_transpose3d", 3, (1, 2, 2, 2, 2), (2, 1, 2, 1, 2), stride=2, padding=(0, 0, 1)),
    Operator("conv3d_last", *behind("conv3d", padding=1), ((1, 2, 3, 2, 2), (2, 3, 2, 2, 1))),
    Operator("conv_transpose1d_last", *behind("conv_transpose1d", stride=2, groups=2),
             ((1, 3, 4), (3, 1, 4))),
    Operator(
        "conv_transpose3d_last_bias",
        lambda x, w, b: nn.conv_transpose3d(x, w, b, output_padding=1, stride=2),
        lambda x, w, b: F.conv_transpose3d(
            x.movedim(-1, 1), w.movedim((-1, -2), (0, 1)), b, output_padding=1, stride=2
        ).movedim(1, -1),
        ((1, 2, 1, 2, 2), (2, 1, 2, 1, 2), (1,)),
    ),
]  # fmt: skip

# ------------------------------------------------------------------ norms and attention


def _batch_norm(x: Any, mean: Any, variance: Any, w: Any, b: Any) -> Any:
    """By running statistics, of which torch gives no gradient."""
    shape = (1, -1, 1)
    scale = (variance + 1e-5).rsqrt().reshape(shape) * w.reshape(shape)
    return (x - mean.reshape(shape)) * scale + b.reshape(shape)


NORMS = [
    Operator(
        "batch_norm_eval",
        lambda x, m, v, w, b: nn.batch_norm(x, w, b, axis=1, running=(m, v), training=False),
        _batch_norm, ((2, 3, 2), (3,), (3,), (3,), (3,)),
        ("normal", "normal", "positive", "normal", "normal"),
    ),
    Operator("instance_norm", lambda x, w, b: nn.instance_norm(x, w, b, axis=1),
             lambda x, w, b: F.instance_norm(x, None, None, w, b), ((2, 2, 3, 2), (2,), (2,))),
    *(
        Operator(f"local_response_norm_{n}",
                 lambda x, n=n: nn.local_response_norm(x, n, 0.5, 0.7, 2.0, axis=1),
                 lambda x, n=n: F.local_response_norm(x, n, 0.5, 0.7, 2.0), ((1, 4, 2),))
        for n in (2, 3)
    ),
]  # fmt: skip


def _attention(
    name: str, q: tuple[int, ...], k: tuple[int, ...], *mask: Any, kind: str = "normal",
    **options: Any,
) -> Operator:  # fmt: skip
    """An attention, perhaps with a mask of floats, or one of bools where `kind` is positive."""

    def ours(q: Any, k: Any, v: Any, m: Any = None) -> Any:
        seen = m > 1 if m is not None and kind == "positive" else m
        return nn.attention(q, k, v, mask=seen, causal=options.get("causal", False))

    def theirs(q: Any, k: Any, v: Any, m: Any = None) -> Any:
        n, far = q.shape[-2], k.shape[-2]
        seen = m > 1 if m is not None and kind == "positive" else m
        if "causal" in options:
            seen = q.new_ones((n, far)).tril(far - n) > 0
        grouped = q.ndim > 2 and q.shape[-3] != k.shape[-3]
        return F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=grouped)

    kinds = ("normal", "normal", "normal", *(kind for _ in mask))
    return Operator(name, ours, theirs, (q, k, k, *mask), kinds)


ATTENTIONS = [
    _attention("attention_mask", (2, 3, 2), (2, 4, 2), (3, 4)),
    _attention("attention_bools", (1, 3, 2), (1, 4, 2), (1, 3, 4), kind="positive"),
    _attention("attention_causal_at_the_end", (1, 2, 2), (1, 4, 2), causal=True),
    _attention("attention_heads", (4, 3, 2), (2, 3, 2), causal=True),
]

# ------------------------------------------------------------------ losses

_X, _W = (3, 4), (4,)
_OF_TWO: list[tuple[str, str, dict[str, Any]]] = [
    ("l1_loss", "normal", {}),
    ("huber_loss", "normal", {"delta": 0.7}),
    ("smooth_l1_loss", "normal", {"beta": 0.7, "reduction": "sum"}),
    ("binary_cross_entropy_with_logits", "positive", {}),
    ("kl_div", "positive", {"reduction": "batchmean"}),
    ("kl_div", "normal", {"reduction": "sum", "log_target": True}),
    ("hinge_embedding_loss", "sign", {"margin": 0.5, "reduction": "none"}),
    ("cosine_similarity", "normal", {}),
]


def _two(name: str, kind: str, options: dict[str, Any]) -> Operator:
    ours, theirs = named(name, **options)
    if name == "cosine_similarity":
        theirs = named(name, dim=-1)[1]
    return Operator("_".join([name, *options]), ours, theirs, (_X, _X), ("normal", kind))


def _labels(name: str, shape: tuple[int, ...] = _X, **options: Any) -> Operator:
    """Labels of 4 classes along dim 1."""
    ours = named(name, **options, **({"axis": 1} if len(shape) > 2 else {}))[0]
    label = "_".join([name, *options, str(len(shape))])
    places = (shape[0], *shape[2:])
    return Operator(label, ours, named(name, **options)[1], (shape, places), ("normal", 4))


def _margins(x: Any, y: Any) -> Any:
    """torch's definition, of which it has no second derivative."""
    gap = (0.5 - x.gather(1, y[:, None]) + x).clamp(min=0) ** 2
    return (gap * (torch.arange(4) != y[:, None])).mean()


LOSSES = [
    *(_two(*row) for row in _OF_TWO),
    _labels("cross_entropy", label_smoothing=0.2),
    _labels("cross_entropy", (2, 4, 2), ignore_index=1, reduction="sum"),
    _labels("nll_loss", (2, 4, 2), reduction="none"),
    Operator("multi_margin_loss", named("multi_margin_loss", p=2, margin=0.5)[0], _margins,
             (_X, (3,)), ("normal", 4)),
    Operator(
        "cross_entropy_of_all", lambda x, y, w: nn.cross_entropy(
            x, y, weight=w, ignore_index=1, label_smoothing=0.1),
        lambda x, y, w: _smoothed(x, y, w), (_X, (3,), _W), ("normal", 4, "normal"),
    ),
    Operator(
        "cross_entropy_of_probabilities",
        lambda x, y: nn.cross_entropy(x, y, axis=1, label_smoothing=0.2),
        lambda x, y: F.cross_entropy(x, y, label_smoothing=0.2), ((2, 3, 2), (2, 3, 2)),
    ),
    Operator(
        "binary_cross_entropy_weighted",
        lambda x, y, w, p: nn.binary_cross_entropy_with_logits(x, y, "sum", w, p),
        lambda x, y, w, p: (
            w * ((1 - y) * x + (1 + (p - 1) * y) * F.softplus(-x))  # no gradient of torch's w
        ).sum(),
        (_X, _X, _W, _W), ("normal", "positive", "normal", "normal"),
    ),
    Operator("cosine_embedding_loss", *named("cosine_embedding_loss", margin=0.1),
             (_X, _X, (3,)), ("normal", "normal", "sign")),
    Operator("triplet_margin_loss", *named("triplet_margin_loss"), (_X, _X, _X)),
    Operator("triplet_margin_loss_swap", *named("triplet_margin_loss", p=3.0, swap=True),
             (_X, _X, _X)),
]  # fmt: skip


def _smoothed(x: Any, y: Any, w: Any) -> Any:
    """torch's definition, of whose weights it gives no gradient."""
    log = x.log_softmax(1)
    seen = (y != 1).to(x.dtype)
    of_label = -(w[y] * log[range(len(y)), y] * seen).sum()
    uniform = -((log * w).sum(1) * seen).sum() / 4
    return (0.9 * of_label + 0.1 * uniform) / (w[y] * seen).sum()


# ------------------------------------------------------------------ images at other places


def _resized(rank: int, mode: str, size: Any = None, **options: Any) -> Operator:
    label = "_".join(["resize", str(rank), mode.replace("-", "_"), *options])
    shape = (1, 1, 4, 3, 2)[: rank + 2]
    functions = images("interpolate", rank, size, mode=mode, **options)
    return Operator(label, *functions, (shape,))


def _sampled(rank: int, mode: str, outside: str, corners: bool = False) -> Operator:
    label = f"grid_sample_{rank}_{mode}_{outside}" + "_corners" * corners
    options = {"mode": mode, "padding_mode": outside, "align_corners": corners}
    shapes = (2, 1, 3, 4, 2)[: rank + 2], (*(2, 2, 3, 1)[: rank + 1], rank)
    return Operator(label, *images("grid_sample", rank, **options), shapes, scatters=True)


def _unfolded(x: Any) -> Any:
    """torch's windows with channels last, behind the elements of a window."""
    columns = F.unfold(x.movedim(-1, 1), (2, 1), padding=1, stride=2)
    return columns.reshape(1, 2, 2, -1).permute(0, 3, 2, 1).flatten(2)


RESIZED = [
    _resized(1, "nearest", 7),
    _resized(2, "nearest", scale_factor=(1.5, 0.7)),
    _resized(3, "nearest-exact", (3, 5, 2)),
    _resized(1, "linear", 3),
    _resized(2, "bilinear", (6, 2)),
    _resized(2, "bilinear", scale_factor=1.5),
    _resized(2, "bilinear", (7, 1), align_corners=True),
    _resized(3, "trilinear", (2, 4, 3)),
    _resized(2, "bicubic", (6, 2)),
    _resized(2, "bicubic", (5, 4), align_corners=True),
    _resized(2, "area", (3, 2)),
    _sampled(2, "bilinear", "zeros"),
    _sampled(2, "bilinear", "border", True),
    _sampled(2, "bilinear", "reflection"),
    _sampled(2, "nearest", "reflection", True),
    _sampled(2, "bicubic", "zeros"),
    _sampled(3, "bilinear", "zeros", True),
    Operator("pixel_shuffle", *images("pixel_shuffle", 2, 2), ((1, 8, 2, 1),)),
    Operator("pixel_unshuffle_last", *behind("pixel_unshuffle", 2), ((1, 2, 4, 2),)),
    Operator("unfold", *images("unfold", 2, (2, 1), dilation=2, padding=1, stride=1),
             ((1, 2, 3, 2),)),
    Operator("unfold_last", lambda x: nn.unfold(x, (2, 1), 2, 1), _unfolded, ((1, 3, 2, 2),)),
    Operator("fold", *images("fold", 2, (4, 3), (2, 1), padding=(1, 0), stride=2), ((1, 4, 6),)),
]  # fmt: skip

# ------------------------------------------------------------------ tables


def _bag(name: str, mode: str, padding: int | None = None, weighted: bool = False) -> Operator:
    def ours(t: Any, i: Any, w: Any = None) -> Any:
        return nn.embedding_bag(t, i, mode, w, padding)

    def theirs(t: Any, i: Any, w: Any = None) -> Any:  # torch's has no second derivative
        rows = t[i] if w is None else t[i] * w[..., None]
        if mode == "sum":
            return rows.sum(1)
        counts = (i != padding if padding is not None else i >= 0)[..., None]
        return (rows * counts).sum(1) / counts.sum(1).clamp(min=1)

    shapes = ((4, 2), (3, 2), *(((3, 2),) if weighted else ()))
    kinds = ("distinct", 4, "normal")[: len(shapes)]
    return Operator(name, ours, theirs, shapes, kinds, scatters=True)


OFFSETS = np.array([0, 3, 3, 7])  # a bag of nothing, and one of the rest


def _bags(name: str, mode: str, padding: int | None = None, weighted: bool = False) -> Operator:
    """Bags one behind the other; torch's has no second derivative."""

    def ours(t: Any, i: Any, w: Any = None) -> Any:
        return nn.embedding_bag(t, i, mode, w, padding, offsets=OFFSETS)

    def theirs(t: Any, i: Any, w: Any = None) -> Any:
        rows, found = t[i] if w is None else t[i] * w[:, None], []
        for begin, end in itertools.pairwise([*OFFSETS, len(i)]):
            own = rows[begin:end][i[begin:end] != (-1 if padding is None else padding)]
            some = len(own) > 0
            found.append(_BAG[mode](own) if some else torch.zeros_like(t[0]))
        return torch.stack(found)

    shapes = ((4, 2), (8,), *(((8,),) if weighted else ()))
    return Operator(name, ours, theirs, shapes, ("distinct", 4, "normal")[: len(shapes)], True)


_BAG: dict[str, Callable[..., Any]] = {
    "sum": lambda rows: rows.sum(0), "mean": lambda rows: rows.mean(0),
    "max": lambda rows: rows.amax(0),
}  # fmt: skip

TABLES = [
    Operator("embedding_padding", lambda t, i: nn.embedding(t, i, -2),
             lambda t, i: F.embedding(i, t, -2) ** 1, ((4, 2), (3,)), ("normal", 4), True),
    _bag("bag_mean", "mean"),
    _bag("bag_mean_padding", "mean", 1),
    _bag("bag_sum_weighted", "sum", weighted=True),
    _bags("bags_sum_weighted", "sum", weighted=True),
    _bags("bags_mean_padding", "mean", 1),
    _bags("bags_max", "max", 2),
]  # fmt: skip

# ------------------------------------------------------------------ recurrent layers


def _stacked(kind: str, layers: int, both: bool) -> Operator:
    """Layers of 2 units on 3 inputs, with two biases each, over 3 times and a batch of 1."""
    gates, ways = {"rnn": 1, "lstm": 4, "gru": 3}[kind], 1 + both
    biases = 2 if kind == "gru" else 1
    shapes: list[tuple[int, ...]] = [(3, 1, 3)]
    for k in range(layers * ways):
        inputs = 3 if k < ways else 2 * ways
        shapes += [(inputs, 2 * gates), (2, 2 * gates), *[(2 * gates,)] * biases]

    def groups(weights: Any) -> list[Any]:
        many = 2 + biases
        return [weights[k : k + many] for k in range(0, len(weights), many)]

    def ours(x: Any, *weights: Any) -> Any:
        states, finals = nn.stacked(getattr(nn, kind), x, groups(weights), None, both)
        last = finals[-1][1] if kind == "lstm" else finals[-1]
        return ted.concatenate([ted.flatten(states), ted.flatten(last)])

    def theirs(x: Any, *weights: Any) -> Any:
        flat = []
        for w_x, w_h, *rest in groups(weights):
            flat += [w_x.T, w_h.T, *rest, *[torch.zeros_like(rest[0])] * (2 - biases)]
        zero = x.new_zeros((layers * ways, 1, 2))
        function = getattr(torch, "rnn_tanh" if kind == "rnn" else kind)
        start = (zero, zero) if kind == "lstm" else zero
        found = function(x, start, flat, True, layers, 0.0, False, both, False)
        return torch.cat([found[0].flatten(), found[-1][-1].flatten()])

    return Operator(f"{kind}_{layers}_{ways}", ours, theirs, tuple(shapes))


RECURRENT = [_stacked("rnn", 2, True), _stacked("lstm", 1, True), _stacked("gru", 2, False)]

GROUPS: dict[str, list[Operator]] = {
    "pools": POOLS,
    "convolutions": CONVOLUTIONS,
    "norms": NORMS + ATTENTIONS,
    "losses": LOSSES,
    "resized": RESIZED,
    "tables": TABLES,
    "recurrent": RECURRENT,
}
FAST = ["avg_pool2d_ceil_mode", "conv_transpose1d_stride_padding_output_padding", "attention_bools"]
