"""Sliding windows: convolutions, pools, and what undoes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ted
from ted import nn
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.nn.windows import Window, above, taps_of, under
from ted.onnx.nodes import Node, extents

_LAYOUTS = {1: "NCL", 2: "NCHW", 3: "NCDHW"}
_CONVOLUTIONS = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}


def geometry(node: Node, spatial: Sequence[int], kernel: Sequence[int]) -> list[Window]:
    """A window for each spatial dim, of strides, dilations and pads or `auto_pad`."""
    rank = len(spatial)
    strides = node.attr("strides", [1] * rank)
    dilations = node.attr("dilations", [1] * rank)
    pads = node.attr("pads", [0] * 2 * rank)
    auto, partial = node.attr("auto_pad", "NOTSET"), bool(node.attr("ceil_mode", 0))
    found = []
    for k, (extent, size) in enumerate(zip(spatial, kernel, strict=True)):
        before, after = pads[k], pads[k + rank]
        if auto != "NOTSET":
            reach = (size - 1) * dilations[k] + 1
            total = max((-(-extent // strides[k]) - 1) * strides[k] + reach - extent, 0)
            total = 0 if auto == "VALID" else total
            before = total - total // 2 if auto == "SAME_LOWER" else total // 2
            after = total - before
        found.append(Window(extent, size, strides[k], dilations[k], before, after, partial))
    return found


def convolve(node: Node, x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """A convolution in one to three dims.

    Raises: FrontendError for another number of dims.
    """
    rank = x.ndim - 2
    if rank not in _CONVOLUTIONS:
        raise FrontendError(f"convolutions must have 1 to 3 spatial dims, got {rank}")
    dims = geometry(node, extents(x)[2:], extents(weight)[2:])
    return _CONVOLUTIONS[rank](
        x, weight, bias, stride=tuple(d.stride for d in dims),
        padding=tuple((d.before, d.after) for d in dims),
        dilation=tuple(d.dilation for d in dims), groups=node.attr("group", 1),
        layout=_LAYOUTS[rank],
    ).astype(x.dtype)  # fmt: skip


def transposed(node: Node, x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """The transpose of a convolution: each element adds its window to the result."""
    groups, rank = node.attr("group", 1), x.ndim - 2
    dims = _results(node, extents(x)[2:], extents(weight)[2:])
    taps, share, many = taps_of(dims), x.shape[1] // groups, weight.shape[1]
    c = ted.reduce_axis(share, "c")

    def element(n: Any, o: Any, *at: Any) -> Any:
        place, exists = above(dims, at, taps, x.shape[2:])
        group, own = (0, o) if groups == 1 else (o // many, o % many)
        value = x[(n, group * share + c, *place)] * weight[(group * share + c, own, *taps)]
        return ted.sum(value, axis=(*taps, c), where=exists)

    shape = (x.shape[0], many * groups, *(d.extent for d in dims))
    found = ted.compute(shape, element, name="conv_transpose").astype(x.dtype)
    return found if bias is None else found + ted.reshape(bias, (-1, *(1,) * rank))


def _results(node: Node, spatial: Sequence[int], kernel: Sequence[int]) -> list[Window]:
    """The windows over the result, of which each element of the input has one."""
    rank = len(spatial)
    strides = node.attr("strides", [1] * rank)
    dilations = node.attr("dilations", [1] * rank)
    extra = node.attr("output_padding", [0] * rank)
    pads = node.attr("pads", [0] * 2 * rank)
    auto, wanted = node.attr("auto_pad", "NOTSET"), node.attr("output_shape", None)
    found = []
    for k, (n, size) in enumerate(zip(spatial, kernel, strict=True)):
        full = (n - 1) * strides[k] + extra[k] + (size - 1) * dilations[k] + 1
        before, after = pads[k], pads[k + rank]
        extent = full - before - after
        if wanted is not None or auto.startswith("SAME"):
            extent = wanted[-rank:][k] if wanted is not None else n * strides[k]
            total = max(full - extent, 0)
            before = total // 2 if auto == "SAME_UPPER" else total - total // 2
        elif auto == "VALID":
            before, extent = 0, full
        found.append(Window(extent, size, strides[k], dilations[k], before, 0))
    return found


# ------------------------------------------------------------------ pools


def _pooled(
    x: Tensor, dims: list[Window], reduced: Callable[[Any, Any, Any], Any], name: str
) -> Tensor:
    """`reduced(value, taps, inside)` of the elements under each window."""
    taps = taps_of(dims)

    def element(n: Any, c: Any, *place: Any) -> Any:
        at, inside = under(dims, place, taps)
        return reduced(x[(n, c, *at)], taps, inside)

    return ted.compute((*x.shape[:2], *(d.positions for d in dims)), element, name=name)


def max_pool(node: Node, x: Tensor) -> Any:
    """The greatest element under each window, and where it is in the whole tensor."""
    dims = geometry(node, extents(x)[2:], node.attr("kernel_shape"))
    found = _pooled(
        x, dims, lambda v, taps, inside: ted.max(v, axis=taps, where=inside), "max_pool"
    )
    return (found, _positions(node, x, dims)) if node.wants(1) else found


def _positions(node: Node, x: Tensor, dims: list[Window]) -> Tensor:
    """The row-major position of the first greatest element, or with dims in reverse order."""
    taps = taps_of(dims)
    spatial = x.shape[2:]
    order = list(range(len(dims)))
    strides = [math.prod(spatial[k + 1 :]) for k in order]
    if node.attr("storage_order", 0):
        strides = [math.prod(spatial[:k]) for k in order]

    def element(n: Any, c: Any, *place: Any) -> Any:
        at, inside = under(dims, place, taps)
        number = ted.argmax(x[(n, c, *at)], axis=taps, where=inside)
        flat: Any = (n * x.shape[1] + c) * math.prod(spatial)
        for k in reversed(order):
            flat = flat + dims[k].at(place[k], number % dims[k].kernel) * strides[k]
            number = number // dims[k].kernel
        return ted.cast(flat, "int64")

    shape = (*x.shape[:2], *(d.positions for d in dims))
    return ted.compute(shape, element, name="positions", dtype="int64")


def average_pool(node: Node, x: Tensor) -> Tensor:
    """The mean under each window, of what is there or with the padding as zeros."""
    dims = geometry(node, extents(x)[2:], node.attr("kernel_shape"))
    total = _pooled(x, dims, lambda v, taps, inside: ted.sum(v, axis=taps, where=inside), "sums")
    padded = bool(node.attr("count_include_pad", 0))
    counts = np.ones(())
    for d, positions in zip(dims, extents(total)[2:], strict=True):
        counts = np.multiply.outer(counts, _counts(d, positions, padded))
    return total / ted.constant(counts.astype(np.float32)).astype(x.dtype)


def _counts(d: Window, positions: int, padded: bool) -> Any:
    """How many elements of each window count along a dim."""
    first, end = (-d.before, d.extent + d.after) if padded else (0, d.extent)
    at = np.arange(positions)[:, None] * d.stride - d.before
    at = at + np.arange(d.kernel) * d.dilation
    return np.sum((at >= first) & (at < end), 1)


def lp_pool(node: Node, x: Tensor) -> Tensor:
    """The p-norm under each window."""
    dims = geometry(node, extents(x)[2:], node.attr("kernel_shape"))
    return _norm(_pooled(
        ted.power(ted.abs(x), node.attr("p", 2)), dims,
        lambda v, taps, inside: ted.sum(v, axis=taps, where=inside), "lp_pool",
    ), node.attr("p", 2))  # fmt: skip


def _norm(total: Tensor, p: int) -> Tensor:
    return ted.sqrt(total) if p == 2 else ted.power(total, 1 / p)


def over_space(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The row of a reduction over all spatial dims."""
    return lambda node, x: fn(x, tuple(range(2, x.ndim)), keepdims=True)


