"""What the texts of programs mean to torch, where it has no function of that name and rule.

The element types are those of the program (`native`), or the widest (`ideal`), for the exact value.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

TYPES = {
    "float64": torch.float64, "float32": torch.float32, "float16": torch.float16,
    "bfloat16": torch.bfloat16, "int64": torch.int64, "int32": torch.int32, "int8": torch.int8,
    "bool": torch.bool,
}  # fmt: skip


def namespace(ideal: bool) -> dict[str, Any]:
    """The names that texts for torch use."""

    def type_of(name: str) -> torch.dtype:
        return torch.float64 if ideal and "float" in name else TYPES[name]

    return {
        "torch": torch,
        "F": torch.nn.functional,
        "cast": lambda x, name: cast(x, type_of(name)),
        "zeros": lambda shape, name: torch.zeros(shape, dtype=type_of(name)),
        **{f.__name__: f for f in _FUNCTIONS},
    }


@contextmanager
def quiet() -> Iterator[None]:
    """Without what torch says of its own future."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tensor_of(array: Any, ideal: bool = False) -> Any:
    """An array as a tensor; numpy knows bfloat16 only by name."""
    if ideal and "float" in array.dtype.name:
        return torch.tensor(array.astype("float64"))
    if array.dtype.name == "bfloat16":
        return torch.tensor(array.astype("float32")).to(torch.bfloat16)
    return torch.tensor(array)


def array_of(tensor: Any) -> Any:
    """Back, floats in float64."""
    tensor = tensor.detach() + 0 if tensor._is_zerotensor() else tensor.detach()
    return (tensor.to(torch.float64) if tensor.is_floating_point() else tensor).numpy()


def cast(x: Any, dtype: torch.dtype) -> Any:
    """Another type; an integer of what is no number is none."""
    if not dtype.is_floating_point and x.is_floating_point() and not x.isfinite().all():
        raise ValueError(f"no {dtype} of {x}")
    return x.to(dtype)


def grid(*extents: int) -> list[Any]:
    """Tensors of indices that broadcast to a box."""
    ranges = [torch.arange(e) for e in extents]
    return list(torch.meshgrid(*ranges, indexing="ij")) if ranges else []


def compute(extents: tuple[int, ...], function: Callable[..., Any]) -> Any:
    """The tensor of a function of indices."""
    value = function(*grid(*extents))
    return value.expand(extents) if hasattr(value, "expand") else torch.full(extents, value)


def total(extents: tuple[int, ...], axis: int, function: Callable[..., Any]) -> Any:
    """Sums of a function of indices over the last dims of a box."""
    value = function(*grid(*extents)).expand(extents)
    return value.sum(tuple(range(axis, len(extents)))) if axis < len(extents) else value


def at(x: Any, *index: Any) -> Any:
    """The elements at indices; those outside are not meant, so they are what lies nearest."""
    inside = [
        torch.as_tensor(i).clamp(0, max(n - 1, 0)) for i, n in zip(index, x.shape, strict=True)
    ]
    if 0 in x.shape:
        return torch.zeros(torch.broadcast_shapes(*(i.shape for i in inside)), dtype=x.dtype)
    return x[tuple(inside)] if inside else x


def first(choose: Callable[..., Any], x: Any, axis: int, keepdims: bool = False) -> Any:
    """A maximum or minimum; the gradient goes to the first of equals."""
    place = choose(x, axis).unsqueeze(axis)
    value = x.gather(axis, place)
    return value if keepdims else value.squeeze(axis)


def maximum(x: Any, y: Any) -> Any:
    """The first of equals takes the gradient."""
    return torch.where((x >= y) | x.isnan(), x, y)


def minimum(x: Any, y: Any) -> Any:
    """The first of equals takes the gradient."""
    return torch.where((x <= y) | x.isnan(), x, y)


def sign(x: Any) -> Any:
    """That of no number is no number."""
    return torch.where(x.isnan(), x.detach(), torch.sign(x))


def flip_some(x: Any, axis: int, step: int, start: int) -> Any:
    """A slice with a negative step."""
    return x.flip(axis).narrow(axis, 0, x.shape[axis] - start)[
        (slice(None),) * (axis % x.ndim) + (slice(None, None, step),)
    ]


def kept(x: Any, indices: Any, extent: int, mode: str) -> tuple[Any, Any]:
    """Indices inside, and where they were."""
    clipped = indices.long().clamp(0, max(extent - 1, 0))
    return clipped, (indices == clipped) | (mode == "clip")


def take(x: Any, indices: Any, axis: int, mode: str) -> Any:
    """`ted.take`: what is outside gives 0, or is nearest."""
    clipped, inside = kept(x, indices, x.shape[axis], mode)
    found = x.index_select(axis, clipped.reshape(-1))
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    mask = inside.reshape(*inside.shape, *[1] * (x.ndim - axis - 1))
    return torch.where(mask, found.reshape(shape), torch.zeros((), dtype=x.dtype))


