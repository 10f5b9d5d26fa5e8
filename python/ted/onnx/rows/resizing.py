"""Resizing along one dim after the other, and images read at places that are data.

Places in the source and their weights are known while the graph is read.  A dim is a contraction
with a matrix of few numbers in each row, or a read where each row has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ted
from ted import nn
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node, extents
from ted.records import dataclass

Numbers = Any  # an array of numpy


@dataclass(frozen=True)
class _Axis:
    """A dim of the source, how many elements it gets, and by which factor that is."""

    extent: int
    size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    def places(self, mode: str) -> Numbers:
        """Where the elements of the result lie in the source.

        Raises: FrontendError for an unknown mode.
        """
        x, n, m, s = np.arange(self.size), self.extent, self.size, self.scale
        width = s * n
        start, end = self.roi
        modes: dict[str, Callable[[], Numbers]] = {
            "half_pixel": lambda: (x + 0.5) / s - 0.5,
            "half_pixel_symmetric": lambda: (
                n / 2 * (1 - m / width) + (x + 0.5) / s - 0.5
            ),
            "pytorch_half_pixel": lambda: (x + 0.5) / s - 0.5 if m > 1 else x * 0 - 0.5,
            "align_corners": lambda: x * (n - 1) / (width - 1) if width != 1 else x * 0,
            "asymmetric": lambda: x / s,
            "tf_crop_and_resize": lambda: (
                start * (n - 1) + x * (end - start) * (n - 1) / (m - 1)
                if m > 1 else 0.5 * (start + end) * (n - 1) + x * 0
            ),
        }  # fmt: skip
        if mode not in modes:
            raise FrontendError(f"places must be of {', '.join(modes)}, got {mode}")
        return modes[mode]()


def _nearest(part: Numbers, mode: str) -> Numbers:
    """Whether the second of two neighbours is the nearer one."""
    rules = {
        "round_prefer_floor": part > 0.5, "round_prefer_ceil": part >= 0.5,
        "floor": part >= 1, "ceil": part > 0,
    }  # fmt: skip
    return rules[mode]


def _kernel(mode: str, a: float) -> tuple[Callable[[Numbers], Numbers], int]:
    """The weight at a distance, and how many neighbours on each side have one."""

    def cubic(t: Numbers) -> Numbers:
        t = np.abs(t)
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, far, 0))

    if mode == "cubic":
        return cubic, 2
    return (lambda t: np.maximum(1 - np.abs(t), 0)), 1


def _weights(node: Node, axis: _Axis, mode: str) -> Numbers:
    """The matrix (size, extent) of a dim."""
    place = axis.places(node.attr("coordinate_transformation_mode", "half_pixel"))
    found = np.zeros((axis.size, axis.extent))
    rows = np.arange(axis.size)
    if mode == "nearest":
        first = np.floor(place)
        near = _nearest(place - first, node.attr("nearest_mode", "round_prefer_floor"))
        at = np.clip(first + near, 0, axis.extent - 1).astype(int)
        found[rows, at] = 1
        return found
    kernel, reach = _kernel(mode, node.attr("cubic_coeff_a", -0.75))
    narrow = min(axis.scale, 1.0) if node.attr("antialias", 0) else 1.0
    span = math.ceil(reach / narrow)
    first = np.floor(place).astype(int)
    sums = np.zeros(axis.size)
    terms = []
    for k in range(-span + 1 - (narrow < 1), span + 1 + (narrow < 1)):
        at = first + k
        weight = kernel((at - place) * narrow)
        inside = (at >= 0) & (at < axis.extent)
        if node.attr("exclude_outside", 0):
            weight = np.where(inside, weight, 0)
        sums += weight
        terms.append((np.clip(at, 0, axis.extent - 1), weight))
    for at, weight in terms:
        np.add.at(found, (rows, at), weight / sums)
    return found


def _outside(node: Node, axis: _Axis) -> Numbers:
    """Whether a place of `tf_crop_and_resize` is outside the source."""
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    if mode != "tf_crop_and_resize":
        return np.zeros(axis.size, bool)
    place = axis.places(mode)
    return (place < 0) | (place > axis.extent - 1)


def along(x: Tensor, dim: int, matrix: Numbers) -> Tensor:
    """A dim as a matrix says: a read where each row has one 1, else a sum."""
    shape = (*x.shape[:dim], len(matrix), *x.shape[dim + 1 :])
    if ((matrix != 0).sum(1) == 1).all() and (matrix.max(1) == 1).all():
        return ted.take(x, matrix.argmax(1), dim)
    table = ted.constant(matrix.astype(np.float64)).astype(x.dtype)
    r = ted.reduce_axis(matrix.shape[1], "r")
    return ted.compute(
        shape,
        lambda *i: ted.sum(table[i[dim], r] * x[(*i[:dim], r, *i[dim + 1 :])], axis=r),
        name="resize",
    )


def _axes(node: Node, x: Tensor) -> dict[int, _Axis]:
    """What each dim becomes, by scales or sizes."""
    dims = [d % x.ndim for d in node.attr("axes", list(range(x.ndim)))]
    roi = node.known(1, np.zeros(0))
    rois = np.ravel(roi) if np.size(roi) == 2 * len(dims) else np.repeat([0.0, 1.0], len(dims))
    scales = np.ravel(node.known(2, np.zeros(0)))
    sources = [extents(x)[d] for d in dims]
    if scales.size:
        factors = [float(s) for s in scales]
        sizes = [math.floor(n * s) for n, s in zip(sources, factors, strict=True)]
    else:
        sizes, factors = _sized(node, sources, [int(n) for n in np.ravel(node.known(3))])
    return {
        d: _Axis(n, m, s, (float(rois[k]), float(rois[k + len(dims)])))
        for k, (d, n, m, s) in enumerate(zip(dims, sources, sizes, factors, strict=True))
    }


def _sized(node: Node, sources: list[int], sizes: list[int]) -> tuple[list[int], list[float]]:
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    factors = [m / n for n, m in zip(sources, sizes, strict=True)]
    if policy == "stretch":
        return sizes, factors
    factor = min(factors) if policy == "not_larger" else max(factors)
    return [math.floor(n * factor + 0.5) for n in sources], [factor] * len(sources)


def resize(node: Node, x: Tensor, *_: Any) -> Tensor:
    """Another size, by nearest elements, straight lines or cubic polynomials.

    Raises: FrontendError for an unknown mode of places.
    """
    if node.version < 11:
        return upsample(node, x)
    mode = node.attr("mode", "nearest")
    found = x
    axes = _axes(node, x)
    outside = np.zeros((), bool)
    for dim, axis in axes.items():
        outside = np.logical_or.outer(outside, _outside(node, axis))
        if (axis.size, axis.scale) != (axis.extent, 1.0) or axis.roi != (0.0, 1.0):
            found = along(found, dim, _weights(node, axis, mode))
    if outside.any() and len(axes) == x.ndim:
        fill = node.attr("extrapolation_value", 0.0)
        return ted.where(ted.constant(outside), fill, found).astype(x.dtype)
    return found


def upsample(node: Node, x: Tensor, scales: Any = None) -> Tensor:
    """Multiples of the size; parts of it for a `Resize` of version 10, by the elements behind.

    Raises: FrontendError for scales that are data.
    """
    factors = node.known(1) if node.has(1) else np.array(node.attr("scales"))
    mode = node.attr("mode", "nearest")
    for dim, scale in enumerate(factors):
        if scale != 1:
            n = extents(x)[dim]
            axis = _Axis(n, math.floor(n * scale), float(scale))
            place = axis.places("asymmetric")
            if mode == "nearest":
                x = ted.take(x, (np.ceil if scale < 1 else np.floor)(place).astype(int), dim)
            else:
                x = along(x, dim, _linear(place, axis.extent))
    return x


def _linear(place: Numbers, extent: int) -> Numbers:
    return np.maximum(1 - np.abs(np.clip(place, 0, extent - 1)[:, None] - np.arange(extent)), 0)


# ------------------------------------------------------------------ places that are data

_SAMPLES = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}


def grid_sample(node: Node, x: Tensor, grid: Tensor) -> Tensor:
    """Images read at places between -1 and 1."""
    mode = str(node.attr("mode", "linear"))
    return nn.grid_sample(
        x, grid, _SAMPLES.get(mode, mode), node.attr("padding_mode", "zeros"),
        bool(node.attr("align_corners", 0)), "NCHW" if x.ndim == 4 else "NCDHW",
    )  # fmt: skip


def _between(
    x: Tensor, n: Any, c: Any, place: Sequence[Any], joined: Callable[[Any, Any], Any]
) -> Any:
    """Four elements around a place by their weights, joined; 0 more than 1 outside the borders."""
    total: Any = None
    valid: Any = None
    sides = []
    for at, extent in zip(place, x.shape[2:], strict=True):
        inside = (at >= -1) & (at <= extent)
        valid = inside if valid is None else valid & inside
        near = ted.clip(at, 0.0, float(extent - 1))
        first = ted.minimum(ted.floor(near), float(max(extent - 2, 0)))
        part = near - first
        low = ted.cast(first, "int64")
        low = ted.maximum(ted.minimum(low, extent - 1), 0)
        sides.append([(low, 1 - part), (ted.minimum(low + 1, extent - 1), part)])
    for y, wy in sides[0]:
        for z, wz in sides[1]:
            value = x[n, c, y, z] * wy * wz
            total = value if total is None else joined(total, value)
    return ted.where(valid, total, 0)


def roi_align(node: Node, x: Tensor, rois: Tensor, batch: Tensor) -> Tensor:
    """Means or greatest of samples in the cells of boxes.

    Raises: FrontendError for a sampling ratio that boxes decide.
    """
    h, w = node.attr("output_height", 1), node.attr("output_width", 1)
    ratio, scale = node.attr("sampling_ratio", 0), node.attr("spatial_scale", 1.0)
    half = node.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    half = half and node.version >= 16
    if ratio <= 0:
        raise FrontendError(f"the sampling ratio must be known, got {ratio}, by the size of boxes")
    a, b = ted.reduce_axis(ratio, "a"), ted.reduce_axis(ratio, "b")
    is_max = node.attr("mode", "avg") == "max"  # that of the weighted elements
    reduced, joined = (ted.max, ted.maximum) if is_max else (ted.mean, ted.add)
    shift = 0.5 if half else 0.0

    def cell(k: Any, p: Any, tap: Any, first: int, cells: int) -> Any:
        start, end = (rois[k, first + d] * scale - shift for d in (0, 2))
        width = end - start
        width = width if half else ted.maximum(width, 1.0)
        return start + (ted.cast(p * ratio + tap, x.dtype) + 0.5) * (width / (cells * ratio))

    def element(k: Any, c: Any, i: Any, j: Any) -> Any:
        place = (cell(k, i, a, 1, h), cell(k, j, b, 0, w))
        n = ted.cast(batch[k], "int64")
        return reduced(_between(x, n, c, place, joined), axis=(a, b))

    return ted.compute((rois.shape[0], x.shape[1], h, w), element, name="roi_align")


RULES = {"Resize": resize, "Upsample": upsample, "GridSample": grid_sample, "RoiAlign": roi_align}
