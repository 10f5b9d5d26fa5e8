"""Rows of the tables of torch's operators, by the interpreter: what torch gives of the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

import ted
import ted.torch
from ted.errors import FrontendError
from ted.spectral import jacobi
from ted.torch.kept_algebra import ALGEBRA
from ted.torch.kept_functions import OF_ANY, OF_FLOATS
from ted.torch.kept_indices import INDICES, OF_ONE
from ted.torch.kept_orders import ORDERS
from ted.torch.recording import pulled_back
from unit.frontend.tracing import placeholders, run

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

aten = torch.ops.aten
TABLE = {**OF_ANY, **OF_FLOATS, **ALGEBRA, **INDICES, **OF_ONE, **ORDERS}


def draw(*shape: int) -> torch.Tensor:
    made = torch.Generator().manual_seed(3)
    return torch.randn(shape, generator=made, dtype=torch.float64)


A, B, X = draw(2, 3, 3), draw(2, 3, 2), draw(3, 4)
POSITIVE = A @ A.mT + torch.eye(3)
LOW = torch.linalg.cholesky(POSITIVE)
SMALL, THIN = A[0, :2, :2], B[0, :, :1]
SQUARE = POSITIVE[0, :2, :2]
PACKED, PLACES = torch.linalg.lu_factor(A)
ONES = torch.tensor([0.3, 1.5, 4.0], dtype=torch.float64)
INDEX = torch.tensor([[0, 2, 1, 0]])
KINDS = ("bilinear", "bicubic")
Case = tuple[Any, tuple[Any, ...], dict[str, Any]]


def of(name: str) -> Any:
    """An operator by its name with the overload."""
    packet, overload = name.split(".")
    return getattr(getattr(aten, packet), overload)


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
    case(aten.linalg_solve.default, A, B), case(aten.linalg_solve.default, A, B[..., 0]),
    case(aten.linalg_solve.default, A[0], B[0, :, 0]),
    case(aten.linalg_solve.default, A, B.mT, left=False), case(aten.linalg_lu.default, A),
    case(aten.linalg_lu.default, B), case(aten.linalg_lu.default, B.mT),
    case(aten.linalg_lu_factor.default, A), case(aten.linalg_lu_factor_ex.default, B),
    case(aten.lu_unpack.default, PACKED, PLACES),
    case(aten.lu_unpack.default, *torch.linalg.lu_factor(B)),
    *(case(aten.linalg_lu_solve.default, PACKED, PLACES, B, adjoint=a) for a in (False, True)),
    *(case(aten.linalg_lu_solve.default, PACKED, PLACES, B.mT, left=False, adjoint=a)
      for a in (False, True)),
    case(aten.cholesky.default, POSITIVE), case(aten.cholesky.default, POSITIVE, True),
    case(aten.linalg_cholesky_ex.default, POSITIVE),
    *(case(aten.linalg_eigvalsh.default, SQUARE + torch.triu(SMALL, 1), u) for u in "LU"),
    case(aten.logdet.default, POSITIVE),
    case(aten.logdet.default, torch.diag(ONES - 1)), case(aten.logdet.default, SMALL),
    case(aten.linalg_pinv.default, SMALL, 0.1, True),
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

Y, FEW, POOLED = draw(3, 4) * 2 + X / 4, draw(2, 3), draw(1, 2, 4, 4, 4)
WHOLE, OTHERS = torch.tensor([[7, -7, 6], [0, 4, -9]]), torch.tensor([3, -2, 4])
ENDS = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0, 0.0, 2.5, -2.5], dtype=torch.float64)
CLASSES, LABELS = (
    torch.tensor([2, 0, 3]),
    torch.tensor([[1, 0, -1, 2], [3, -1, 0, 0], [0, 1, 2, 3]]),
)
IDS, OFFSETS = torch.tensor([0, 2, 1, 2]), torch.tensor([0, 1])
MAXIMA = torch.nn.functional.max_pool2d(POOLED[0], 2, return_indices=True)
MAXIMA_3D = torch.nn.functional.max_pool3d(POOLED, 2, return_indices=True)
SMALLER = ([2, 3], False, None, None)
CASES += [
    *(case(getattr(aten, n).default, A) for n in (
        "linalg_inv", "inverse", "linalg_det", "det", "linalg_slogdet", "slogdet")),
    *(case(getattr(aten, n).default, SMALL) for n in (
        "linalg_matrix_exp", "matrix_exp", "linalg_svdvals", "pinverse", "linalg_cond")),
    case(aten.linalg_cholesky.default, POSITIVE, upper=True),
    case(aten.linalg_cond.default, A, 1), case(aten.linalg_cond.p_str, A, "fro"),
    case(aten.linalg_householder_product.default, *torch.geqrf(A)),
    case(aten.linalg_matrix_power.default, A, -2), case(aten.linalg_norm.ord_str, SMALL, "nuc"),
    case(aten.linalg_pinv.atol_rtol_float, SMALL, rtol=0.5),
    case(aten.linalg_pinv.atol_rtol_tensor, SMALL),
    *(case(aten.linalg_qr.default, B, m) for m in ("reduced", "complete", "r")),
    case(aten.linalg_svd.default, SMALL, False), case(aten.linalg_svd.default, THIN, True),
    *(case(aten.linalg_eigh.default, SQUARE + torch.triu(SMALL, 1), u) for u in "LU"),
    *(case(getattr(aten, n).default, X) for n in (
        "digamma", "erfc", "lgamma", "fix", "trunc", "rad2deg", "relu6", "hardshrink",
        "softshrink", "hardtanh", "log_sigmoid", "gelu", "detach", "argsort", "sort", "angle",
        "pdist", "max", "min", "var", "std", "var_mean", "std_mean", "special_erfinv")),
    *(case(getattr(aten, n).default, ENDS) for n in (
        "isfinite", "isinf", "isnan", "signbit", "angle", "trunc")),
    case(aten.frexp.Tensor, X),
    case(aten.special_i0.default, ONES), case(aten.special_polygamma.default, 1, ONES),
    *(case(of(n), X, Y) for n in (
        "copysign.Tensor", "hypot.default", "logaddexp.default", "logaddexp2.default",
        "nextafter.default", "maximum.default", "minimum.default", "max.other", "min.other",
        "fmax.default", "fmin.default", "fmod.Tensor", "floor_divide.default", "clamp.Tensor",
        "clamp_min.Tensor", "clamp_max.Tensor", "cosine_similarity.default", "dist.default",
        "huber_loss.default", "smooth_l1_loss.default", "cdist.default")),
    case(aten.cosine_similarity.default, X, Y, 0, 9.0), case(aten.clamp.Tensor, X, Y, Y + 0.1),
    case(aten.huber_loss.default, X, Y, 2, 0.3), case(aten.smooth_l1_loss.default, X, Y, 0, 0.3),
    *(case(aten.cdist.default, A, B.mT, p) for p in (0.0, 1.0, 2.5, torch.inf)),
    *(case(aten.dist.default, X, Y, p) for p in (0.0, 1.0, 3.0, torch.inf)),
    *(case(aten.pdist.default, X, p) for p in (0.0, 1.0, 3.0, torch.inf)),
    case(aten._cdist_forward.default, A, B.mT, 2.0, None), case(aten._pdist_forward.default, X),
    *(case(getattr(aten, n).default, X, -0.5) for n in ("clamp", "clamp_min", "clamp_max")),
    case(aten.clamp.default, X, None, 0.5), case(aten.threshold.default, X, 0.2, 7.0),
    case(aten.hardshrink.default, X, 0.8), case(aten.softshrink.default, X, 0.2),
    case(aten.hardtanh.default, X, -0.1, 0.4), case(aten.gelu.default, X, approximate="tanh"),
    case(aten.fmod.Scalar, X, -0.4), case(aten.remainder.Scalar_Tensor, 7.5, X),
    *(case(aten.div.Tensor_mode, a, b, rounding_mode=r)
      for a, b in ((X, Y), (WHOLE, OTHERS)) for r in ("floor", "trunc", None)),
    case(aten.div.Scalar_mode, X, -0.3, rounding_mode="trunc"),
    case(aten.div.Scalar_mode, WHOLE, 4, rounding_mode="trunc"),
    case(aten.floor_divide.default, WHOLE, OTHERS), case(aten.gcd.default, WHOLE, OTHERS),
    case(aten.lcm.default, WHOLE, OTHERS), case(aten.bitwise_or.Scalar, WHOLE, 5),
    case(aten.bitwise_xor.Scalar, WHOLE, 5), case(aten.fmax.default, ENDS, ENDS.flip(0)),
    case(aten.fmin.default, ENDS, ENDS.flip(0)), case(aten.remainder.Scalar_Tensor, 7, OTHERS),
    *(case(aten.pow.Tensor_Scalar, ENDS, p) for p in (0.5, 2, -1, 3.0)),
    case(aten.pow.Tensor_Scalar, OTHERS, 3), case(aten.pow.Scalar, 2.5, X),
    case(aten.pow.Tensor_Tensor, ONES, X[:, 0]),
    *(case(aten.lerp.Scalar, X, Y, w) for w in (0.25, 0.75)),
    case(aten.lerp.Tensor, X, Y, X.sigmoid()),
    *(case(getattr(aten, n).default, X, [0], True) for n in ("amax", "amin")),
    *(case(getattr(aten, n).default, X) for n in ("amax", "amin")),
    *(case(getattr(aten, n).correction, X, [0], correction=c, keepdim=k)
      for n in ("var", "std", "var_mean", "std_mean") for c, k in ((0, True), (None, False))),
    *(case(getattr(aten, n).dim, X, [1], u, k)
      for n in ("var", "std", "var_mean", "std_mean") for u, k in ((False, True), (True, False))),
    *(case(getattr(aten, n).default, X, False) for n in ("var", "std", "var_mean", "std_mean")),
    *(case(of(n), X, d, *last) for d in (0, 1) for n, *last in (
        ("softmax.int",), ("log_softmax.int",), ("_softmax.default", False),
        ("_log_softmax.default", False))),
    case(aten.softmax.int, X.float(), 0, torch.float64),
    case(aten.log_softmax.int, X.float(), 1, torch.float64),
    *(case(aten.multi_margin_loss.default, X, CLASSES, p, 0.7, w, r)
      for p, w, r in ((1, None, 0), (2, None, 1), (1, ONES.new_tensor([1, 2, 3, 4]), 2))),
    case(aten.multi_margin_loss.default, X, CLASSES),
    *(case(aten.multilabel_margin_loss.default, X, LABELS, r) for r in (0, 1, 2)),
    case(aten.rms_norm.default, X, [4]), case(aten.rms_norm.default, X.float(), [3, 4]),
    case(aten.rms_norm.default, X, [4], Y[0], 0.5),
    case(aten.roll.default, X, [1]), case(aten.roll.default, X, [1, -2], [0, 1]),
    case(aten._reshape_copy.default, X, [2, 6]), case(aten.embedding.default, X, IDS),
    case(aten.embedding.default, X, IDS, 1),
    *(case(aten.max_pool1d_with_indices.default, POOLED[0, 0], *rest)
      for rest in (([3], [1], [1]), ([2], [2], [0], [2], True), ([2],))),
    *(case(aten.max_pool2d_with_indices.default, POOLED[0], *rest)
      for rest in (([2, 3], [1, 2], [1, 1]), ([2, 2],), ([2], [3], [0], [1], True))),
    *(case(aten.max_pool3d_with_indices.default, POOLED, *rest)
      for rest in (([2, 2, 1], [2, 1, 3]), ([2], [2], [1]))),
    case(aten.max_pool2d_with_indices.default, ENDS[None, None, :6].reshape(1, 2, 3), [1, 2]),
    case(aten.adaptive_max_pool2d.default, POOLED[0], [3, 2]),
    case(aten.adaptive_max_pool3d.default, POOLED, [3, 2, 1]),
    case(aten.max_unpool2d.default, *MAXIMA, [4, 4]),
    case(aten.max_unpool3d.default, *MAXIMA_3D, [4, 4, 4], [2, 2, 2], [0, 0, 0]),
    case(aten.argsort.stable, X, stable=True, dim=0, descending=True),
    case(aten.searchsorted.Scalar, X[0].sort()[0], 0.2), case(aten.bucketize.Scalar, 1.5, ONES),
    case(aten.searchsorted.Tensor, X, Y, sorter=X.argsort(1)),
    case(aten.searchsorted.Tensor, ONES, ONES, side="right"),
    case(aten.bucketize.Tensor, ONES, ONES, right=True),
    case(aten.kthvalue.default, X[0, 0], 1), case(aten.mode.default, X[0, 0]),
    case(aten.cummax.default, torch.tensor([1.0, 3, 3, torch.nan, 4]), 0),
    case(aten.cummin.default, X[0, 0], 0), case(aten.median.dim, ENDS, 0),
    case(aten.median.default, ENDS[1:]), case(aten.nanmedian.default, ENDS),
    case(aten.index_reduce.default, X, 1, IDS[1:], Y[:, :3], "amax", include_self=False),
    case(aten.index_reduce.default, X, -1, IDS[1:], Y[:, :3], "mean"),
    case(aten.index_reduce.default, X[0, 0], 0, torch.tensor([0]), X[0, 1], "prod"),
    case(aten.index_select.default, X[0, 0], 0, torch.tensor([0])),
    case(aten.scatter.src, X[0, 0], 0, torch.tensor(0), X[0, 1]),
    case(aten.scatter.value_reduce, X, 1, INDEX, 2.0, reduce="add"),
    case(aten.put.default, X, IDS, Y[0]), case(aten.put.default, X, IDS - 4, Y[0], True),
    case(aten.diagonal_scatter.default, POOLED[0], draw(2, 4, 4), 0, 1, 2),
    *(case(aten._embedding_bag.default, X, IDS, OFFSETS, False, m) for m in (0, 1, 2)),
    case(aten._embedding_bag.default, X, IDS, OFFSETS, False, 0, False, Y[0], False, 2),
    case(aten._embedding_bag_forward_only.default, X, IDS, torch.tensor([0, 1, 4]), False, 1,
         False, None, True),
    case(aten.embedding_bag.padding_idx, X, IDS, OFFSETS, False, 1, False, None, False, 2),
    case(aten.special_xlog1py.self_scalar, 2.0, ONES), case(aten.xlogy.Scalar_Self, 2.0, ONES),
    case(aten.special_xlog1py.other_scalar, ONES, 2.0), case(aten.xlogy.Scalar_Other, ONES, 2.0),
    case(aten.special_zeta.self_scalar, 2.5, ONES), case(aten.special_zeta.other_scalar, ONES, 2.0),
    *(case(getattr(aten, f"_upsample_{n}2d_aa").default, POOLED[0], *SMALLER) for n in KINDS),
    *(case(getattr(aten, f"_upsample_{n}2d_aa").default, POOLED[0], size, True)
      for n in KINDS for size in ([7, 2], [1, 7])),
    *(case(getattr(aten, f"_upsample_{n}2d_aa").vec, POOLED[0], None, False, [0.6, 1.7])
      for n in KINDS),
]  # fmt: skip
# Columns of any sign, which are compared without it; what nothing reads is not compared.
SIGNED = (aten.linalg_eigh.default, aten.linalg_svd.default, aten.linalg_qr.default)
BAGS = [operator for operator in INDICES if "embedding_bag" in str(operator)]


def test_each_row_has_a_case() -> None:
    assert {*TABLE} == {operator for operator, _, _ in CASES}


@pytest.mark.parametrize("operator", TABLE, ids=str)
def test_a_row_gives_what_torch_gives(monkeypatch: pytest.MonkeyPatch, operator: Any) -> None:
    monkeypatch.setattr(jacobi, "_SWEEPS", 3)  # the interpreter makes every step
    cases = [(args, options) for own, args, options in CASES if own is operator]
    tensors = [a for args, _ in cases for a in args if isinstance(a, torch.Tensor)]
    counts: list[int] = []

    def program(*given: Any) -> list[Any]:
        left, results = iter(given), []
        for args, options in cases:
            own = [next(left) if isinstance(a, torch.Tensor) else a for a in args]
            found = ted.tree.leaves(TABLE[operator](*own, **options))
            counts.append(len(found))
            results += found
        return results

    found = iter(run(program, *(t.numpy() for t in tensors)))
    for (args, options), count in zip(cases, counts, strict=True):
        wanted = tree_leaves(operator(*args, **options))
        mine = [next(found) for _ in range(count)]
        if operator in BAGS:
            mine, wanted = mine[:1], wanted[:1]
        if operator in SIGNED:
            mine, wanted = [*map(np.abs, mine)], [*map(torch.abs, wanted)]
        for one, other in zip(mine, wanted, strict=True):
            assert one.shape == tuple(other.shape), options
            np.testing.assert_allclose(
                one, other.numpy(), rtol=1e-8, atol=1e-12, err_msg=str(args[1:])
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


LAYERS: dict[str, tuple[torch.nn.Module, tuple[int, ...]]] = {
    "both directions, batches first": (
        torch.nn.LSTM(3, 2, 2, bidirectional=True, batch_first=True), (2, 3, 3),
    ),
    "two layers without biases": (torch.nn.GRU(3, 2, 2, bias=False), (3, 2, 3)),
    "both directions of one example": (torch.nn.GRU(3, 2, bidirectional=True), (4, 3)),
    "rectified": (torch.nn.RNN(3, 2, 2, nonlinearity="relu", bidirectional=True), (3, 2, 3)),
    "bent": (torch.nn.RNN(3, 2, batch_first=True), (2, 3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_what_torch_gives(name: str) -> None:
    layer, shape = LAYERS[name]
    model, x = layer.double(), draw(*shape)
    read = ted.torch.from_exported(torch.export.export(model, (x,)))
    found = run(lambda x: ted.tree.leaves(read(read.params, x)), x.numpy())
    for one, other in zip(found, tree_leaves(model(x)), strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-10, atol=1e-12)


def test_without_cotangents_there_are_no_gradients() -> None:
    assert pulled_back(None, [X, Y], [None, None], (True, False)) == (None, None)