def index_add(x: Any, axis: int, indices: Any, values: Any, mode: str) -> Any:
    """`ted.index_add`: what is outside is left out, or goes to the nearest."""
    clipped, inside = kept(x, indices, x.shape[axis], mode)
    mask = inside.reshape(-1, *[1] * (x.ndim - axis - 1))
    masked = torch.where(mask, values, torch.zeros((), dtype=values.dtype))
    return x.index_add(axis, clipped, masked)


def cumulative(function: Callable[..., Any], x: Any, axis: int, reverse: bool) -> Any:
    """`torch.cumsum` or `running_products` along a dim, from its end if reversed, in x's type."""
    found = function(x.flip(axis), axis).flip(axis) if reverse else function(x, axis)
    return found.to(x.dtype)


def product(x: Any, axis: int) -> Any:
    """The product along a dim; the second derivative of `torch.prod` divides, which rounds."""
    return running_products(x, axis).select(axis, -1) if x.shape[axis] else x.prod(axis)


def running_products(x: Any, axis: int) -> Any:
    """The products of ever more elements along a dim, without a division at any order."""
    if not x.shape[axis]:
        return x
    return torch.stack(list(itertools.accumulate(x.unbind(axis), torch.mul)), axis)


def affine(x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """The composition of the maps t -> x t + y along a dim, in order, from the first of them."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    maps = list(zip(x.unbind(axis), y.unbind(axis), strict=True))
    if not maps:
        return torch.ones(shape, dtype=x.dtype), torch.zeros(shape, dtype=x.dtype)
    scale, shift = maps[0]
    for a, b in maps[1:]:
        scale, shift = scale * a, shift * a + b
    return scale, shift


def scan(step: Callable[..., Any], carry: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    """A loop over the first dim."""
    ys = []
    for row in xs.flip(0).unbind(0) if reverse else xs.unbind(0):
        carry, y = step(carry, row)
        ys.append(y)
    stacked = torch.stack(ys)
    return carry, stacked.flip(0) if reverse else stacked


def recurrent(x: Any, y: Any, back: int, shift: int) -> Any:
    """h[t, i] = h[t + back, i + shift] x[t, i] + y[t, i], the first ones without the product."""
    steps = len(x)
    made: dict[int, Any] = {}
    for t in range(steps) if back < 0 else reversed(range(steps)):
        before = made.get(t + back)
        made[t] = y[t] if before is None else before.roll(-shift, 0) * x[t] + y[t]
    return torch.stack([made[t] for t in range(steps)])


def recurrent_at_data(x: Any, times: Any, shift: int, reverse: bool) -> Any:
    """h[t, i] = h[times[t], i + shift] + x[t, i] where the time is past and x[t, i] > 0."""
    made: dict[int, Any] = {}
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        before = made.get(int(times[t]))
        read = x[t] * 0 if before is None else before.roll(-shift, 0)
        made[t] = torch.where((x[t] > 0) & (before is not None), read, 2) + x[t]
    return torch.stack([made[t] for t in range(len(x))])


def lower_factor(a: Any) -> Any:
    """Cholesky's factor, with gradients of the elements of the lower triangle alone."""
    lower = a.tril()
    return torch.linalg.cholesky(lower + a.tril(-1).mT)


def lgamma(x: Any) -> Any:
    """From larger arguments: torch's second derivative of small ones is good to nine digits."""
    found = torch.lgamma(x + 20) - sum(torch.log(x + k) for k in range(20))
    return torch.where(x.isinf(), x, found)


def rnn(x: Any, w: Any, h: Any, reverse: bool) -> Any:
    """The states of a layer of tanh."""
    state, rows = torch.zeros((x.shape[1], h.shape[0]), dtype=x.dtype), []
    for step in x.flip(0) if reverse else x:
        state = torch.tanh(step @ w + state @ h)
        rows.append(state)
    found = torch.stack(rows)
    return found.flip(0) if reverse else found


def batch_norm(x: Any, axis: int) -> Any:
    """Of `torch.nn.functional.batch_norm` torch 2.13 has a wrong third derivative."""
    others = [d for d in range(x.ndim) if d != axis % x.ndim]
    centred = x - x.mean(others, True)
    return centred * torch.rsqrt(centred.square().mean(others, True) + 0.1)


def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Scaled dot products; the last query sees every key."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        n, m = scores.shape
        seen = torch.ones((n, m), dtype=torch.bool).tril(m - n)
        scores = torch.where(seen, scores, -torch.inf)
    return torch.softmax(scores, -1) @ v


def pad_mode(x: Any, width: int, mode: str) -> Any:
    """The last dim with `width` elements more before and one behind."""
    n = x.shape[-1]
    place = torch.arange(-width, n + 1)
    if mode == "edge":
        place = place.clamp(0, n - 1)
    elif mode == "wrap":
        place = place % n
    else:
        place = (n - 1) - (n - 1 - place.abs()).abs()
    return x[..., place]


_FUNCTIONS = (
    grid, compute, total, at, first, maximum, minimum, flip_some, take, index_add, cumulative,
    product, running_products, affine, scan, recurrent, recurrent_at_data, lower_factor, rnn,
    batch_norm, attention, pad_mode, lgamma, sign,
)  # fmt: skip
