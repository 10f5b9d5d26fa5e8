"""The operators of `ted.nn`, each beside the same in torch, with small arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F

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


POOLS = [
    *(_pool(name, rank, shape, *given) for name, rank, shape, given in _POOLS),
    _pool("max_pool2d", 2, (1, 5, 4), 2, 2, ceil_mode=True),
    _pool("max_pool1d", 1, (1, 9), 3, 2, dilation=2, padding=1),
    _pool("avg_pool2d", 2, (1, 5, 4), 3, 2, 1, ceil_mode=True),
    _pool("avg_pool1d", 1, (1, 6), 3, 2, 1, ceil_mode=True, count_include_pad=False),
    _pool("avg_pool2d", 2, (1, 4, 4), 2, divisor_override=3),
    _pool("lp_pool2d", 2, (1, 5, 4), 2.0, 2, ceil_mode=True),
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
    lead = [lambda a, b: ours(a, b), theirs]
    return Operator(f"conv{rank}d_{mode}", *lead, (x, w))


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

GROUPS = {"pools": POOLS, "convolutions": CONVOLUTIONS}
FAST = ["avg_pool2d_ceil_mode", "conv_transpose1d_stride_padding_output_padding"]
