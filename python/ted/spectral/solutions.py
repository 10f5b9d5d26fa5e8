"""Solutions of systems of equations, whose derivative is that of a @ x = b, not of the elimination.

Before: ted.linalg.solve(a, b)      After: two triangular solves with the factors of `a`

The factors serve gradients of every order: a transposed system is solved by the same ones.
Source: Giles, An Extended Collection of Matrix Derivative Results, section 2.2.3.
"""

from __future__ import annotations

from typing import Any

from ted.api.custom import custom_vjp
from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.contraction import matmul
from ted.frontend.creation import eye
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import stop_gradient, to_tensor, where
from ted.frontend.factorisations import lu, rows_of
from ted.frontend.layout import broadcast_to, expand_dims, squeeze
from ted.frontend.linear_algebra import floats, solve_triangular, square
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor


@rounded_once
def solve(a: Any, b: Any) -> Tensor:
    """The x with a @ x = b, by `lu`; of a matrix without an inverse infinities and NaN, no error.

    Shapes: a (..., n, n); b (n), or (..., n, m); batch dims broadcast.
    Raises: FrontendError for shapes that do not fit, or what is not of floats.
    """
    a, b = floats(square(a, "solve"), "solve"), floats(to_tensor(b, "solve: b"), "solve")
    if not b.ndim:
        fail(f"solve: b must fit {a.shape} ({a.name}), got a scalar ({b.name})")
    vector = b.ndim == 1
    b = expand_dims(b, -1) if vector else b
    if b.shape[-2] != a.shape[-1]:
        fail(f"solve: b must fit {a.shape} ({a.name}), got shape {b.shape} ({b.name})")
    batch = checks.broadcast([a.shape[:-2], b.shape[:-2]], "solve")
    a, b = (broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    x = solution(a, b, *lu(stop_gradient(a)), False)
    return squeeze(x, -1) if vector else x


@rounded_once
def inv(a: Any) -> Tensor:
    """The inverse, by `lu`; of a matrix that has none infinities and NaN, no error.

    Raises: FrontendError when `a` is not square or not of floats.
    """
    a = floats(square(a, "inv"), "inv")
    return solve(a, eye(a.shape[-1], dtype=a.dtype))


@custom_vjp
def solution(
    a: Tensor, b: Tensor, rows: Tensor, low: Tensor, up: Tensor, transpose: bool
) -> Tensor:
    """The solution for a, or for its transpose, with a[rows] = low @ up."""
    del a  # of which the factors are
    if not transpose:
        turned = solve_triangular(low, rows_of(b, rows), unit_diagonal=True)
        return solve_triangular(up, turned, lower=False)
    turned = solve_triangular(up, b, lower=False, transpose=True)
    found = solve_triangular(low, turned, unit_diagonal=True, transpose=True)
    return rows_of(found, places_of(rows))


@solution.defvjp
def _adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    (a, _, *factors, transpose), (x,), (head,) = inputs, outputs, heads
    of_b = solution(a, head, *factors, not transpose)
    left, right = (x, of_b) if transpose else (of_b, x)
    return -matmul(left, matrix_transpose(right)), of_b, None, None, None, None


def places_of(rows: Tensor) -> Tensor:
    """Where each row has gone: without a write to an element that is data."""
    r = reduce_axis(rows.shape[-1], "r")
    return compute(
        rows.shape, lambda *i: sum_over(where(rows[(*i[:-1], r)] == i[-1], r, 0), axis=r),
        name="places",
    )  # fmt: skip
