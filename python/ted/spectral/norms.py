"""Lengths of vectors and matrices, condition numbers, powers and cross products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ted.frontend import checks
from ted.frontend.contraction import matmul
from ted.frontend.creation import eye
from ted.frontend.dims import moveaxis
from ted.frontend.elementwise import absolute, cast, isnan, sqrt, to_tensor, where
from ted.frontend.joining import stack
from ted.frontend.layout import broadcast_to, expand_dims, reshape
from ted.frontend.linear_algebra import square
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import any, max, min, sum
from ted.frontend.tensors import Tensor
from ted.spectral.singular import svdvals
from ted.spectral.solutions import inv

_OF_SINGULAR_VALUES: dict[Any, Callable[..., Tensor]] = {2: max, -2: min, "nuc": sum}


@rounded_once
def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """(sum |x| ** ord) ** (1 / ord) over `axis`; the greatest for inf, the least for -inf.

    For 0 it counts what is not 0.  An element that is 0 has the slope 0, as in torch.
    Raises: FrontendError for an axis that x does not have, or an `ord` that is no number.
    """
    x = to_tensor(x, "vector_norm")
    ord = checks.number(ord, "vector_norm: ord")
    size = absolute(x)
    if ord in (math.inf, -math.inf):
        return (max if ord > 0 else min)(size, axis, keepdims=keepdims)
    if ord == 0:
        return cast(sum(x != 0, axis, keepdims=keepdims), x.dtype)
    if ord == 1:
        return sum(size, axis, keepdims=keepdims)
    if ord == 2:
        total = sum(x * x, axis, keepdims=keepdims)
        return where(total > 0, sqrt(total), 0 * total)
    # A power below 1 has no finite slope at 0, nor has one below 2 a second one.
    powers = where(size == 0, 0.0 if ord > 0 else math.inf, size**ord)
    total = sum(powers, axis, keepdims=keepdims)
    return where(total > 0, total ** (1 / ord), 0 * total)


@rounded_once
def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Of the last two dims, by `ord`.

    The root of squares ("fro"), the extreme sum of a column (1, -1) or row (inf, -inf), the
    greatest singular value (2), the least (-2) or their sum ("nuc").
    Raises: FrontendError for a vector, or another `ord`.
    """
    x = to_tensor(x, "matrix_norm")
    if x.ndim < 2:
        fail(f"matrix_norm: takes at least 2 dims, got shape {x.shape} ({x.name})")
    if not isinstance(ord, (str, int, float)):
        fail(f"matrix_norm: ord must be a number or a name, got {ord!r}")
    if ord == "fro":
        return vector_norm(x, (-2, -1), keepdims)
    if ord in _OF_SINGULAR_VALUES:
        found = _OF_SINGULAR_VALUES[ord](svdvals(x), -1)
        return expand_dims(found, (-2, -1)) if keepdims else found
    if ord not in (1, -1, math.inf, -math.inf):
        fail(f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}")
    added, rest = (-2, -1) if abs(ord) == 1 else (-1, -2)
    sums = sum(absolute(x), added, keepdims=True)
    found = (max if ord > 0 else min)(sums, rest, keepdims=True)
    return found if keepdims else reshape(found, x.shape[:-2])


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """`vector_norm` over one dim or all, `matrix_norm` over two.

    Raises: FrontendError as they do.
    """
    x = to_tensor(x, "norm")
    pair = isinstance(axis, (tuple, list)) and len(axis) == 2
    if ord is None or not (pair or (axis is None and x.ndim == 2)):
        return vector_norm(x, axis, keepdims, 2 if ord in (None, "fro") else ord)
    axes = checks.axes_of((-2, -1) if axis is None else axis, x.ndim, "norm")
    found = matrix_norm(moveaxis(x, axes, (-2, -1)), False, ord)
    kept = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return reshape(found, kept) if keepdims else found


def cond(x: Any, p: Any = None) -> Tensor:
    """The norm of square matrices times that of their inverse; by `p` as `ord` of `matrix_norm`.

    For 2 (and None) the greatest singular value by the least one, for -2 the other way round, and x
    need not be square.  It is infinite without an inverse.
    Raises: FrontendError as `matrix_norm`, or when `x` must be square and is not.
    """
    if p is None or (isinstance(p, (int, float)) and abs(p) == 2):
        values = svdvals(x)
        most, least = max(values, -1), min(values, -1)
        # Infinite of zeros, too, with a slope that is not finite, as of all without an inverse.
        return least / most if p == -2 else where(least == 0, 1 + most, most) / least
    x = square(x, "cond")
    found = matrix_norm(x, False, p) * matrix_norm(inv(x), False, p)
    return where(isnan(found) & ~any(isnan(x), (-2, -1)), math.inf, found)


def matrix_power(x: Any, n: int) -> Tensor:
    """The product of n such matrices, by squaring; of the inverse for a negative n.

    Raises: FrontendError when `x` is not square, or n no integer.
    """
    x, count = square(x, "matrix_power"), checks.integer(n, "matrix_power: n")
    if abs(count) >= 2**63:
        fail(f"matrix_power: n must fit 64 bits, got one of {count.bit_length()}")
    if count < 0:
        x, count = inv(x), -count
    if not count:
        return broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)
    half = matrix_power(x, count // 2) if count > 1 else None
    if half is None:
        return x
    return matmul(matmul(half, half), x) if count % 2 else matmul(half, half)


def cross(a: Any, b: Any, axis: int = -1) -> Tensor:
    """The vector across two vectors of 3 elements along `axis`; other dims broadcast.

    Raises: FrontendError for another extent along `axis`.
    """
    a, b = to_tensor(a, "cross"), to_tensor(b, "cross")
    shape = checks.broadcast([a.shape, b.shape], "cross")
    a, b = (moveaxis(broadcast_to(x, shape), axis, 0) for x in (a, b))
    if a.shape[0] != 3:
        fail(f"cross: extents along axis {axis} must be 3, got shape {shape}")
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(stack(parts), 0, axis)
