"""Functions that move elements without computing: each one a compute that reads at an index map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ted.domain.sizes import Extent, divided, is_symbolic
from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.creation import zeros
from ted.frontend.elementwise import to_tensor, where
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor


def _gather(
    x: Tensor, shape: Sequence[Extent], point: Callable[..., Sequence[Any]], what: str
) -> Tensor:
    """`out[index] = x[point(*index)]`."""
    return compute(tuple(shape), lambda *index: x[tuple(point(*index))], name=what)


def transpose(x: Any, axes: Any = None) -> Tensor:
    """The dims in the order `axes`, reversed by default.

    Raises: FrontendError unless `axes` is a permutation of the dims.
    """
    x = to_tensor(x, "transpose")
    order = tuple(reversed(range(x.ndim))) if axes is None else axes
    order = checks.axes_of(order, x.ndim, "transpose")
    if len(order) != x.ndim:
        swap = f"; ted.swapaxes(x, {order[0]}, {order[1]}) swaps two" if len(order) == 2 else ""
        fail(f"transpose: axes must name each of {x.ndim} dims once, got {axes!r}{swap}")
    place = [order.index(k) for k in range(x.ndim)]
    shape = [x.shape[k] for k in order]
    return _gather(x, shape, lambda *i: [i[k] for k in place], "transpose")


def swapaxes(x: Any, first: int, second: int) -> Tensor:
    """Two dims exchanged.

    Raises: FrontendError for a dim that x does not have.
    """
    x = to_tensor(x, "swapaxes")
    order = list(range(x.ndim))
    a, b = (checks.axis_of(axis, x.ndim, "swapaxes") for axis in (first, second))
    order[a], order[b] = b, a
    return transpose(x, order)


# ------------------------------------------------------------------ reshape


def reshape(x: Any, shape: Any) -> Tensor:
    """The same elements in row-major order under another shape; one extent may be -1.

    Raises: FrontendError when the number of elements differs.
    """
    x = to_tensor(x, "reshape")
    target = _resolve(shape, x)
    if target == x.shape:
        return x
    if not is_symbolic(x.shape) and x.size == 0:
        return zeros(target, x.dtype)
    blocks = _blocks(x.shape, target)

    def point(*index: Any) -> list[Any]:
        at: list[Any] = [0] * x.ndim
        for sources, results in blocks:
            position = _linear([index[k] for k in results], [target[k] for k in results])
            _spread(position, sources, x.shape, at)
        return at

    return _gather(x, target, point, "reshape")


def _resolve(shape: Any, x: Tensor) -> tuple[Extent, ...]:
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    extents = [checks.extent(n, f"reshape: extent {k}") for k, n in enumerate(items)]
    if extents.count(-1) > 1:
        fail(f"reshape: one extent may be -1, got {tuple(extents)}")
    if -1 in extents:
        known = -math.prod(extents)
        extents[extents.index(-1)] = _quotient(x.size, known)
    target = checks.shape_of(extents, x.dtype, "reshape")
    if math.prod(target) != x.size:
        fail(f"reshape: {x.name} of shape {x.shape} has {x.size} elements, got shape {items}")
    return target


def _quotient(size: Extent, known: Extent) -> Extent:
    """The extent that -1 stands for."""
    if isinstance(known, int):
        return size // known if known else 0
    found = divided(size, known)
    return found if found is not None else fail(f"reshape: {known} must divide {size} to infer -1")


def _blocks(
    source: tuple[Extent, ...], target: tuple[Extent, ...]
) -> list[tuple[list[int], list[int]]]:
    """Cut both shapes into runs of dims with equal products, the shortest ones of numbers."""
    if is_symbolic((*source, *target)):
        return _symbolic_blocks(source, target)
    blocks: list[tuple[list[int], list[int]]] = []
    a, b = 0, 0
    while a < len(source) or b < len(target):
        sources, results, left, right = [], [], 1, 1
        while True:
            if left <= right and a < len(source):
                left, a = left * source[a], a + 1
                sources.append(a - 1)
            elif b < len(target):
                right, b = right * target[b], b + 1
                results.append(b - 1)
            if left == right and (left > 1 or (a == len(source) and b == len(target))):
                break
            if left == right and sources and results:
                break
        blocks.append((sources, results))
    return blocks


def _symbolic_blocks(
    source: tuple[Extent, ...], target: tuple[Extent, ...]
) -> list[tuple[list[int], list[int]]]:
    """Runs of dims with equal products, each closed as soon as its products are equal."""
    blocks: list[tuple[list[int], list[int]]] = []
    a, b = 0, 0
    while a < len(source) or b < len(target):
        # The shortest run: no product order is known, so every pair of lengths is tried.
        lengths = sorted(
            ((i, j) for i in range(len(source) - a + 1) for j in range(len(target) - b + 1)),
            key=sum,
        )
        i, j = next(
            (i, j)
            for i, j in lengths
            if i + j and math.prod(source[a : a + i]) == math.prod(target[b : b + j])
        )
        blocks.append((list(range(a, a + i)), list(range(b, b + j))))
        a, b = a + i, b + j
    return blocks


def _linear(index: list[Any], extents: list[Extent]) -> Any:
    """The row-major position of a point within its block."""
    position: Any = 0
    for i, extent in zip(index, extents, strict=True):
        if extent != 1:
            position = position * extent + i
    return position


def _spread(position: Any, dims: list[int], shape: tuple[Extent, ...], at: list[Any]) -> None:
    """Write the point of the block `dims` with row-major `position` into `at`."""
    wide = [d for d in dims if shape[d] != 1]
    for n, d in enumerate(wide):
        stride = math.prod(shape[k] for k in wide[n + 1 :])
        quotient = position // stride if stride != 1 else position
        at[d] = quotient if n == 0 else quotient % shape[d]


def flatten(x: Any, start: int = 0) -> Tensor:
    """The dims from `start` on joined into one, row-major.

    Raises: FrontendError for a dim that x does not have.
    """
    x = to_tensor(x, "flatten")
    first = checks.axis_of(start, x.ndim, "flatten") if x.ndim else 0
    return reshape(x, (*x.shape[:first], math.prod(x.shape[first:])))


def expand_dims(x: Any, axis: Any = 0) -> Tensor:
    """New dims of extent 1 that are dim `axis`, or dims, of the result.

    Raises: FrontendError for a place outside of the dims, or one named twice.
    """
    x = to_tensor(x, "expand_dims")
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    extents = list(x.shape)
    for at in sorted(checks.axes_of(axis, x.ndim + count, "expand_dims")):
        extents.insert(at, 1)
    return reshape(x, tuple(extents))


def squeeze(x: Any, axis: Any = None) -> Tensor:
    """Dims of extent 1 removed, all by default.

    Raises: FrontendError for a dim of another extent.
    """
    x = to_tensor(x, "squeeze")
    ones = [k for k in range(x.ndim) if x.shape[k] == 1]
    gone = ones if axis is None else checks.reduced_axes(axis, x.ndim, "squeeze")
    for k in gone:
        if x.shape[k] != 1:
            fail(f"squeeze: dim {k} must have extent 1, got shape {x.shape}")
    return reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in gone))


# ------------------------------------------------------------------ repeat, reverse, shift, mask


def broadcast_to(x: Any, shape: checks.Shape) -> Tensor:
    """The tensor stretched to `shape` by numpy's broadcasting.

    Raises: FrontendError when it does not stretch to that.
    """
    x = to_tensor(x, "broadcast_to")
    target = checks.shape_of(shape, x.dtype, "broadcast_to")
    checks.broadcast_to(x.shape, target, "broadcast_to")
    skip = len(target) - x.ndim

    def point(*index: Any) -> list[Any]:
        return [0 if x.shape[k] == 1 else i for k, i in enumerate(index[skip:])]

    return _gather(x, target, point, "broadcast_to")


def flip(x: Any, axis: Any = None) -> Tensor:
    """The order along `axis` reversed, along all dims by default.

    Raises: FrontendError for a dim that x does not have, or one named twice.
    """
    x = to_tensor(x, "flip")
    axes = checks.reduced_axes(axis, x.ndim, "flip")

    def point(*index: Any) -> list[Any]:
        return [x.shape[k] - 1 - i if k in axes else i for k, i in enumerate(index)]

    return _gather(x, x.shape, point, "flip")


def roll(x: Any, shift: Any, axis: Any = None) -> Tensor:
    """Elements moved by `shift` along `axis`, those that leave come in at the other end.

    Several dims take one shift or one each; without an axis x is moved in row-major order.
    Raises: FrontendError for an axis that x does not have, another number of shifts, or a symbolic
    extent that may be less than the shift.
    """
    x = to_tensor(x, "roll")
    if axis is None:
        return reshape(roll(flatten(x), shift, 0), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        fail(f"roll: one shift for each axis, got {shift!r} and {axis!r}")
    for by, along in zip(shifts, axes, strict=True):
        x = _rolled(x, by, checks.axis_of(along, x.ndim, "roll"))
    return x


def _rolled(x: Tensor, shift: Any, along: int) -> Tensor:
    extent = x.shape[along]
    by = checks.integer(shift, "roll: shift")
    if isinstance(extent, int):
        by = by % extent if extent else 0
    if by == 0:
        return x

    def source(i: Any) -> Any:
        if isinstance(extent, int):
            return (i + (extent - by)) % extent
        if not abs(by) <= extent:  # for every size one of two cases, a remainder would be neither
            fail(f"roll: a symbolic extent must be at least the shift, got {by} of {extent}")
        return (
            where(i < by, i - by + extent, i - by)
            if by > 0
            else where(i - by < extent, i - by, i - by - extent)
        )

    def point(*index: Any) -> list[Any]:
        return [source(i) if k == along else i for k, i in enumerate(index)]

    return _gather(x, x.shape, point, "roll")


def tile(x: Any, repeats: Any) -> Tensor:
    """The tensor repeated `repeats[k]` times along dim k; counts and dims are aligned at the right.

    Raises: FrontendError for a count that is negative or no integer.
    """
    x = to_tensor(x, "tile")
    counts = checks.shape_of(repeats, x.dtype, "tile: repeats")
    rank = max(len(counts), x.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    x = reshape(x, (1,) * (rank - x.ndim) + x.shape)
    shape = [n * c for n, c in zip(x.shape, counts, strict=True)]
    if 0 in shape:
        return zeros(shape, x.dtype)
    return _gather(x, shape, lambda *i: [p % n for p, n in zip(i, x.shape, strict=True)], "tile")


def tril(x: Any, k: int = 0) -> Tensor:
    """The elements on and below the k-th diagonal of the last two dims, zeros above.

    Raises: FrontendError for a tensor of fewer than 2 dims.
    """
    return _triangle(x, lambda i, j: j <= i + checks.integer(k, "tril: k"), "tril")


def triu(x: Any, k: int = 0) -> Tensor:
    """The elements on and above the k-th diagonal of the last two dims, zeros below.

    Raises: FrontendError for a tensor of fewer than 2 dims.
    """
    return _triangle(x, lambda i, j: j >= i + checks.integer(k, "triu: k"), "triu")


def _triangle(x: Any, keep: Callable[[Any, Any], Any], what: str) -> Tensor:
    x = to_tensor(x, what)
    if x.ndim < 2:
        fail(f"{what}: takes a tensor of at least 2 dims, got shape {x.shape}")
    return compute(x.shape, lambda *i: where(keep(i[-2], i[-1]), x[i], 0), name=what)


def split(x: Any, sections: Any, axis: int = 0) -> list[Tensor]:
    """Pieces along `axis`: so many equal ones, or cut before the given positions.

    Raises: FrontendError when the extent is not a multiple of the number of pieces.
    """
    x = to_tensor(x, "split")
    along = checks.axis_of(axis, x.ndim, "split")
    extent = x.shape[along]
    if isinstance(sections, (tuple, list)):
        cuts = [checks.extent(s, "split: position") for s in sections]
    else:
        pieces = checks.integer(sections, "split: sections")
        if pieces < 1 or extent % pieces:
            fail(f"split: the number of pieces must divide extent {extent}, got {pieces}")
        cuts = [extent // pieces * k for k in range(1, pieces)]
    ends = zip([0, *cuts], [*cuts, extent], strict=True)
    lead = (slice(None),) * along
    return [x[(*lead, slice(a, b))] for a, b in ends]
