"""Linear algebra and special functions of torch as those of ted: a row for each operator.

Factors are those of ted, which may have other signs of columns than LAPACK's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

import ted
from ted.frontend.locations import fail
from ted.raising.algebra import packed_lu
from ted.raising.complex_algebra import exchanged

Function = Callable[..., Any]  # its result is a tensor or a tuple of them
aten = torch.ops.aten


def _solved(a: Any, b: Any, *, left: bool = True) -> Any:
    """The x with a x = b, or x a = b; b of one dim fewer than a, and its shape, is of vectors."""
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1])):
        return ted.squeeze(_solved(a, b[..., None], left=left), -1)
    return ted.linalg.solve(a, b) if left else _turned(ted.linalg.solve(_turned(a), _turned(b)))


def _turned(a: Any) -> Any:
    return ted.matrix_transpose(a)


def _triangle(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if not left:
        a, b, upper = _turned(a), _turned(b), not upper
    batch = ted.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (ted.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (a, b))
    x = ted.linalg.solve_triangular(a, b, lower=not upper, unit_diagonal=unitriangular)
    return x if left else _turned(x)


def _triangle_before(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The older operator, which gives the matrix as well."""
    turned = _turned(a) if transpose else a
    return _triangle(turned, b, upper=upper != transpose, unitriangular=unitriangular), a


def _by_cholesky(b: Any, factor: Any, upper: bool = False) -> Any:
    low = _turned(factor) if upper else factor
    return _triangle(_turned(low), _triangle(low, b, upper=False), upper=True)


