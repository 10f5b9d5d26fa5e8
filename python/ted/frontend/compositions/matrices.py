"""Products, moments and diagonals of vectors and matrices by NumPy's names.

Before: ted.cov(x)      After: centred rows, `ij,kj->ik`, divided by n - 1
"""

from __future__ import annotations

from typing import Any

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.contraction import einsum
from ted.frontend.dims import diagonal, swapaxes
from ted.frontend.elementwise import cast, sqrt, to_tensor, where
from ted.frontend.joining import concatenate
from ted.frontend.layout import broadcast_to, flatten, flip, reshape
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import mean, sum
from ted.frontend.tensors import Tensor


def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over `axis` by weights, like x or a vector along one axis; by equal ones without.

    Raises: FrontendError for an axis that x does not have, or weights of another shape.
    """
    x = to_tensor(x, "average")
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    given = to_tensor(weights, "average: weights")
    shape = given.shape
    if axis is not None and not checks.is_several(axis) and given.ndim == 1 < x.ndim:
        along = checks.axis_of(axis, x.ndim, "average")
        shape = tuple(given.shape[0] if k == along else 1 for k in range(x.ndim))
    if len(shape) != x.ndim or any(n not in (1, m) for n, m in zip(shape, x.shape, strict=True)):
        fail(
            f"average: weights must be like x, of shape {x.shape}, or a vector along one axis, "
            f"got shape {given.shape} and axis={axis!r}"
        )
    by = broadcast_to(reshape(given, shape), x.shape)
    return sum(x * by, axis, keepdims=keepdims) / sum(by, axis, keepdims=keepdims)


@rounded_once
def cov(x: Any, y: Any = None, rowvar: bool = True, correction: Any = 1) -> Tensor:
    """The covariances of variables, each a row, or a column without `rowvar`; those of y behind.

    Divided by the number of observations - `correction`.
    Raises: FrontendError for more than 2 dims, or a correction that leaves no observation.
    """
    rows = _variables(x, rowvar, "cov")
    if y is not None:
        rows = concatenate([rows, _variables(y, rowvar, "cov: y")], 0)
    less, count = checks.number(correction, "cov: correction"), rows.shape[1]
    if count <= less:
        fail(f"cov: takes more than {less} observations, got {count}; give a lower correction")
    centred = rows - mean(rows, 1, keepdims=True)
    found = einsum("ij,kj->ik", centred, centred) / (count - less)
    return found if found.shape[0] != 1 else reshape(found, ())


@rounded_once
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Tensor:
    """The correlations of variables, each a row, or a column without `rowvar`; those of y behind.

    Raises: FrontendError as `cov`.
    """
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    root = sqrt(diagonal(found))
    return found / (root[:, None] * root[None, :])


def _variables(x: Any, rowvar: bool, what: str) -> Tensor:
    x = to_tensor(x, what)
    if x.ndim > 2:
        fail(f"{what}: takes a vector or a matrix, got shape {x.shape} ({x.name})")
    x = x if x.dtype.is_float else cast(x, "float64")
    rows = x if x.ndim == 2 else reshape(x, (1, -1))
    return rows if checks.flag(rowvar, f"{what}: rowvar") or x.ndim < 2 else swapaxes(rows, 0, 1)


def vdot(a: Any, b: Any) -> Tensor:
    """The sum of the products of all elements of two tensors of one size.

    Raises: FrontendError for sizes that differ.
    """
    return einsum("i,i->", flatten(to_tensor(a, "vdot")), flatten(to_tensor(b, "vdot")))


def matvec(a: Any, v: Any) -> Tensor:
    """Matrices times vectors; the dims before broadcast.

    Shapes: a (..., n, m), v (..., m), result (..., n).
    Raises: FrontendError for shapes that do not fit.
    """
    return einsum("...ij,...j->...i", a, v)


def vecmat(v: Any, a: Any) -> Tensor:
    """Vectors times matrices; the dims before broadcast.

    Shapes: v (..., n), a (..., n, m), result (..., m).
    Raises: FrontendError for shapes that do not fit.
    """
    return einsum("...i,...ij->...j", v, a)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product: a, each of whose elements is multiplied by all of b.

    Shapes: a (n..., m), b (k..., l), result (n k..., m l); the shorter shape begins with ones.
    Raises: FrontendError for what is no tensor.
    """
    a, b = to_tensor(a, "kron"), to_tensor(b, "kron")
    rank = max(a.ndim, b.ndim)
    first, second = ((1,) * (rank - x.ndim) + tuple(x.shape) for x in (a, b))
    apart = (reshape(a, [n for m in first for n in (m, 1)]),
             reshape(b, [n for m in second for n in (1, m)]))  # fmt: skip
    return reshape(apart[0] * apart[1], [n * m for n, m in zip(first, second, strict=True)])


def diag(x: Any, k: int = 0) -> Tensor:
    """The k-th diagonal of a matrix; or of a vector the matrix that has it there, and zeros.

    Raises: FrontendError for other ranks.
    """
    x, offset = to_tensor(x, "diag"), checks.integer(k, "diag: k")
    if x.ndim == 2:
        return diagonal(x, offset)
    if x.ndim != 1:
        fail(f"diag: takes a vector or a matrix, got shape {x.shape} ({x.name})")
    n = x.shape[0] + abs(offset)
    before = max(-offset, 0)

    def element(row: Any, column: Any) -> Any:
        return where(column - row == offset, x[row - before], 0)

    return compute((n, n), element, name="diag")


def diagflat(x: Any, k: int = 0) -> Tensor:
    """The matrix with all elements of x in order on its k-th diagonal, and zeros.

    Raises: FrontendError for what is no tensor.
    """
    return diag(flatten(to_tensor(x, "diagflat")), k)


def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """x turned k times by a right angle, from the first of two axes to the second.

    Raises: FrontendError for axes that x does not have, or the same twice.
    """
    x, times = to_tensor(x, "rot90"), checks.integer(k, "rot90: k") % 4
    found = checks.axes_of(axes, x.ndim, "rot90")
    if len(found) != 2:
        fail(f"rot90: axes must be two dims, got {axes!r}")
    first, second = found
    if times == 2:
        return flip(x, found)
    if times == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if times else x
