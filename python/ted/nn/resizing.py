"""Resizing of images: dims one after the other, each element a weighted sum of few of its source.

Where a result's element lies in the source is a fraction of whole numbers, (p s + o) / q, so that
what is read is index arithmetic, exact, and gradients are gathers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ted
from ted.frontend.checks import flag, integer
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import LAYOUTS, layout_of, one_of, per_dim
from ted.nn.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from ted.records import dataclass

_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}
_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
MODES = ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area")


@dataclass(frozen=True)
class Source:
    """The place (p * step + offset) / parts in the source of element p of the result."""

    extent: int
    step: int
    offset: int
    parts: int

    @staticmethod
    def of(extent: int, ratio: Fraction, corners: tuple[int, int] | None) -> Source:
        """Half pixels from the border, or with `corners` (elements of both, less 1) from corner to
        corner.
        """
        if corners is not None:
            source, result = corners
            return Source(extent, source, 0, result or 1)
        a, b = ratio.numerator, ratio.denominator  # (p + 1/2) a / b - 1/2
        return Source(extent, 2 * a, a - b, 2 * b)

    def split(self, p: Any, dtype: Any, clipped: bool = False) -> tuple[Any, Any]:
        """The element before the place, and how far behind it that is, between 0 and 1."""
        number = p * self.step + self.offset
        if clipped:
            number = ted.maximum(number, 0)
        return number // self.parts, ted.cast(number % self.parts, dtype) / self.parts

    def inside(self, at: Any) -> Any:
        """The nearest element of the source."""
        return ted.maximum(ted.minimum(at, self.extent - 1), 0)


def interpolate(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool = False, layout: str | None = None,
) -> Tensor:  # fmt: skip
    """An image of another size, which `size` or `scale_factor` gives, a number or one for each dim.

    Modes: "nearest" (rounded down), "nearest-exact", "linear" in one to three dims ("bilinear" and
    "trilinear" are its names in torch), "bicubic" of two dims, "area" (means of equal parts).
    `align_corners` puts the outermost elements onto each other, else pixels are squares.
    Shapes: x (n, spatial..., c), or (n, c, spatial...) by `layout`, "NHWC" by default in 2 dims.
    Raises: FrontendError for another rank, mode or layout, none or both of the sizes, symbolic
    extents.
    Source: Keys, Cubic Convolution Interpolation, 1981, with a = -0.75 as in torch.
    """
    x = to_tensor(x, "interpolate: x")
    rank = x.ndim - 2
    if rank not in LAYOUTS:
        fail(f"interpolate: x: must have 3, 4 or 5 dims, got shape {x.shape} ({x.name})")
    mode = one_of(mode, MODES, "interpolate: mode")
    if mode not in ("nearest", "nearest-exact", "linear", "area", _LINEAR[rank]) and (
        mode != "bicubic" or rank != 2
    ):
        fail(f"interpolate: mode {mode!r} has another rank than x, got {rank} spatial dims")
    layout = LAYOUTS[rank][0] if layout is None else layout
    images = layout_of(layout, rank, "interpolate")
    spatial = images.split(x.shape)[1]
    extents = [integer(n, f"interpolate: spatial extent {k}") for k, n in enumerate(spatial)]
    sizes, ratios = _sizes(extents, size, scale_factor)
    if mode == "area":
        return _AREA[rank](x, tuple(sizes), layout)
    corners = flag(align_corners, "interpolate: align_corners")
    if corners and "nearest" in mode:
        fail(f"interpolate: align_corners has no meaning for mode {mode!r}")
    if not x.dtype.is_float and "nearest" not in mode:
        fail(f"interpolate: x: must be of a float type for mode {mode!r}, got {x.dtype} ({x.name})")
    dims = images.split(range(x.ndim))[1]
    for dim, n, m, ratio in zip(dims, extents, sizes, ratios, strict=True):
        source = Source.of(n, ratio, (n - 1, m - 1) if corners else None)
        x = _along(x, dim, m, source, ratio, mode)
    return x


def _sizes(
    extents: list[int], size: Any, scale_factor: Any
) -> tuple[tuple[int, ...], list[Fraction]]:  # fmt: skip
    """The extents of the result, and elements of the source for each of its elements."""
    rank = len(extents)
    if (size is None) == (scale_factor is None) or min(extents) < 1:
        fail(
            "interpolate: takes a size or a scale_factor, and an x with elements, got "
            f"size={size!r}, scale_factor={scale_factor!r} and spatial extents {tuple(extents)}"
        )
    if size is not None:
        sizes = per_dim(size, rank, 1, "interpolate: size")
        return sizes, [Fraction(n, m) for n, m in zip(extents, sizes, strict=True)]
    given = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * rank
    known = all(isinstance(f, (int, float)) and 0 < f < 2**31 for f in given)
    factors = [Fraction(f).limit_denominator(1 << 20) for f in given] if known else []
    sizes = tuple(int(n * f) for n, f in zip(extents, factors, strict=False))
    if len(sizes) != rank or min(sizes) < 1:
        fail(
            f"interpolate: scale_factor must be a positive number or one for each of {rank} dims, "
            f"and leave an element, got {scale_factor!r} for extents {tuple(extents)}"
        )
    return sizes, [1 / f for f in factors]


def _along(x: Tensor, dim: int, size: int, source: Source, ratio: Fraction, mode: str) -> Tensor:
    """The image resized along one dim."""

    def read(i: tuple[Any, ...], at: Any) -> Any:
        return x[(*i[:dim], source.inside(at), *i[dim + 1 :])]

    def nearest(*i: Any) -> Any:
        a, b = ratio.numerator, ratio.denominator
        return read(i, i[dim] * a // b if mode == "nearest" else (i[dim] * 2 + 1) * a // (2 * b))

    def linear(*i: Any) -> Any:
        at, part = source.split(i[dim], x.dtype, clipped=True)
        return read(i, at) * (1 - part) + read(i, at + 1) * part

    def cubic(*i: Any) -> Any:
        at, part = source.split(i[dim], x.dtype)
        return sum(read(i, at + (k - 1)) * w for k, w in enumerate(cubic_weights(part)))

    forms: dict[str, Callable[..., Any]] = {"bicubic": cubic, "nearest": nearest}
    forms["nearest-exact"] = nearest
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    return ted.compute(shape, forms.get(mode, linear), name="interpolate")


def cubic_weights(part: Any) -> list[Any]:
    """The weights of four neighbours of a place `part` behind the second one."""
    a = -0.75

    def near(t: Any) -> Any:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: Any) -> Any:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]
