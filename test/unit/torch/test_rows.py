"""Rows of the tables of torch's operators, by the interpreter: what torch gives of the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

import ted
from ted.errors import FrontendError
from ted.spectral import jacobi
from ted.torch.kept_algebra import ALGEBRA
from ted.torch.kept_functions import OF_ANY, OF_FLOATS
from ted.torch.kept_indices import INDICES, OF_ONE
from ted.torch.kept_orders import ORDERS
from unit.frontend.tracing import placeholders, run

aten = torch.ops.aten
TABLE = {**OF_ANY, **OF_FLOATS, **ALGEBRA, **INDICES, **OF_ONE, **ORDERS}


def draw(*shape: int) -> torch.Tensor:
    made = torch.Generator().manual_seed(3)
    return torch.randn(shape, generator=made, dtype=torch.float64)


A, B, X = draw(2, 3, 3), draw(2, 3, 2), draw(3, 4)
POSITIVE = A @ A.mT + torch.eye(3)
LOW = torch.linalg.cholesky(POSITIVE)
PACKED, PLACES = torch.linalg.lu_factor(A)
ONES = torch.tensor([0.3, 1.5, 4.0], dtype=torch.float64)
INDEX = torch.tensor([[0, 2, 1, 0]])
Case = tuple[Any, tuple[Any, ...], dict[str, Any]]


def case(operator: Any, *args: Any, **options: Any) -> Case:
    return operator, args, options


CASES: list[Case] = [
    case(aten.linalg_solve_triangular.default, LOW, B, upper=False),
    case(aten.linalg_solve_triangular.default, LOW, B.mT, upper=False, left=False),
    case(aten.linalg_solve_triangular.default, LOW.mT, B, upper=True, unitriangular=True),
    case(aten.triangular_solve.default, B, LOW, False),
    case(aten.triangular_solve.default, B, LOW, False, True),
    case(aten.cholesky_solve.default, B, LOW),
    case(aten.cholesky_solve.default, B, LOW.mT, True),
    case(aten.cholesky_inverse.default, LOW),
    case(aten.linalg_solve.default, A, B), case(aten.linalg_lu.default, A),
    case(aten.linalg_lu.default, B), case(aten.linalg_lu.default, B.mT),
    case(aten.linalg_lu_factor.default, A), case(aten.linalg_lu_factor_ex.default, B),
    case(aten.lu_unpack.default, PACKED, PLACES),
    case(aten.lu_unpack.default, *torch.linalg.lu_factor(B)),
    *(case(aten.linalg_lu_solve.default, PACKED, PLACES, B, adjoint=a) for a in (False, True)),
    *(case(aten.linalg_lu_solve.default, PACKED, PLACES, B.mT, left=False, adjoint=a)
      for a in (False, True)),
    case(aten.cholesky.default, POSITIVE), case(aten.cholesky.default, POSITIVE, True),
    case(aten.linalg_cholesky_ex.default, POSITIVE),
    *(case(aten.linalg_eigvalsh.default, POSITIVE[0] + torch.triu(A[0], 1), u) for u in "LU"),
    case(aten.logdet.default, POSITIVE), case(aten.linalg_pinv.default, A[0], 0.1, True),
    *(case(aten.linalg_matrix_norm.default, A, p, d, k)
      for p, d, k in ((1, (0, 2), False), (-1, (-1, 0), True))),
    case(aten.linalg_matrix_norm.str_ord, A), case(aten.linalg_norm.default, A),
    case(aten.linalg_norm.default, X, 1), case(aten.linalg_norm.default, X, 1, [0], True),
    case(aten.linalg_vector_norm.default, X, 3),
    case(aten.linalg_vector_norm.default, X, 1, [1], True),
    case(aten.linalg_vector_norm.default, X.float(), 2, [0], dtype=torch.float64),
    *(case(getattr(aten, n).default, ONES) for n in (
        "i0", "special_i0e", "special_i1", "special_i1e", "special_erfcx", "special_log_ndtr",
        "special_bessel_j0", "special_bessel_j1", "special_modified_bessel_i0",
        "special_modified_bessel_i1")),
    case(aten.special_ndtri.default, ONES / 8), case(aten.erfinv.default, ONES / 8),
    *(case(getattr(aten, n).default, ONES, ONES.flip(0)) for n in (
        "igamma", "igammac", "special_gammainc", "special_gammaincc", "special_xlog1py")),
    case(aten.special_zeta.default, ONES + 1, ONES), case(aten.polygamma.default, 2, ONES),
    case(aten.xlogy.Tensor, ONES, ONES.flip(0)),
    *(case(aten.addmm.default, X @ X.T, X, X.T, beta=b, alpha=a)
      for b, a in ((1, 1), (0.5, 2), (0, 2), (2, 0))),
    case(aten.baddbmm.default, B, A, B), case(aten.addmv.default, X[:, 0], X, X[0]),
    case(aten.addr.default, X, X[:, 0], X[0]), case(aten.addbmm.default, B[0], A, B, beta=2),
    *(case(aten.scatter.value, X[0, 0], 0, torch.tensor(0), v) for v in (2.5,)),
    case(aten.scatter_add.default, X[0, 0], 0, torch.tensor(0), X[0, 1]),
    case(aten.index_add.default, X[0, 0], 0, torch.tensor(0), X[0, 1], alpha=3),
    case(aten.gather.default, X[0, 0], 0, torch.tensor(0)),
    *(case(aten.scatter_reduce.two, X, 0, INDEX, X[:1], r, include_self=i)
      for r in ("sum", "prod", "mean", "amax", "amin") for i in (True, False)),
    case(aten.scatter.reduce, X, 0, INDEX, X[:1], reduce="multiply"),
    case(aten.diagonal_scatter.default, X, X[0, :3], 1),
    case(aten.diagonal_scatter.default, X, X[0, :2], -1),
    case(aten.histc.default, X, 4), case(aten.histc.default, X, 4, -1.0, 0.5),
    case(aten.as_strided.default, X, (2, 2), (4, 2), 1),
    case(aten.median.default, X), case(aten.nanmedian.default, X),
    case(aten.median.dim, X, 0), case(aten.median.dim, X, 1, True),
    case(aten.nanmedian.dim, torch.where(X > 1, torch.nan, X), 1),
    case(aten.kthvalue.default, X, 2), case(aten.kthvalue.default, X, 3, 0, True),
    case(aten.mode.default, X.round()[:, :3], 0), case(aten.cummax.default, X, 1),
    case(aten.cummin.default, X, 0), case(aten.sort.stable, X, stable=True, dim=0, descending=True),
    *(case(aten.searchsorted.Tensor, X.sort(1)[0], X, right=r) for r in (False, True)),
    case(aten.bucketize.Tensor, X, ONES - 1),
    *(case(aten.grid_sampler.default, draw(1, 2, 3, 3), draw(1, 2, 2, 2), m, p, c)
      for m, p, c in ((0, 0, False), (1, 1, True), (2, 2, False))),
]  # fmt: skip
CASES = [c for c in CASES if c[0] in TABLE]


def test_rows_give_what_torch_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one program; of eigenvectors and the like, whose signs are any, there is no case."""
    monkeypatch.setattr(jacobi, "_SWEEPS", 4)  # the interpreter makes every step
    tensors = [a for _, args, _ in CASES for a in args if isinstance(a, torch.Tensor)]
    counts: list[int] = []

    def program(*given: Any) -> list[Any]:
        left, results = iter(given), []
        for operator, args, options in CASES:
            own = [next(left) if isinstance(a, torch.Tensor) else a for a in args]
            found = ted.tree.leaves(TABLE[operator](*own, **options))
            counts.append(len(found))
            results += found
        return results

    found = iter(run(program, *(t.numpy() for t in tensors)))
    for (operator, args, options), count in zip(CASES, counts, strict=True):
        wanted = tree_leaves(operator(*args, **options))
        mine = [next(found) for _ in range(count)]
        for one, other in zip(mine, wanted, strict=True):
            assert one.shape == tuple(other.shape), (operator, options)
            np.testing.assert_allclose(
                one, other.numpy(), rtol=1e-8, atol=1e-12, err_msg=f"{operator} {args[1:]}"
            )


BAD = {
    "linalg.lu must have pivots": case(aten.linalg_lu.default, A, pivot=False),
    "linalg.lu_factor must have pivots": case(aten.linalg_lu_factor.default, A, pivot=False),
    "must have a relative tolerance": case(aten.linalg_pinv.atol_rtol_float, A, atol=0.1),
    "as_strided must stay in its tensor's 12": case(aten.as_strided.default, X, (2, 7), (6, 1)),
}


@pytest.mark.parametrize("text", BAD)
def test_refused_with_the_rule(text: str) -> None:
    operator, (a, *rest), options = BAD[text]
    with pytest.raises(FrontendError, match=text):
        TABLE[operator](*placeholders(a.numpy()), *rest, **options)