def _inverse_by_cholesky(factor: Any, upper: bool = False) -> Any:
    return _by_cholesky(ted.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


def _lu(a: Any, *, pivot: bool = True) -> Any:
    if not pivot:
        fail("from_exported: linalg.lu must have pivots, got pivot=False")
    packed, _, rows = packed_lu(a)
    own, k = ted.reshape(ted.arange(a.shape[-2]), (-1, 1)), min(a.shape[-2:])
    low = ted.tril(packed[..., :k], -1) + ted.eye(a.shape[-2], k, dtype=a.dtype)
    return ted.cast(own == rows[..., None, :], a.dtype), low, ted.triu(packed[..., :k, :])


def _lu_factor(a: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Both factors in one matrix, the rows of exchanges from 1 on, and that none has failed."""
    del check_errors
    if not pivot:
        fail("from_exported: linalg.lu_factor must have pivots, got pivot=False")
    packed, places, _ = packed_lu(a)
    return packed, places + 1, ted.zeros(a.shape[:-2], "int32")


def _order(places: Any, count: int) -> Any:
    """The rows in their order after exchanges, each of two rows, from 1 on."""
    own, batch = ted.arange(count), places.shape[:-1]

    def step(order: Any, given: Any) -> Any:
        k, at = given
        return ted.take_along_axis(order, exchanged(own, k, at[..., None]), -1), ()

    exchanges = ted.moveaxis(ted.cast(places, "int64") - 1, -1, 0)
    start = ted.broadcast_to(own, (*batch, count))
    return ted.scan(step, start, (ted.arange(places.shape[-1]), exchanges))[0]


def _unpacked(packed: Any, places: Any, data: bool = True, pivots: bool = True) -> Any:
    """The permutation and both factors of what `lu_factor` gives; empty ones not asked for."""
    m, k, none = packed.shape[-2], min(packed.shape[-2:]), ted.zeros((0,), packed.dtype)
    rows, low, up = none, none, none
    if pivots:
        order = _order(places, m)
        rows = ted.cast(ted.reshape(ted.arange(m), (-1, 1)) == order[..., None, :], packed.dtype)
    if data:
        low = ted.tril(packed[..., :k], -1) + ted.eye(m, k, dtype=packed.dtype)
        up = ted.triu(packed[..., :k, :])
    return rows, low, up


def _solved_by_lu(
    packed: Any, places: Any, b: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    if not left:
        return _turned(_solved_by_lu(packed, places, _turned(b), adjoint=not adjoint))
    rows = _unpacked(packed, places, data=False)[0]
    if adjoint:
        within = _triangle(_turned(packed), b, upper=False)
        return rows @ _triangle(_turned(packed), within, upper=True, unitriangular=True)
    within = _triangle(packed, _turned(rows) @ b, upper=False, unitriangular=True)
    return _triangle(packed, within, upper=True)


def _qr(a: Any, mode: str = "reduced") -> Any:
    found = ted.linalg.qr(a, mode)
    return (ted.zeros((0,), a.dtype), found) if mode == "r" else found


def _of_triangle(a: Any, upper: bool = False) -> Any:
    """The symmetric matrix of one triangle, which torch reads; both halves share its slope."""
    half = _turned(a) if upper else a
    whole = ted.tril(half) + _turned(ted.tril(half, -1))
    return _moved(whole, lambda x: 0.5 * (x + _turned(x)), a)


def _moved(value: Any, slope: Function, a: Any) -> Any:
    """A value with the slope of another function of a, parts of which may be anything."""
    other = slope(ted.where(ted.isfinite(a), a, 0.0))
    return ted.stop_gradient(value) + (other - ted.stop_gradient(other))


def _cholesky(a: Any, upper: bool = False) -> Any:
    return ted.linalg.cholesky(_of_triangle(a, upper), upper=upper)


def _factor_and_failure(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, and where there is none the number of its first pivot that is not above 0."""
    del check_errors
    factor = _cholesky(a, upper)
    fails = ~(ted.linalg.diagonal(factor) > 0)
    first = ted.argmax(ted.cast(fails, "int32"), -1) + 1
    return factor, ted.cast(ted.where(ted.any(fails, -1), first, 0), "int64")


def _spectral(function: Function) -> Function:
    return lambda a, UPLO="L": function(_of_triangle(a, UPLO in ("U", "u")))


def _matrix_norm(
    x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    axes = [k % x.ndim for k in dim]
    found = ted.linalg.matrix_norm(ted.moveaxis(_in(x, dtype), axes, (-2, -1)), ord=ord)
    return ted.expand_dims(found, tuple(axes)) if keepdim else found


def _norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    x = _in(x, dtype)
    axes = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    if ord is not None and len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdim)
    return _vector_norm(x, 2 if ord is None else ord, axes, keepdim)


def _vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Not the binding's, which has no slope where all is 0."""
    axes = tuple(dim or range(x.ndim))
    return ted.linalg.vector_norm(_in(x, dtype), axis=axes, ord=ord, keepdims=keepdim)


def _in(x: Any, dtype: Any) -> Any:
    """A tensor in the type of torch that it is computed with."""
    return x if dtype is None else ted.cast(x, str(dtype).removeprefix("torch."))


def _pinv(
    a: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    if atol is not None:
        fail("from_exported: linalg.pinv must have a relative tolerance, got atol; give rtol")
    if hermitian:  # of the lower triangle, with the slope of any matrix
        a = _moved(ted.tril(a) + _turned(ted.tril(a, -1)), lambda x: x, a)
    return ted.linalg.pinv(a, rcond if rtol is None else rtol)


def _by_any_driver(function: Function) -> Function:
    def call(*args: Any, driver: Any = None) -> Any:
        del driver  # of a library that is not called
        return function(*args)

    return call


def _logdet(a: Any) -> Any:
    sign, size = ted.linalg.slogdet(a)
    return ted.where(sign < 0, ted.nan, size)


_LINEAR: Mapping[Any, Function] = {
    aten.linalg_solve.default: _solved, aten.linalg_solve_triangular.default: _triangle,
    aten.triangular_solve.default: _triangle_before, aten.cholesky_solve.default: _by_cholesky,
    aten.cholesky_inverse.default: _inverse_by_cholesky,
    aten.linalg_inv.default: ted.linalg.inv, aten.inverse.default: ted.linalg.inv,
    aten.linalg_det.default: ted.linalg.det, aten.det.default: ted.linalg.det,
    aten.linalg_slogdet.default: ted.linalg.slogdet, aten.slogdet.default: ted.linalg.slogdet,
    aten.logdet.default: _logdet,
    aten.linalg_cholesky.default: lambda a, *, upper=False: _cholesky(a, upper),
    aten.cholesky.default: _cholesky, aten.linalg_cholesky_ex.default: _factor_and_failure,
    aten.linalg_eigh.default: _spectral(ted.linalg.eigh),
    aten.linalg_eigvalsh.default: _spectral(ted.linalg.eigvalsh),
    aten.linalg_svd.default: _by_any_driver(ted.linalg.svd),
    aten.linalg_svdvals.default: _by_any_driver(ted.linalg.svdvals),
    aten.linalg_qr.default: _qr, aten.linalg_lu.default: _lu,
    aten.linalg_lu_factor.default: lambda a, **options: _lu_factor(a, **options)[:2],
    aten.linalg_lu_factor_ex.default: _lu_factor, aten.lu_unpack.default: _unpacked,
    aten.linalg_lu_solve.default: _solved_by_lu,
    aten.linalg_householder_product.default: ted.linalg.householder_product,
    aten.linalg_matrix_exp.default: ted.linalg.expm, aten.matrix_exp.default: ted.linalg.expm,
    aten.linalg_pinv.atol_rtol_float: _pinv, aten.linalg_pinv.atol_rtol_tensor: _pinv,
    aten.linalg_pinv.default: _pinv, aten.pinverse.default: _pinv,
    aten.linalg_matrix_power.default: ted.linalg.matrix_power,
    aten.linalg_matrix_norm.default: _matrix_norm, aten.linalg_matrix_norm.str_ord: _matrix_norm,
    aten.linalg_norm.default: _norm, aten.linalg_norm.ord_str: _norm,
    aten.linalg_vector_norm.default: _vector_norm,
    aten.linalg_cond.default: ted.linalg.cond, aten.linalg_cond.p_str: ted.linalg.cond,
}  # fmt: skip

_NAMES = {
    "i0": "i0", "special_i0": "i0", "special_i0e": "i0e", "special_i1": "i1", "special_i1e": "i1e",
    "erfinv": "erfinv", "special_erfinv": "erfinv", "special_erfcx": "erfcx",
    "special_ndtri": "ndtri", "special_log_ndtr": "log_ndtr", "igamma": "gammainc",
    "special_gammainc": "gammainc", "igammac": "gammaincc", "special_gammaincc": "gammaincc",
    "special_zeta": "zeta", "polygamma": "polygamma", "special_polygamma": "polygamma",
    "special_bessel_j0": "j0", "special_bessel_j1": "j1", "special_modified_bessel_i0": "i0",
    "special_modified_bessel_i1": "i1", "special_xlog1py": "xlog1py",
}  # fmt: skip
_OF_NUMBERS = {
    aten.xlogy.Tensor: "xlogy", aten.xlogy.Scalar_Self: "xlogy", aten.xlogy.Scalar_Other: "xlogy",
    aten.special_xlog1py.self_scalar: "xlog1py", aten.special_xlog1py.other_scalar: "xlog1py",
    aten.special_zeta.self_scalar: "zeta", aten.special_zeta.other_scalar: "zeta",
}  # fmt: skip

ALGEBRA: Mapping[Any, Function] = {
    **_LINEAR,
    **{getattr(aten, name).default: getattr(ted.special, own) for name, own in _NAMES.items()},
    **{operator: getattr(ted.special, own) for operator, own in _OF_NUMBERS.items()},
}
