"""Images read at places that are data: `grid_sample`, and places of affine maps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import ted
from ted.frontend.checks import flag
from ted.frontend.elementwise import to_tensor
from ted.frontend.indexing import place
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import LAYOUTS, Layout, floating, layout_of, one_of, per_dim
from ted.nn.resizing import cubic_weights

_WHAT = "grid_sample"


def grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool = False, layout: str | None = None,
) -> Tensor:  # fmt: skip
    """The values of images at places between -1 and 1, the last spatial dim first in a place.

    Modes: "bilinear" (in any rank), "nearest", "bicubic" of two dims.  Outside is what
    `padding_mode` says: "zeros", the "border", or its "reflection".  -1 and 1 are the outermost
    elements with `align_corners`, else the borders of the outermost.  A place at the outermost
    element, where the two slopes of "border" and "reflection" differ, has the slope 0 in
    "bilinear", as in torch.
    The gradient with respect to x is a scatter, that with respect to the grid a gather.
    Shapes: x (n, spatial..., c) or, by `layout`, (n, c, spatial...), of two or three dims; grid
    (n, spatial'..., rank), result like x with the extents spatial'.
    Raises: FrontendError for shapes that do not fit together, unknown modes, an x without elements.
    """
    x, grid = floating(x, f"{_WHAT}: x"), floating(to_tensor(grid, _WHAT), f"{_WHAT}: grid")
    rank = x.ndim - 2
    if rank not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != rank:
        fail(
            f"{_WHAT}: takes images of two or three dims and a grid (n, ..., number of dims), got "
            f"{x.shape} ({x.name}) and {grid.shape} ({grid.name})"
        )
    images = layout_of(LAYOUTS[rank][0] if layout is None else layout, rank, _WHAT)
    batch, spatial, channels = images.split(x.shape)
    mode = one_of(mode, ("bilinear", "nearest", "bicubic"), f"{_WHAT}: mode")
    outside = one_of(padding_mode, ("zeros", "border", "reflection"), f"{_WHAT}: padding_mode")
    if grid.shape[0] != batch or (mode == "bicubic" and rank != 2) or 0 in spatial:
        fail(
            f"{_WHAT}: takes one grid for each image, images with elements, and two dims for "
            f"bicubic, got {x.shape} and {grid.shape} with mode {mode!r}"
        )
    corners = flag(align_corners, f"{_WHAT}: align_corners")
    moves = [_bound(outside, extent, corners) for extent in spatial]
    places = _places(grid, spatial, corners, mode, moves)
    sample = _Samples(x, images, places, moves if mode == "bicubic" else None, mode)
    shape = images.join(batch, grid.shape[1:-1], channels)
    return ted.compute(shape, sample.element, name=_WHAT)


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """The places for `grid_sample` at which affine maps put the elements of images.

    Shapes: theta (n, rank, rank + 1) of two or three dims, a linear map beside a shift, both of
    places between -1 and 1, the last spatial dim first; size the spatial extents; result
    (n, *size, rank).
    Raises: FrontendError for shapes that do not fit together.
    """
    what = "affine_grid"
    theta = floating(theta, f"{what}: theta")
    extents = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    rank = len(extents)
    if rank not in (2, 3) or theta.ndim != 3 or theta.shape[1:] != (rank, rank + 1):
        fail(
            f"{what}: takes (n, rank, rank + 1) and two or three extents, got {theta.shape} "
            f"({theta.name}) and {size!r}"
        )
    extents = per_dim(extents, rank, 1, f"{what}: size")
    corners = flag(align_corners, f"{what}: align_corners")

    def place(at: Any, extent: int) -> Any:
        middle = ted.cast(2 * at - (extent - 1), theta.dtype)
        return middle / (max(extent - 1, 1) if corners else extent)

    def element(n: Any, *i: Any) -> Any:
        places = [place(at, extent) for at, extent in zip(i[:-1], extents, strict=True)]
        terms = (theta[n, i[-1], k] * p for k, p in enumerate(reversed(places)))
        return sum(terms, start=theta[n, i[-1], rank])

    return ted.compute((theta.shape[0], *extents, rank), element, name=what)


def _places(
    grid: Tensor, spatial: Sequence[Any], corners: bool, mode: str, moves: Sequence[Any]
) -> list[Tensor]:
    """Where each point lies, in elements, along every spatial dim of the image."""

    def of(k: int, extent: Any) -> Callable[..., Any]:
        def element(*i: Any) -> Any:
            g = grid[(*i, len(spatial) - 1 - k)]
            n = ted.cast(extent, grid.dtype)
            at = (g + 1) * ((n - 1) / 2) if corners else ((g + 1) * n - 1) / 2
            return at if mode == "bicubic" else moves[k](at)

        return element

    shape = grid.shape[:-1]
    return [ted.compute(shape, of(k, n), name="places") for k, n in enumerate(spatial)]


def _bound(outside: str, extent: Any, corners: bool) -> Callable[[Any], Any]:
    """A place as the padding mode moves it."""
    if outside == "zeros":
        return lambda at: at
    low, span = (0.0, extent - 1) if corners else (-0.5, extent)

    def moved(at: Any) -> Any:
        if outside == "reflection":
            if span == 0:
                return at * 0
            distance = ted.absolute(at - low)
            turns = ted.floor(distance / span)
            rest = distance - turns * span
            is_even = turns - 2 * ted.floor(turns / 2) == 0
            at = ted.where(is_even, rest + low, span - rest + low)
        # At an end, too, the place is a number: that half of a slope which a neighbour outside
        # has, as one that counts 0, is none of an image that goes on.
        last = ted.cast(extent - 1, at.dtype)
        return ted.where(at <= 0, 0.0, ted.where(at >= last, last, at))

    return moved


class _Samples:
    """The elements around places, and their weights."""

    def __init__(
        self, x: Tensor, images: Layout, places: Sequence[Tensor], moves: Any, mode: str
    ) -> None:
        self.x, self.images, self.places = x, images, places
        self.moves, self.mode = moves, mode

    def element(self, *i: Any) -> Any:
        """The value of a channel at a place."""
        n, point, c = self.images.split(i)
        sides = [self._neighbours(place[(n, *point)]) for place in self.places]
        total: Any = None
        for chosen in itertools.product(*sides):
            value = self._read(n, [at for at, _ in chosen], c)
            for _, weight in chosen:
                value = value if weight is None else value * weight
            total = value if total is None else total + value
        return total

    def _neighbours(self, at: Any) -> list[tuple[Any, Any]]:
        """Whole places around one, each with its weight."""
        if self.mode == "nearest":
            return [(ted.round(at), None)]
        first = ted.floor(at)
        part = at - first
        if self.mode == "bicubic":
            return [(first + (k - 1), w) for k, w in enumerate(cubic_weights(part))]
        return [(first, 1 - part), (first + 1, part)]

    def _read(self, n: Any, at: Sequence[Any], c: Any) -> Any:
        """The element of the image at whole places, 0 outside."""
        spatial = self.images.split(self.x.shape)[1]
        if self.moves is not None:
            at = [move(a) for move, a in zip(self.moves, at, strict=True)]
        inside: Any = None
        index = []
        for a, extent in zip(at, spatial, strict=True):
            known = (a >= 0) & (a <= extent - 1)
            inside = known if inside is None else inside & known
            whole = ted.cast(ted.where(known, a, 0.0), "int64")
            index.append(place(whole, extent, "clip")[0])
        return ted.where(inside, self.x[self.images.join(n, index, c)], 0)
