"""Functions of symmetric matrices, with derivatives of every order, also at equal eigenvalues.

Before: funm(a, f)          After: v * f(w) @ v.T

A derivative is made of divided differences of f at eigenvalues: along h it is v @ (d1 * (v.T @ h @
v)) @ v.T with d1[j, k] = (f(w[j]) - f(w[k])) / (w[j] - w[k]), which is f'(w) where they are equal.
The next one has d2[j, k, l], and so on: each is the `_multilinear` of the next degree.
Source: Higham, Functions of Matrices, theorem 3.11, and section B.16 for divided differences.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from itertools import combinations, permutations
from string import ascii_lowercase
from typing import Any

from ted.api.custom import custom_vjp
from ted.api.gradients import grad
from ted.frontend.checks import called, check_callable
from ted.frontend.compute import compute
from ted.frontend.contraction import einsum, matmul
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import absolute, cast, stop_gradient, where
from ted.frontend.layout import broadcast_to, expand_dims
from ted.frontend.locations import fail
from ted.frontend.reductions import max, sum
from ted.frontend.tensors import Tensor
from ted.spectral.eigen import eigensystem, symmetric
from ted.spectral.ranges import rounding

Scalar = Callable[[Tensor], Tensor]


def funm(a: Any, f: Callable[[Any], Any], UPLO: str = "L") -> Tensor:
    """The function of a symmetric matrix that is f of its eigenvalues, v * f(w) @ v.T.

    f takes a tensor of eigenvalues, of any shape, and is elementwise: `ted.exp`, `lambda w: w *
    ted.log(w)`.  Derivatives are right where eigenvalues are equal, if f has them there; each order
    asks for one of f more, and for n times as much memory.  What f reads has derivatives, too.
    Only the lower triangle of `a` is read (the upper one for "U").
    Shapes: a (..., n, n), result alike.
    Raises: FrontendError when `a` is not square or not of floats, for another UPLO, or an f that
    gives another shape.
    """
    check_callable(f, "funm: f")
    full, dtype = symmetric(a, UPLO, "funm")
    w, v = eigensystem(stop_gradient(full))

    def checked(x: Tensor) -> Tensor:
        found = called("funm: f", "f(eigenvalues)", f, x)
        if not isinstance(found, Tensor) or found.shape != x.shape:
            got = found.shape if isinstance(found, Tensor) else type(found).__name__
            fail(f"funm: f: must be elementwise, got {got} for {x.shape}")
        return found if found.dtype == x.dtype else cast(found, x.dtype)

    return cast(_multilinear(checked, full, w, v, ()), dtype)


def _multilinear(f: Scalar, a: Tensor, w: Tensor, v: Tensor, xs: tuple[Tensor, ...]) -> Tensor:
    """The derivative of f at a along all xs, which are symmetric; f of a itself along none."""
    rows, order = matrix_transpose(v), len(xs)
    d = _differences(f, w, order)[0]
    if not order:
        value = matmul(v * expand_dims(d, -2), rows)
    else:
        turned = [matmul(matmul(rows, x), v) for x in xs]
        letters = ascii_lowercase[: order + 1]
        pairs = ",".join(f"...{letters[k : k + 2]}" for k in range(order))
        form = f"...{letters},{pairs}->...{letters[0]}{letters[-1]}"
        terms = [einsum(form, d, *chosen) for chosen in permutations(turned)]
        value = matmul(matmul(v, functools.reduce(operator.add, terms)), rows)
    return _moving(value, a, w, v, f, *xs)


@custom_vjp
def _moving(value: Tensor, a: Tensor, w: Tensor, v: Tensor, f: Scalar, *xs: Tensor) -> Tensor:
    """The value, which reads a in no other way than this says."""
    del a, w, v, f, xs
    return value


@_moving.defvjp
def _moving_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    (_, a, w, v, f, *xs), (head,) = inputs, heads
    along = (head + matrix_transpose(head)) / 2
    return head, _multilinear(f, a, w, v, (*xs, along)), *(None for _ in inputs[2:])


def _differences(f: Scalar, w: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Divided differences of f, of so many and one eigenvalue, and how far off they may be.

    A difference over a gap has the roundings of what is subtracted, over the gap.  Where the mean
    of derivatives between the points is as near as that, it is nearer.
    Shapes: w (..., n), results (..., n, ..., n).
    """
    eps = rounding(w)
    if not order:
        value = f(w)
        error = 4 * eps * max(absolute(stop_gradient(value)), -1, keepdims=True)
        return value, broadcast_to(error, value.shape)
    below, error = _differences(f, w, order - 1)
    gap, rise, unsure = _widest(w, below, error, order)
    smooth = sum(_derivative(f, order)(_between(w, order)), -1) / math.factorial(order + 1)
    least = w.shape[-1] * eps * max(absolute(w), -1)
    equal = absolute(gap) <= expand_dims(least, tuple(range(-order - 1, 0)))
    gap = where(equal, 1, gap)
    steep, unsure = rise / gap, unsure / absolute(gap)
    chosen = equal | (absolute(stop_gradient(steep - smooth)) <= unsure)
    value = where(chosen, smooth, steep)
    return value, where(chosen, 8 * eps * absolute(stop_gradient(smooth)), unsure)


def _widest(w: Tensor, below: Tensor, error: Tensor, order: int) -> list[Tensor]:
    """The pair with the widest gap: the gap, what lies on both sides of it, and its error."""
    batch, n = w.shape[:-1], w.shape[-1]

    def element(part: int, *i: Any) -> Any:
        head, at = i[: len(batch)], i[len(batch) :]
        found: Any = None  # gap, rise and its error
        for p, q in combinations(range(order + 1), 2):
            gap = w[(*head, at[p])] - w[(*head, at[q])]
            left = (*head, *(k for m, k in enumerate(at) if m != q))
            right = (*head, *(k for m, k in enumerate(at) if m != p))
            parts = gap, below[left] - below[right], error[left] + error[right]
            if found is None:
                found = parts
                continue
            wider = absolute(gap) > absolute(found[0])
            found = [where(wider, x, y) for x, y in zip(parts, found, strict=True)]
        return found[part]

    shape = (*batch, *(n,) * (order + 1))
    return [compute(shape, functools.partial(element, k), name="widest") for k in range(3)]


def _between(w: Tensor, order: int) -> Tensor:
    """Points among eigenvalues whose mean is, to degree 2, that of the simplex of them."""
    batch, n, count = w.shape[:-1], w.shape[-1], order + 1
    near = 1 / math.sqrt(order + 2)

    def element(*i: Any) -> Any:
        head, at, p = i[: len(batch)], i[len(batch) : -1], i[-1]
        values = [w[(*head, k)] for k in at]
        middle = functools.reduce(operator.add, values) / count
        own: Any = values[0]
        for k in range(1, count):
            own = where(p == k, values[k], own)
        return middle + near * (own - middle)

    return compute((*batch, *(n,) * count, count), element, name="between")


def _derivative(f: Scalar, order: int) -> Scalar:
    if not order:
        return f
    return grad(lambda x: sum(_derivative(f, order - 1)(x)))
