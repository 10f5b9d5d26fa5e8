"""A convolution whose taps are moved by data: each is a mean of the four elements around it."""

from __future__ import annotations

from typing import Any

import ted
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node, extents
from ted.onnx.rows.windows import geometry


def deformed(
    node: Node, x: Tensor, weight: Tensor, offset: Tensor, bias: Any = None, mask: Any = None
) -> Tensor:
    """What is outside the image is 0, near it in part.

    Raises: FrontendError for another number of spatial dims than two.
    """
    if x.ndim != 4:
        raise FrontendError(f"deformed convolutions must have 2 spatial dims, got {x.ndim - 2}")
    n, c, *spatial = extents(x)
    o, _, kh, kw = extents(weight)
    dims = geometry(node, spatial, (kh, kw))
    h, w = extents(offset)[2:]
    parts, groups = node.attr("offset_group", 1), node.attr("group", 1)
    offset = ted.reshape(offset, (n, parts, kh, kw, 2, h, w))
    factor = None if mask is None else ted.reshape(mask, (n, parts, kh, kw, h, w))

    def tap(m: Any, s: Any, a: Any, b: Any, i: Any, j: Any) -> Any:
        part, number, ends = s // (c // parts), 1.0, []
        for k, (p, t) in enumerate(((i, a), (j, b))):
            start = p * dims[k].stride + t * dims[k].dilation - dims[k].before
            place = ted.cast(start, x.dtype) + offset[m, part, a, b, k, i, j]
            first = ted.floor(place)
            ends.append([(first, 1 - (place - first)), (first + 1, place - first)])
        if factor is not None:
            number = factor[m, part, a, b, i, j]
        return number * sum(
            _inside(x, (m, s), (row, column), spatial) * (p * q)
            for row, p in ends[0] for column, q in ends[1]
        )  # fmt: skip

    taps = ted.compute((n, c, kh, kw, h, w), tap, name="taps")
    taps = ted.reshape(taps, (n, groups, c // groups, kh, kw, h, w))
    kernels = ted.reshape(weight, (groups, o // groups, c // groups, kh, kw))
    found = ted.reshape(ted.einsum("ngsabij,gosab->ngoij", taps, kernels), (n, o, h, w))
    found = found if bias is None else found + bias[:, None, None]
    return found.astype(x.dtype)


def _inside(x: Tensor, head: Any, place: Any, spatial: Any) -> Any:
    """An element at numbers that are whole, or 0."""
    within, at = True, []
    for p, extent in zip(place, spatial, strict=True):
        within = ((p >= 0) & (p < extent)) & within
        at.append(ted.cast(ted.clip(p, 0, extent - 1), "int64"))
    return ted.where(within, x[(*head, *at)], 0.0)


RULES = {"DeformConv": deformed}
