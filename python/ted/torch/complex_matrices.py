"""Linear algebra of torch on complex matrices, by the names of its operators: a row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ted
from ted.frontend.complex_pairs import applied
from ted.raising import complex_algebra
from ted.raising.complex_algebra import by_block


def _solved(a: Any, b: Any, *, left: bool = True, **_: Any) -> Any:
    """The x with a x = b, or x a = b; b of one dim fewer than a, and its shape, is of vectors."""
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1])):
        return _solved(a, b[..., None], left=left)[..., 0]
    return complex_algebra.solve(a, b) if left else complex_algebra.solve(a.mT, b.mT).mT


def _triangle(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if not left:
        return _triangle(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    return complex_algebra.solve_triangular(a, b, not upper, unitriangular)


def _with_failure(function: Callable[..., Any]) -> Callable[..., Any]:
    """The result and that it has not failed."""

    def call(a: Any, *rest: Any, check_errors: bool = False, **named: Any) -> Any:
        del check_errors
        return function(a, *rest, **named), ted.zeros(a.shape[:-2], "int32")

    return call


def _factors(a: Any, **_: Any) -> Any:
    packed, places, _rows = complex_algebra.eliminated(a)
    return packed, places + 1


def _logdet(a: Any) -> Any:
    phase, size = complex_algebra.slogdet(a)
    return applied("add", applied("log", phase), size)


_INVERSES = dict.fromkeys(("linalg_inv", "inverse"), complex_algebra.inv)
_DETERMINANTS = dict.fromkeys(("linalg_det", "det"), complex_algebra.det)
_LOGARITHMS = dict.fromkeys(("linalg_slogdet", "slogdet"), complex_algebra.slogdet)

MATRICES: Mapping[str, Callable[..., Any]] = {
    **_INVERSES, **_DETERMINANTS, **_LOGARITHMS, "logdet": _logdet,
    "linalg_inv_ex": _with_failure(complex_algebra.inv), "linalg_solve": _solved,
    "linalg_solve_ex": _with_failure(_solved), "linalg_solve_triangular": _triangle,
    "linalg_lu_factor": _factors,
    "linalg_lu_factor_ex": lambda a, **_: (*_factors(a), ted.zeros(a.shape[:-2], "int32")),
    "linalg_matrix_exp": by_block(ted.linalg.expm), "matrix_exp": by_block(ted.linalg.expm),
    "linalg_matrix_power": by_block(ted.linalg.matrix_power),
}  # fmt: skip