def global_lp_pool(node: Node, x: Tensor) -> Tensor:
    """The p-norm over all spatial dims."""
    p = node.attr("p", 2)
    axes = tuple(range(2, x.ndim))
    return _norm(ted.sum(ted.power(ted.abs(x), p), axes, keepdims=True), p)


def max_unpool(node: Node, x: Tensor, indices: Tensor, *_: Any) -> Tensor:
    """Elements put where they were before a pool, zeros elsewhere."""
    shape = node.numbers(2, "", None) if node.has(2) else None
    kernel = node.attr("kernel_shape")
    rank = len(kernel)
    strides, pads = node.attr("strides", [1] * rank), node.attr("pads", [0] * 2 * rank)
    own = [
        (n - 1) * s - pads[k] - pads[k + rank] + size
        for k, (n, s, size) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    inferred = (*x.shape[:2], *own)
    flat = ted.scatter(
        (math.prod(inferred),), ted.reshape(indices, (-1,)), ted.reshape(x, (-1,)), "set", init=0
    ).astype(x.dtype)
    found = ted.reshape(flat, inferred)
    if shape is None:
        return found
    return ted.pad(found, [(0, m - n) for m, n in zip(shape, inferred, strict=True)])


def col2im(node: Node, x: Tensor, *_: Any) -> Tensor:
    """Columns of windows added where they were in an image."""
    image, block = node.numbers(1, ""), node.numbers(2, "")
    dims = geometry(node, image, block)
    channels = x.shape[1] // math.prod(block)
    columns = ted.reshape(x, (x.shape[0], channels, *block, *(d.positions for d in dims)))
    taps = [ted.reduce_axis(d.kernel) for d in dims]

    def element(n: Any, c: Any, *at: Any) -> Any:
        place, exists = above(dims, at, taps, [d.positions for d in dims])
        return ted.sum(columns[(n, c, *taps, *place)], axis=tuple(taps), where=exists)

    return ted.compute((x.shape[0], channels, *image), element, name="col2im")


RULES = {
    "Conv": convolve, "ConvTranspose": transposed, "MaxPool": max_pool,
    "AveragePool": average_pool, "LpPool": lp_pool, "GlobalLpPool": global_lp_pool,
    "GlobalAveragePool": over_space(ted.mean), "GlobalMaxPool": over_space(ted.max),
    "MaxUnpool": max_unpool, "Col2Im": col2im,
}  # fmt: skip
