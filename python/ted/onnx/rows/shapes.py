"""Shapes, order and parts: what moves elements and does not compute with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from onnx import numpy_helper

import ted
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node, element_type, extents


def reshape(node: Node, x: Tensor, shape: Any = None) -> Tensor:
    """A shape of which 0 is the extent that is there, unless zeros are allowed."""
    wanted = node.numbers(1, "shape")
    if not node.attr("allowzero", 0):
        wanted = [x.shape[k] if n == 0 else n for k, n in enumerate(wanted)]
    return ted.reshape(x, tuple(wanted))


def flatten(node: Node, x: Tensor) -> Tensor:
    """Two dims: those before an axis, and the others."""
    axis = node.attr("axis", 1)
    axis += x.ndim if axis < 0 else 0
    rows, columns = (math.prod(part) for part in (extents(x)[:axis], extents(x)[axis:]))
    return ted.reshape(x, (rows, columns))


def squeeze(node: Node, x: Tensor, axes: Any = None) -> Tensor:
    """Without dims of extent 1."""
    found = node.numbers(1, "axes", None)
    if found is None:
        found = [k for k, n in enumerate(x.shape) if n == 1]
    kept = {k % x.ndim for k in found}
    return ted.reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in kept))


def unsqueeze(node: Node, x: Tensor, axes: Any = None) -> Tensor:
    """With dims of extent 1, whose places are those of the result."""
    found = node.numbers(1, "axes")
    rank = x.ndim + len(found)
    new, left = {k % rank for k in found}, iter(x.shape)
    return ted.reshape(x, tuple(1 if k in new else next(left) for k in range(rank)))


def transpose(node: Node, x: Tensor) -> Tensor:
    """Dims in another order, reversed by default."""
    return ted.transpose(x, tuple(node.attr("perm", range(x.ndim)[::-1])))


def expand(node: Node, x: Tensor, shape: Any) -> Tensor:
    """Broadcast to a shape, both ways."""
    wanted = np.broadcast_shapes(x.shape, tuple(node.numbers(1, "shape")))
    return ted.broadcast_to(x, wanted)


def tile(node: Node, x: Tensor, repeats: Any) -> Tensor:
    """Repeated along each dim."""
    return ted.tile(x, tuple(node.numbers(1, "repeats")))


def concat(node: Node, *inputs: Tensor) -> Tensor:
    """One behind the other."""
    return ted.concatenate(list(inputs), node.attr("axis"))


def lengths(extent: int, count: int) -> list[int]:
    """Nearly equal parts, the last one smaller."""
    part = -(-extent // count)
    return [min(part, extent - k * part) for k in range(count)]


def parts(x: Tensor, sizes: Sequence[int], axis: int) -> list[Tensor]:
    """Parts of given extents along an axis.

    Raises: FrontendError for extents that are not those of the tensor together.
    """
    axis %= x.ndim
    if sum(sizes) != x.shape[axis]:
        raise FrontendError(f"parts must make up dim {axis}, got {sizes} of {x.shape[axis]}")
    ends = np.cumsum([0, *sizes])
    before = (slice(None),) * axis
    return [x[(*before, slice(int(a), int(b)))] for a, b in pairwise(ends)]


def split(node: Node, x: Tensor, sizes: Any = None) -> tuple[Tensor, ...]:
    """Parts along an axis."""
    axis = node.attr("axis", 0) % x.ndim
    found = node.numbers(1, "split", None) or lengths(x.shape[axis], node.count)
    return tuple(parts(x, found, axis))


def slice_(node: Node, x: Tensor, *_: Any) -> Tensor:
    """From starts to ends by steps, which may lie outside and count from the end."""
    starts, ends = node.numbers(1, "starts"), node.numbers(2, "ends")
    axes = node.numbers(3, "axes", None) or list(range(len(starts)))
    steps = node.numbers(4, "steps", None) or [1] * len(starts)
    index: list[slice] = [slice(None)] * x.ndim
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        start, end, step = slice(*bounds).indices(x.shape[axis])
        empty = len(range(start, end, step)) == 0
        last = None if end < 0 else end
        index[axis] = slice(0, 0) if empty else slice(start, last, step)
    return x[tuple(index)]


def pad(node: Node, x: Tensor, *_: Any) -> Tensor:
    """Elements at both ends; fewer of them for negative widths."""
    widths = node.numbers(1, "pads" if node.version >= 2 else "paddings")
    value = node.known(2).item() if node.has(2) else node.attr("value", 0)
    axes = [int(a) % x.ndim for a in np.ravel(node.known(3, np.arange(x.ndim)))]
    pairs = dict(zip(axes, zip(widths, widths[len(axes) :], strict=False), strict=True))
    both = [pairs.get(k, (0, 0)) for k in range(x.ndim)]
    cut = [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(both, x.shape, strict=True)]
    width = [(max(a, 0), max(b, 0)) for a, b in both]
    mode = node.attr("mode", "constant")
    if mode == "constant":
        return ted.pad(x[tuple(cut)], width, mode, value)
    return ted.pad(x[tuple(cut)], width, mode)


def shape(node: Node, x: Tensor) -> Any:
    """The extents, as numbers that are known."""
    start, end = node.attr("start", 0), node.attr("end", None)
    return np.array(x.shape[start:end], np.int64)


def size(node: Node, x: Tensor) -> Any:
    """The number of elements, as a number that is known."""
    return np.array(math.prod(extents(x)), np.int64)


def depth_to_space(node: Node, x: Tensor) -> Tensor:
    """Channels become blocks of pixels, the block before the channel (DCR) or behind it."""
    b, (n, c, h, w) = node.attr("blocksize"), x.shape
    if node.attr("mode", "DCR") == "DCR":
        apart = ted.reshape(x, (n, b, b, c // b**2, h, w)).transpose((0, 3, 4, 1, 5, 2))
    else:
        apart = ted.reshape(x, (n, c // b**2, b, b, h, w)).transpose((0, 1, 4, 2, 5, 3))
    return ted.reshape(apart, (n, c // b**2, h * b, w * b))


def space_to_depth(node: Node, x: Tensor) -> Tensor:
    """Blocks of pixels become channels."""
    b, (n, c, h, w) = node.attr("blocksize"), x.shape
    apart = ted.reshape(x, (n, c, h // b, b, w // b, b))
    order = (0, 1, 3, 5, 2, 4) if node.attr("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    return ted.reshape(apart.transpose(order), (n, c * b * b, h // b, w // b))


_CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "value": numpy_helper.to_array,
    "value_float": lambda v: np.array(v, np.float32),
    "value_floats": lambda v: np.array(v, np.float32),
    "value_int": lambda v: np.array(v, np.int64),
    "value_ints": lambda v: np.array(v, np.int64),
}


def constant(node: Node) -> Any:
    """Numbers, which are known.

    Raises: FrontendError for strings and sparse tensors.
    """
    for name, made in _CONSTANTS.items():
        if name in node.attributes:
            return made(node.attr(name))
    raise FrontendError(f"constants must be dense numbers, got {list(node.attributes)}")


def constant_of_shape(node: Node, shape: Any) -> Tensor:
    """One number everywhere."""
    value = node.attr("value", None)
    number = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value)
    return ted.full(tuple(node.numbers(0, "shape")), number.item(), number.dtype.name)


def eye_like(node: Node, x: Tensor) -> Tensor:
    """Ones on a diagonal."""
    code = node.attr("dtype", None)
    dtype = x.dtype if code is None else element_type(code)
    return ted.eye(*x.shape, k=node.attr("k", 0), dtype=dtype)


def range_(node: Node, *_: Any) -> Any:
    """Numbers at equal distances: all known, so that the reference makes them."""
    start, end, step = (node.known(k) for k in range(3))
    return np.arange(start.item(), end.item(), step.item(), dtype=start.dtype)


def triangle(node: Node, x: Tensor, k: Any = None) -> Tensor:
    """The triangle above or below a diagonal."""
    part = ted.triu if node.attr("upper", 1) else ted.tril
    return part(x, int(node.known(1, 0)))


RULES = {
    "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Transpose": transpose, "Expand": expand, "Tile": tile, "Concat": concat, "Split": split,
    "Slice": slice_, "Pad": pad, "Shape": shape, "Size": size, "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth, "Constant": constant, "ConstantOfShape": constant_of_shape,
    "EyeLike": eye_like, "Range": range_, "Trilu": triangle,
}  # fmt: skip
