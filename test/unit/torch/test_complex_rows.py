"""Rows of the tables of complex operators: what torch gives of the same, in one program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import fft, linalg

import ted.torch
from ted.torch.complex_graphs import _BY_PARTS, FUNCTIONS
from unit.frontend.complex_runs import interpreted
from unit.torch.programs import Call

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

aten = torch.ops.aten
MADE = torch.Generator().manual_seed(3)
Z = torch.randn(3, 4, generator=MADE, dtype=torch.complex128)
W = torch.randn(3, 4, generator=MADE, dtype=torch.complex128)
A = torch.randn(2, 3, 3, generator=MADE, dtype=torch.complex128)
X = torch.randn(3, 4, generator=MADE, dtype=torch.float64)
AT, TO = torch.tensor([2, 0]), torch.tensor([[0, 2, 1, 0]])
SPLIT = torch.tensor([0.5, 1.0, 0.25], dtype=torch.float64)


def _parts(z: Any, w: Any, at: Any, to: Any) -> list[Any]:
    """What is linear: moved, chosen, added, written."""
    return [
        aten.alias(z), torch.cat([z, w]), *torch.chunk(z, 2, 1), z.clone(), z.mT.contiguous(),
        aten.constant_pad_nd(z, (1, 0)), z.cumsum(1), z.detach(), torch.diag_embed(z[0], 1),
        torch.diagonal(z, 1), torch.diff(z, 1, 1), z[:1].expand(3, 4), z[:1].expand_as(w),
        z.flatten(), z.flip(1), z.gather(0, to), z[at], z.index_add(0, at, w[:2]),
        z.index_put((at,), w[:2]), z.index_select(0, at), aten.lift_fresh_copy(z), z.mT,
        z.mean(1), z.movedim(0, 1), z.narrow(1, 1, 2), -z, z.T, torch.nn.functional.pad(z, (0, 2)),
        z.permute(1, 0), z.repeat(1, 2), z.reshape(2, 6), z.roll(1, 1), z.scatter(0, to, w),
        z.scatter_add(0, to, w), z.select(1, 2), torch.select_scatter(z, w[:, 0], 1, 2), z[1:],
        torch.slice_scatter(z, w[:, 1:3], 1, 1, 3), *z.split(3, 1), *z.split([1, 3], 1),
        z[:1].squeeze(0), torch.stack([z, w]), z.sum(0), z.swapaxes(0, 1), z.t(), z.tile(2, 1),
        z.trace(), z.transpose(0, 1), z.tril(), z.triu(1), *z.unbind(0), z.unflatten(1, (2, 2)),
        z.unfold(1, 2, 2), z.unsqueeze(1), z.view(2, 6), z.select(0, 1) * 1,
    ]  # fmt: skip


def _elements(z: Any, w: Any, x: Any) -> list[Any]:
    names = (
        "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "reciprocal",
        "angle", "isnan", "isinf", "isfinite", "abs", "absolute", "sgn", "conj_physical", "rsqrt",
        "sigmoid", "nan_to_num", "resolve_conj",
    )  # fmt: skip
    return [
        *(getattr(torch, name)(z) for name in names), z.real, z.imag, z.conj().clone(),
        aten.conj(z) * 1,
        torch.ops.prims.convert_element_type(x, torch.complex128),
        torch.where(x > 0, z, w), z.cumprod(1), z * w, torch.multiply(z, x), z / w,
        torch.divide(x, z), z**w, z**2, z == w, torch.ne(z, w), torch.add(z, w, alpha=2),
        torch.sub(z, x, alpha=3j), z.prod(1, keepdim=True), z.masked_fill(x > 0, 2.0),
        z.to(torch.complex64), x.to(torch.complex128), aten._to_copy(z, dtype=torch.float64),
        aten.copy(z, x),
    ]  # fmt: skip


def _made(z: Any, x: Any) -> list[Any]:
    kind = {"dtype": torch.complex128, "device": "cpu"}
    return [
        z + torch.zeros(4, **kind), z + torch.zeros_like(z), z + z.new_zeros(4),
        *(torch.where(x < 9, z, e) for e in (
            torch.empty(4, **kind), torch.empty_like(z), z.new_empty(4),
            torch.empty_strided((3, 4), (4, 1), **kind), z.new_empty_strided((3, 4), (4, 1)))),
        torch.ones(4, **kind), torch.ones_like(z), z.new_ones(4), torch.full((3,), 2j, **kind),
        torch.full_like(z, 1 - 2j), z.new_full((2,), 3 + 1j), torch.scalar_tensor(2j, **kind),
        torch.eye(3, 4, **kind),
        torch.complex(x, -x), torch.polar(x, 2 * x), torch.view_as_complex(x.reshape(3, 2, 2)),
        torch.view_as_real(z),
    ]  # fmt: skip


def _products(z: Any, w: Any, a: Any) -> list[Any]:
    return [
        z.mT @ w, torch.mm(z, w.mT), torch.bmm(a, a), torch.mv(z, w[0]), torch.dot(z[0], w[0]),
        torch.outer(z[0], w[1]), torch.vdot(z[0], w[0]), z.mH, aten.matrix_H(z), z.adjoint(),
        torch.nn.functional.linear(z, w), torch.nn.functional.linear(z, w, w[0, :3]),
        torch.einsum("ij,kj->ik", z, w), linalg.vector_norm(z, 3, 0), linalg.vector_norm(z),
        linalg.vector_norm(z, 1, (0, 1), True),
    ]  # fmt: skip


def _matrices(a: Any, z: Any) -> list[Any]:
    b = z[:, :2]
    return [
        linalg.inv(a), torch.inverse(a), linalg.det(a), torch.det(a), *linalg.slogdet(a),
        *torch.slogdet(a), torch.logdet(a), *linalg.inv_ex(a), linalg.solve(a, b),
        linalg.solve(a, z[:2, :3]), linalg.solve(a, b.mT[None], left=False), *linalg.solve_ex(a, b),
        linalg.solve_triangular(a, b, upper=False), linalg.solve_triangular(a, b, upper=True),
        linalg.solve_triangular(a, b.mT, upper=True, left=False, unitriangular=True),
        *linalg.lu_factor(a), *linalg.lu_factor_ex(a), linalg.matrix_exp(a),
        torch.matrix_exp(a), linalg.matrix_power(a, 3),
    ]  # fmt: skip


def _transforms(z: Any, x: Any) -> list[Any]:
    names = [f"{i}{r}fft{n}" for i in ("", "i") for r in ("", "r", "h") for n in ("", "2", "n")]
    real = ("rfft", "ihfft")
    found = []
    for name in names:
        function, given = getattr(fft, name), x if name.startswith(real) else z
        size = 3 if name.endswith("t") else (2, 3)
        found += [function(given), function(given, size, norm="ortho")]
        found += [function(given, norm=norm) for norm in ("forward", "backward")]
        found.append(function(given, dim=0 if name.endswith("t") else (1, 0)))
    return [
        *found, fft.fftshift(z), fft.fftshift(z, 1), fft.ifftshift(z), fft.ifftshift(z, (1,)),
        fft.fftfreq(5, 2.0, dtype=x.dtype) + z[0, 0], fft.rfftfreq(5, 2.0, dtype=x.dtype) + z[0, 0],
    ]  # fmt: skip


def _windows(z: Any, x: Any, window: Any) -> list[Any]:
    stft, istft, flat = torch.stft, torch.istft, x.reshape(12)
    each: Any = {"return_complex": True}
    return [
        stft(flat, 4, center=False, **each), stft(flat, 4, 2, center=False, **each),
        stft(flat, 6, 3, 3, window, center=False, normalized=True, **each),
        stft(flat, 4, 2, onesided=False, **each), stft(z, 4, 3, center=False, **each),
        stft(x.reshape(2, 6), 5, 1, 3, window, center=False, onesided=True, **each),
        istft(z, 4, 2), istft(z, 4, 2, length=9), istft(z, 4, 2, center=False, length=5),
        istft(z, 4, 1, 3, window, normalized=True),
        istft(torch.cat([z, z[:1]]), 4, 1, onesided=False),
        istft(torch.cat([z, z[:1]]), 4, 1, onesided=False, return_complex=True),
        istft(z.reshape(1, 3, 4), 4, 1, 3, window),
    ]  # fmt: skip


def _spreads(z: Any) -> list[Any]:
    return [
        z.var(1), z.std(0, correction=0), z.std(), *torch.var_mean(z, 1, keepdim=True),
        *torch.std_mean(z),
    ]  # fmt: skip


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "what is linear": (_parts, (Z, W, AT, TO)), "elements": (_elements, (Z, W, X)),
    "made": (_made, (Z, X)), "products": (_products, (Z, W, A)), "matrices": (_matrices, (A, Z)),
    "transforms": (_transforms, (Z, X)), "windows": (_windows, (Z, X, SPLIT)),
    "spreads": (_spreads, (Z,)),
}  # fmt: skip


@functools.cache
def _exported(name: str) -> torch.export.ExportedProgram:
    function, tensors = PROGRAMS[name]
    return torch.export.export(Call(lambda *given: tuple(function(*given))), tensors)


def test_each_row_has_a_case() -> None:
    nodes = [node for name in PROGRAMS for node in _exported(name).graph.nodes]
    met = {str(getattr(node.target, "_opname", "")) for node in nodes}
    assert {*FUNCTIONS, *_BY_PARTS} - met == {"_conj_physical"}  # of torch, when it takes apart


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_give_what_torch_gives(name: str) -> None:
    function, tensors = PROGRAMS[name]
    read = ted.torch.from_exported(_exported(name))
    found = interpreted(lambda *given: read(read.params, *given), *(t.numpy() for t in tensors))
    for k, (one, other) in enumerate(zip(found, function(*tensors), strict=True)):
        assert (one.dtype, one.shape) == (
            other.resolve_conj().resolve_neg().numpy().dtype,
            tuple(other.shape),
        ), k
        np.testing.assert_allclose(
            one, other.resolve_conj().resolve_neg(), rtol=1e-10, atol=1e-10, err_msg=str(k)
        )
