"""What singular values that are not negligible say of matrices: inverses and ranks."""

from __future__ import annotations

from typing import Any

from ted.api.custom import custom_vjp
from ted.frontend import checks
from ted.frontend.contraction import matmul
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import cast, isnan, stop_gradient, where
from ted.frontend.layout import expand_dims
from ted.frontend.locations import fail
from ted.frontend.reductions import any, sum
from ted.frontend.tensors import Tensor, with_constant
from ted.ir.dtypes import INT64
from ted.spectral.ranges import rounding
from ted.spectral.singular import matrices, svd, svdvals


def pinv(a: Any, rtol: Any = None) -> Tensor:
    """The pseudo-inverse of Moore and Penrose: 1 / s for singular values above rtol * the greatest.

    `rtol` is max(m, n) roundings unless said.  The gradient is that of matrices of the same rank.
    Shapes: a (..., m, n), result (..., n, m); `rtol` is a number, or a tensor that broadcasts to
    (...).
    Raises: FrontendError for what is no matrix of floats, or an `rtol` that is neither.
    Source: Golub and Pereyra, The Differentiation of Pseudo-Inverses, theorem 4.3.
    """
    a, dtype = matrices(a, "pinv")
    return cast(_pinv(a, _share(a, rtol, "pinv: rtol")), dtype)


@custom_vjp
def _pinv(a: Tensor, rtol: Any) -> Tensor:
    u, s, vh = svd(a, False)
    inverse = where(s > rtol * s[..., :1], 1 / s, 0)
    return matmul(matrix_transpose(vh) * expand_dims(inverse, -2), matrix_transpose(u))


@_pinv.defvjp
def _pinv_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Tensor, None]:
    (a, _), (p,), (head,) = inputs, outputs, heads
    pt, ht = matrix_transpose(p), matrix_transpose(head)
    inside = matmul(pt, matmul(head, pt))
    beside = matmul(matmul(ht - matmul(a, matmul(p, ht)), p), pt)
    along = matmul(pt, matmul(p, ht - matmul(matmul(ht, p), a)))
    return beside + along - inside, None


def matrix_rank(a: Any, tol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values are above `tol`, or above rtol * the greatest; as int64.

    -1 for a matrix that is not finite.  `rtol` is max(m, n) roundings unless said.
    Shapes: a (..., m, n), result (...); tolerances as in `pinv`.
    Raises: FrontendError for what is no matrix of floats, or a tolerance that is none.
    """
    a, _ = matrices(a, "matrix_rank")
    if tol is not None and rtol is not None:
        fail(f"matrix_rank: tol or rtol may be given, got tol={tol!r} and rtol={rtol!r}")
    s = svdvals(a)
    share = _share(a, rtol if tol is None else tol, "matrix_rank: tolerance")
    return _count(s, share * s[..., :1] if tol is None else share)


def rank_by(s: Tensor, a: Tensor, rtol: float | None, what: str) -> Tensor:
    """The rank of a matrix whose singular values are known.

    Raises: FrontendError for an `rtol` that is no number.
    """
    return _count(s, _share(a, rtol, what) * s[..., :1])


def _count(s: Tensor, least: Any) -> Tensor:
    return where(any(isnan(s), -1), -1, sum(cast(s > least, INT64), -1))


def _share(a: Tensor, wanted: Any, what: str) -> Any:
    """A tolerance as a number, or as a tensor that stands beside singular values."""
    if wanted is None:
        return rounding(a) * max(checks.integer(extent, what) for extent in a.shape[-2:])
    wanted = with_constant(wanted, what)
    if isinstance(wanted, Tensor):
        checks.broadcast_to(wanted.shape, a.shape[:-2], what)
        return expand_dims(cast(stop_gradient(wanted), a.dtype), -1)
    return float(checks.number(wanted, f"{what}:"))
