"""Triangular systems and the Cholesky factor, as recurrences over rows and columns.

They are equations like any other: no derivative is written for them, and batch dims come in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.blocked_factors import blocks_of, cholesky_in_blocks, solve_in_blocks
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import sqrt, to_tensor, where
from ted.frontend.locations import fail
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import promote


def solve_triangular(
    a: Any, b: Any, lower: bool = True, transpose: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """The x with a @ x = b for a triangular a (a.T @ x = b if `transpose`).

    Only the triangle is read, and not its diagonal if `unit_diagonal`.
    Shapes: a (..., n, n); b (..., n, m), or (n) for one a; the batch dims are equal.
    Raises: FrontendError for shapes that do not fit.
    """
    a, b = square(a, "solve_triangular"), to_tensor(b, "solve_triangular: b")
    flags = {"lower": lower, "transpose": transpose, "unit_diagonal": unit_diagonal}
    lower, transpose, unit_diagonal = (
        checks.flag(value, f"solve_triangular: {name}") for name, value in flags.items()
    )
    batch, n = a.shape[:-2], a.shape[-1]
    vector = b.ndim == 1 and not batch
    if b.shape[: len(batch) + 1] != (*batch, n) or b.ndim != len(batch) + (1 if vector else 2):
        fail(f"solve_triangular: b must fit {a.shape} ({a.name}), got shape {b.shape} ({b.name})")
    a, b = floats(a, "solve_triangular"), floats(b, "solve_triangular")
    forwards = lower != transpose
    dtype = promote(a.dtype, b.dtype)

    blocks = None if vector or b.shape[-1] == 1 else blocks_of(n)
    if blocks is not None:
        return solve_in_blocks(a, b, blocks, dtype, transpose, unit_diagonal, not forwards)
    r = reduce_axis(n, "r")

    def at(head: Sequence[Any], row: Any, column: Any) -> Any:
        return a[(*head, column, row) if transpose else (*head, row, column)]

    def element(x: Tensor, *i: Any) -> Any:
        head, row, tail = i[: len(batch)], i[len(batch)], i[len(batch) + 1 :]
        known = r < row if forwards else r > row
        rest = b[i] - sum_over(at(head, row, r) * x[(*head, r, *tail)], axis=r, where=known)
        return rest if unit_diagonal else rest / at(head, row, row)

    return recurrence(b.shape, element, dtype, len(batch), not forwards, name="solve_triangular")


def cholesky(a: Any, upper: bool = False) -> Tensor:
    """The lower triangular l with l @ l.T = a, for a symmetric positive definite a; or `upper` l.T.

    Only that triangle of `a` is read, so gradients are those of its elements; a matrix that is
    not positive definite gives NaN.
    Shapes: a (..., n, n), result alike.
    Raises: FrontendError when `a` is not square or not of floats.
    """
    a = floats(square(a, "cholesky"), "cholesky")
    if checks.flag(upper, "cholesky: upper"):
        return matrix_transpose(cholesky(matrix_transpose(a)))
    batch, n = a.ndim - 2, a.shape[-1]
    blocks = blocks_of(n, of_factor=True)
    if blocks is not None:
        return cholesky_in_blocks(a, blocks)
    r = reduce_axis(n, "r")

    def rest(_c: Tensor, _d: Tensor, factor: Tensor, *i: Any) -> Any:
        head, row, column = i[:batch], i[-2], i[-1]
        terms = factor[(*head, row, r)] * factor[(*head, column, r)]
        return where(row >= column, a[i] - sum_over(terms, axis=r, where=r < column), 0)

    def diagonal(left: Tensor, _d: Tensor, _l: Tensor, *i: Any) -> Any:
        return sqrt(left[(*i, i[-1])])

    def element(left: Tensor, root: Tensor, _l: Tensor, *i: Any) -> Any:
        row, column = i[-2], i[-1]
        on = root[(*i[:batch], column)]
        return where(row > column, left[i] / on, where(row == column, on, 0))

    return recurrence(
        [a.shape, a.shape[:-1], a.shape],
        [rest, diagonal, element],
        a.dtype,
        [batch + 1, batch, batch + 1],
        name=["cholesky_rest", "cholesky_diagonal", "cholesky"],
    )[2]


def square(a: Any, what: str) -> Tensor:
    """A tensor that is square in its last two dims.

    Raises: FrontendError for another one.
    """
    a = to_tensor(a, f"{what}: a")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        fail(f"{what}: a must be square in its last two dims, got {a.shape} ({a.name})")
    return a


def floats(a: Tensor, what: str) -> Tensor:
    """A tensor of floats.

    Raises: FrontendError for another one, with the way out.
    """
    if not a.dtype.is_float:
        fail(f'{what}: takes floats, got {a.dtype} ({a.name}); write x.astype("float64")')
    return a
