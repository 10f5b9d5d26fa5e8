"""Operators of torch that are functions of ted: values at special points, slopes of two orders."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.utils._pytree import tree_leaves

import ted
import ted.torch
from ted.frontend.trees import flatten
from ted.torch.kept_operators import OPERATORS
from unit.torch.programs import Call

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


NAN, INF = float("nan"), float("inf")
NANS = torch.full((2, 3), NAN)
ENDS = torch.tensor([[NAN, 1.0, -0.0, INF, 0.5], [2.5, -INF, 2.0, -3.0, NAN]])
MATRICES, SORTED = draw(2, 2, 4).float(), torch.tensor([[-1.0, 1, 1, 2], [0.0, 1, 2, 3]])


def _pools(x: torch.Tensor) -> tuple[Any, ...]:
    return (
        functional.max_pool1d(x, 2, return_indices=True),
        functional.max_pool2d(x[None], (2, 3), 1, (1, 1), return_indices=True),
        functional.max_pool3d(x[None, None], (1, 2, 2), return_indices=True, ceil_mode=True),
        functional.adaptive_max_pool2d(x[None], (1, 2), return_indices=True),
    )


def _orders(x: torch.Tensor) -> tuple[Any, ...]:
    return (
        x.median(), x.median(1), x.nanmedian(), x.nanmedian(0, keepdim=True), x.kthvalue(2, 1),
        x.mode(1)[0][1:], x.cummax(1), x.cummin(0), x.amax(0), x.max(),
        torch.sort(x, dim=1, descending=True, stable=True),
        torch.argsort(x, dim=1, stable=True), x[0, 0].cummax(0), x[:, :0].cummin(0), x[:0].median(),
    )  # fmt: skip


def _by_factors(a: torch.Tensor, b: torch.Tensor) -> tuple[Any, ...]:
    packed, places = torch.linalg.lu_factor(a)
    return (
        torch.linalg.lu_solve(packed, places, b),
        torch.linalg.lu_solve(packed, places, b.mT, left=False, adjoint=True),
        torch.linalg.lu_solve(packed, places, b, adjoint=True),
        *(torch.lu_unpack(*torch.linalg.lu_factor(m)) for m in (b, b.mT)),
    )


AT_ENDS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "sums that leave out an argument": (
        lambda x, a, b: (
            torch.addmm(x, a[0], b[0], beta=0), torch.baddbmm(x, a, b, beta=0, alpha=2),
            torch.addbmm(x, a, b, beta=0), torch.addmv(x[:, 0], a[0], b[0, :, 0], beta=0),
            torch.addr(x, a[0, :, 0], b[0, 0], beta=0), torch.addmm(b[0, :2], x, b[1, 1:], alpha=0),
            torch.addmm(b[0, 0], a[0], b[0], alpha=0),
            torch.addmm(x[0], a[0], b[0], beta=0, alpha=0),
        ),
        (NANS, MATRICES, draw(2, 4, 3).float()),
    ),
    "cosines of short vectors": (
        lambda x: functional.cosine_similarity(x, 1e9 * x), (1e-9 * draw(3, 4),),
    ),
    "deviations of few": (
        lambda x: (
            x.var(0, correction=2), x.std(0, correction=5), torch.var_mean(x[:0], 0),
            torch.std_mean(x[0, 0]), torch.var(x, unbiased=False), x[0].var(correction=3),
        ),
        (MATRICES[0],),
    ),
    "pools": (_pools, (torch.stack([ENDS[:, :4], NANS[:, :1].expand(2, 4), 0 * SORTED - INF]),)),
    "orders": (_orders, (ENDS,)),
    "places": (
        lambda a, x: (
            torch.searchsorted(a, x, right=True), torch.bucketize(x, a[0], out_int32=True),
            torch.searchsorted(a[1], 1.5, side="right"), torch.bucketize(1.0, a[0]),
            torch.searchsorted(a, x, sorter=torch.arange(4).expand(2, 4)),
        ),
        (SORTED, ENDS),
    ),
    "remainders and tests": (
        lambda x: (
            torch.fmod(x, INF), torch.fmod(x, -2.0), torch.remainder(7.5, x), x.roll(3),
            x.isfinite(), x.isnan().roll(-1), x.isinf(),
            torch.fmod(x.nan_to_num(9).clamp(-9, 9).long(), -4),
            x.signbit(), torch.logaddexp(x, x), torch.logaddexp2(x.flip(1), x),
        ),
        (ENDS,),
    ),
    "large integers": (
        lambda x: (
            x // 3, x // -3, torch.div(x, 3, rounding_mode="trunc"), x**2, x | 1, x ^ 5,
            torch.div(x, -3, rounding_mode="floor"), torch.floor_divide(x, x + 1), x**0.5,
            torch.gcd(x, x[3:4] * 4), torch.lcm(x[3:], x[2]), torch.fmax(x, x[:, None]),
            x ** (x.clamp(-9, 9) % 5), x.clamp(-1, 1) ** (x[3:4] // 2), 2 ** x.clamp(-9, 9),
            functional.max_pool2d(x[None, None, 1:].reshape(1, 2, 2), 2, return_indices=True),
            x[1].scatter(0, x[4], x[0]), x[2].scatter_reduce(0, x[4], x[3], "mean"),
        ),
        (torch.tensor([2**62 + 1, -(2**61) - 2, 7, -7, 0]),),
    ),
    "along a dim of a scalar": (
        lambda x: (
            x.softmax(0), x.log_softmax(0), x.cumsum(0), x.prod(0), x.max(0), x.argmax(),
            x.sort(), x.mode(),
            functional.rms_norm(ENDS, (5,)), functional.rms_norm(x * 0 * SORTED, (4,), SORTED[0]),
            functional.rms_norm(SORTED.half() / 64, (4,)),
            1e6 * functional.rms_norm(MATRICES.double(), (4,)),
        ),
        (torch.tensor(-2.5),),
    ),
    "reads and writes at indices": (
        lambda x, at: (
            x.as_strided((2, 3), (3, 2)), (x * 2).as_strided((3, 2), (0, 3), 1),
            x.scatter_reduce(1, at, x, "mean"), x.put(at[0] - 4, x[0, :3], accumulate=True),
            x.scatter_reduce(0, at[:, :2] % 2, x, "mean", include_self=False),
            x.index_reduce(-1, at[0], x[:, :3], "prod"), (0 * x).scatter(-1, at, x[:, :3]),
            x.scatter(-1, at, x, reduce="multiply"), x.scatter(1, at, 2.0, reduce="add"),
            functional.max_unpool1d(x[:, :2], at[:, ::2], 3, 1), x[0, 0].index_reduce(
                0, at[0, :1], x[0, 1], "prod"
            ),
            torch.histc(x, 3, -2, 2),
            torch.histc(x, 3), torch.histc(0 * x, 2),
            torch.histc(torch.arange(1, 11, 3) / 10, 3), (9 * x).long().index_reduce(
                0, at[1, :2] % 2, at.new_full((2, 4), -9), "amax", include_self=False
            ),
            (8 * x).long().scatter_reduce(1, at, (9 * x).long(), "mean"),
            functional.embedding_bag(at[0], x.T, at[1, :2] - 1, mode="mean", padding_idx=3),
            functional.embedding_bag(at, x.T, mode="max"),
            functional.embedding_bag(at, x.T, mode="sum", per_sample_weights=x[:, :3]),
        ),
        (SORTED + 0.25, torch.tensor([[0, 3, 3], [1, 3, 0]])),
    ),
    "shares and hinges": (
        lambda x, at: (
            functional.softmax(x, 1, dtype=torch.float64), at.softmax(0, dtype=torch.float32),
            functional.cross_entropy(x, at[:, 0], x[0].abs(), label_smoothing=0.1),
            functional.multi_margin_loss(x[:, :4], at[:, 0], 2, weight=x[0, :4]),
            functional.multilabel_margin_loss(x[:, :4], at, reduction="none"),
        ),
        (ENDS.nan_to_num(0.5, 1.0, -1.0), torch.tensor([[3, 0, -1, 1], [0, -1, 1, 2]])),
    ),
    "smoothed resizing": (
        lambda x: (
            functional.interpolate(x, (3, 2), mode="bilinear", antialias=True),
            functional.interpolate(x, scale_factor=(1.3, 0.4), mode="bicubic", antialias=True),
            functional.interpolate(x, 4, mode="bicubic", align_corners=True, antialias=True),
        ),
        (draw(1, 2, 4, 7),),
    ),
    "norms in a wider type": (
        lambda x: (
            torch.linalg.norm(x, dtype=torch.float64),
            torch.linalg.matrix_norm(x, dtype=torch.float64),
        ),
        (1e30 * SORTED,),
    ),
    "arithmetic": (
        lambda x, y: (
            torch.lerp(x, y, 0.5), torch.rad2deg(y), x**0.5, torch.floor_divide(x, 2.0),
            torch.div(x, 2.0, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc"),
            torch.fmax(x, y), torch.fmin(y, x), torch.frexp(y), torch.xlogy(x, 3.0),
            torch.xlogy(2, y), torch.special.xlog1py(x, 0.5), torch.dist(x[1, :1], x[0, 1:3]),
            torch.dist(x[:, 2], x[:, 2], 3), torch.diagonal_scatter(x, y[0, :2], -1 + 4, 0, 1),
        ),
        (ENDS, ENDS[:1].nan_to_num(3.0)),
    ),
    "special functions": (
        lambda x: (
            torch.special.i0(x), torch.special.i1e(x), torch.erfinv(x / 4), torch.special.ndtri(x),
            torch.igamma(x.abs(), 0 * x + 2), torch.special.zeta(x.abs() + 1, x.abs()),
            torch.polygamma(2, x.abs()), torch.special.log_ndtr(x), torch.special.erfcx(x),
            torch.special.bessel_j0(x), torch.special.modified_bessel_i1(x),
        ),
        (ENDS.nan_to_num(0.5, 1.0, -1.0),),
    ),
    "systems": (
        lambda a, b: (
            torch.linalg.solve(a, b), torch.linalg.solve(a, b.mT, left=False), torch.linalg.inv(a),
            torch.linalg.solve(a, b[:, :, 0]), torch.linalg.slogdet(a), torch.logdet(a[0]),
            torch.linalg.solve_triangular(a, b.mT, upper=True, left=False),
            torch.cholesky_solve(b, torch.linalg.cholesky(a @ a.mT)), torch.linalg.lu(a),
            torch.linalg.lu_factor(b), torch.linalg.lu(b.mT), torch.linalg.qr(a, mode="r")[1].abs(),
            torch.linalg.householder_product(b, b[:, 0]), *_by_factors(a, b),
        ),
        (draw(2, 3, 3), draw(2, 3, 2)),
    ),
    "factors": (
        lambda a: (
            torch.linalg.eigvalsh(a @ a.mT), torch.linalg.norm(a[0], "nuc"),
            torch.linalg.eigvalsh(a, UPLO="U"), torch.linalg.cholesky_ex(a + 5, upper=True)[1],
            torch.linalg.matrix_norm(a, 1, keepdim=True), torch.linalg.qr(a)[1].abs(),
            torch.linalg.pinv(a, rtol=1e-3), torch.linalg.pinv(a, hermitian=True),
        ),
        (draw(2, 3, 3),),
    ),
    "distances": (
        lambda x, y: (
            *(torch.cdist(x, y, p) for p in (0.0, 1.0, 2.0, 3.0)), torch.cdist(x, y[:, :0]),
            torch.cdist(y, y[0], INF), torch.pdist(y[0]), torch.cdist(x[..., 3:4], y[..., :1], 0.0),
        ),
        (ENDS[:, None], MATRICES.reshape(2, 2, 4)[..., [0, 1, 2, 3, 0]]),
    ),
}  # fmt: skip


SLOW = ("systems", "factors", "special functions", "distances")
NAMES = [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in AT_ENDS]


@pytest.mark.parametrize("name", NAMES)
def test_functions_agree_with_torch_at_special_values(name: str) -> None:
    function, args = AT_ENDS[name]
    f = ted.torch.from_exported(torch.export.export(Call(function), args))
    found = tree_leaves(ted.function(lambda *a: f({}, *a))(*[a.numpy() for a in args]))
    for one, other in zip(found, tree_leaves(function(*args)), strict=True):
        assert (one.dtype, one.shape) == (other.numpy().dtype, tuple(other.shape))
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


def test_rows_take_all_arguments_of_their_operator() -> None:
    schemas = {o: o._schema for o in OPERATORS if hasattr(o, "_schema")}
    assert len(schemas) > 100
    for operator, schema in schemas.items():
        given = [a for a in schema.arguments if not a.kwarg_only]
        named = {a.name: a for a in schema.arguments if a.kwarg_only}
        inspect.signature(OPERATORS[operator]).bind(*given, **named)


AT, aten = torch.tensor(0), torch.ops.aten
SLOPES: dict[str, Callable[..., Any]] = {
    "distances and pools": lambda x, y: (
        (x[:, None] - y).abs().sum(2).sqrt(), functional.max_pool1d(x, 2, return_indices=True)[0],
        (x - x.detach()).norm(3, 1), functional.normalize(x), functional.cosine_similarity(x, y),
    ),
    "sums and deviations": lambda x, y: (
        torch.addmm(x[:, :1], x, y.T, beta=2, alpha=0.5), torch.var_mean(x, 1), y.std(),
        torch.logaddexp2(x, y), torch.logaddexp(x, x.flip(0)), torch.maximum(x, x.flip(0)),
        torch.minimum(y, y.flip(0)), y.amax(1), y.min(),
    ),
    "writes and shares": lambda x, y: (
        x.scatter_reduce(0, y.abs().long() % 3, y, "mean"), x.softmax(0, dtype=torch.float64),
        x.index_reduce(1, y[0].abs().long() % 4, y, "prod", include_self=False),
        x.sum() + functional.huber_loss(x, x.detach()), functional.smooth_l1_loss(y, y[:1] + 0.2),
        torch.log_softmax(y, 1), x.index_reduce(1, y[0].abs().long() % 4, y, "amin"),
    ),
    "factors of one triangle": lambda x, y: (
        torch.linalg.cholesky(9 * torch.eye(3) + x[:, :3]), torch.diagonal_scatter(x, y[:, 0]),
        torch.linalg.cholesky_ex(9 * torch.eye(3) + y[:, :3], upper=True)[0], torch.dist(x, y),
        torch.linalg.eigh(torch.arange(3).diag() + 0.1 * x[:, 1:], UPLO="U")[1] ** 2,
    ),
    "one element, and copies of views": lambda x, y: (
        x[0, 0].scatter(0, AT, y[0, 0]), x[0, 1].scatter_add(0, AT, x[0, 2]), x[1, 1].gather(0, AT),
        x[1, 0].index_add(0, AT, y[1, 0], alpha=3), x[2, 0].scatter_reduce(0, AT, y[0, 0], "prod"),
        y[1, 1].index_select(0, AT), x[2, 2].scatter(0, AT[None], 2.0) * y[2, 2],
        aten.view_copy(aten.t_copy(x), [2, 6]), aten.unbind_copy(x)[1], aten.select_copy(y, 1, -1),
        aten.slice_copy(x, 1, 1, 3), aten.narrow_copy(y, 0, 1, 2),
    ),
    "orders": lambda x, y: (
        x.median(1)[0] * x.detach()[:, 1], y.nanmedian(), x.kthvalue(2, 0)[0], y.cummax(1)[0],
        x.sort(1)[0], y.mode(1)[0], torch.fmod(x, 0.3), y.roll(5),
    ),
}  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", SLOPES)
def test_functions_agree_with_torch_in_gradients_of_two_orders(name: str) -> None:
    function, args = SLOPES[name], (draw(3, 4), draw(4, 4)[1:].round())
    f = ted.torch.from_exported(torch.export.export(Call(function), args))
    given = [a.clone().requires_grad_() for a in args]
    total = sum((v * v.cos()).sum() for v in tree_leaves(function(*given)))
    first = torch.autograd.grad(total, given, create_graph=True)
    wanted = torch.autograd.grad(sum((t**3).sum() for t in first), given)

    def loss(*a: Any) -> Any:
        return sum(ted.sum(v * ted.cos(v)) for _, v in flatten(f({}, *a))[0])

    def curved(*a: Any) -> Any:
        return sum(ted.sum(t**3) for t in ted.grad(loss, (0, 1))(*a))

    found = ted.function(lambda *a: (*ted.grad(loss, (0, 1))(*a), *ted.grad(curved, (0, 1))(*a)))
    for one, other in zip(found(*[a.numpy() for a in args]), [*first, *wanted], strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-9, atol=1e-10)
