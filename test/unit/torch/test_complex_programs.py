"""Exported programs with complex numbers: values, and gradients as torch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
import ted.torch
from ted.errors import FrontendError
from ted.torch import complex_graphs

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

_GENERATOR = torch.Generator().manual_seed(3)
X = torch.randn(2, 4, generator=_GENERATOR, dtype=torch.float64)
Z = torch.randn(2, 4, generator=_GENERATOR, dtype=torch.complex128)
WINDOW = torch.tensor([0.5, 1.0], dtype=torch.float64)
AT = torch.tensor([[0], [1]])


class Rotary(torch.nn.Module):
    """Neighbours are turned by angles that a buffer holds, then scaled by a complex parameter."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.arange(4, dtype=torch.float64).reshape(2, 2)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.scale = torch.nn.Parameter(Z[0, :2].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The turned rows."""
        z = torch.view_as_complex(x.reshape(2, 2, 2)) * self.get_buffer("turns") * self.scale
        return torch.view_as_real(z).flatten(-2)


class Program(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        """What the function gives."""
        return self.function(*args)


def _spectral(x: torch.Tensor) -> Any:
    spectrum = torch.fft.rfft(x) * (1 + 2j)
    return torch.fft.irfft(spectrum, n=4), (spectrum @ spectrum.mH).real, spectrum.abs()


def _moved(z: torch.Tensor) -> Any:
    rows = torch.cat([z, z.flip(0) * 1j]).transpose(0, 1).unbind(0)[1]
    return torch.where(rows.real > 0, rows, rows / (z[0] + 3)) + z.sum(0).exp().to(z.dtype)


class Spectral(torch.nn.Module):
    """The layer of a Fourier neural operator: low frequencies are written into zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(Z[:, :2].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A filtered signal."""
        spectrum = torch.fft.rfft(x)
        low = torch.zeros(2, 3, dtype=spectrum.dtype, device=x.device)
        low[:, :2] = torch.einsum("bx,ox->ox", spectrum[:, :2], self.scale)
        return torch.fft.irfft(low, n=x.shape[-1]) + torch.fft.irfft(spectrum.abs())[:, :4]


def _windows(x: torch.Tensor) -> Any:
    """Spectra at times, with a window shorter than they are, and what is a number everywhere."""
    window = torch.hann_window(3, dtype=x.dtype)
    z = torch.stft(
        x.reshape(8), 4, 2, 3, window, center=False, normalized=True, return_complex=True
    )
    turns = torch.exp(1j * torch.fft.fftfreq(3, dtype=x.dtype)) + torch.full((3,), 2j)
    return torch.cat([z * turns, z.abs()]), z.norm(), torch.sigmoid(z).prod(0)


def _restored(z: torch.Tensor) -> Any:
    """A signal of spectra, by a window that is too short for the last of its length."""
    rest = torch.fft.hfft2(z)[:, :2].sum(), torch.fft.ihfftn(z.real, norm="ortho"), z.std(1)
    return torch.istft(z, 2, 1, window=WINDOW, length=5, normalized=True), *rest


def _systems(z: torch.Tensor) -> Any:
    """A matrix whose rows are exchanged; a triangle, spreads and means."""
    low = torch.linalg.solve_triangular(z, z[:, :2], upper=False, unitriangular=True)
    solved = torch.linalg.solve(z, z[:, 0]), torch.linalg.solve(z, z.mH, left=False)
    return torch.linalg.det(z), *torch.linalg.slogdet(z), low, *solved, *torch.var_mean(z, 1)


PROGRAMS: dict[str, tuple[torch.nn.Module, torch.Tensor]] = {
    "rotary embeddings": (Rotary(), X),
    "spectra": (Program(_spectral), X),
    "a spectral layer": (Spectral(), X),
    "windows": (Program(_windows), X),
    "signals of windows": (Program(_restored), Z),
    "powers of matrices": (Program(lambda z: torch.matrix_exp(z[:, :2])), Z),
    "systems": (Program(_systems), torch.cat([Z, Z.flip(1) * 1j])[:3, :3].clone()),
    "moves and choices": (Program(_moved), Z),
    "transforms of pairs": (Program(lambda z: torch.fft.ifft2(torch.fft.fftn(z).conj() * z)), Z),
}


def _parts(results: Any) -> list[Any]:
    found = results if isinstance(results, (tuple, list)) else (results,)
    return [p for z in found for p in ((z.real, z.imag) if _is_complex(z) else (z,))]


def _is_complex(z: Any) -> bool:
    return "complex" in str(z.dtype)


def _size(results: Any) -> Any:
    """A number of all results in which no two parts count alike."""
    return sum((r * (0.5 + k) + r * r / 4).sum() for k, r in enumerate(_parts(results)))


_SLOW = ("windows", "signals of windows", "powers of matrices", "systems")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in _SLOW else ()) for n in PROGRAMS]
)
def test_values_and_derivatives_of_orders_1_and_2_are_those_of_torch(name: str) -> None:
    model, given = PROGRAMS[name]
    read = ted.torch.from_exported(torch.export.export(model, (given,)))
    array = given.numpy()

    def value(p: Any, x: Any) -> Any:
        return sum(ted.sum(r * (0.5 + k) + r * r / 4) for k, r in enumerate(_parts(read(p, x))))

    def slope(p: Any, x: Any) -> Any:
        return sum(ted.sum(r * r) for r in _parts(ted.grad(value, 1)(p, x)))

    x = given.clone().requires_grad_()
    wanted = model(x)
    for ours, theirs in zip(_parts(ted.function(lambda x: read(read.params, x))(array)),
                            _parts(wanted), strict=True):  # fmt: skip
        np.testing.assert_allclose(ours, theirs.detach().resolve_neg(), rtol=1e-12, atol=1e-12)
    leaves = [x, *model.parameters()]
    first, *of_parameters = torch.autograd.grad(_size(wanted), leaves, create_graph=True)
    (second,) = torch.autograd.grad(sum((r * r).sum() for r in _parts(first)), [x])
    found, own = ted.function(ted.grad(value, (0, 1)))(read.params, array)
    first = first.detach().resolve_conj().resolve_neg()
    np.testing.assert_allclose(own, first, rtol=1e-10, atol=1e-10)
    for parameter in of_parameters:
        np.testing.assert_allclose(found["scale"], parameter.detach().resolve_conj(), rtol=1e-10)
    twice = ted.function(ted.grad(slope, 1))(read.params, array)
    np.testing.assert_allclose(twice, second.resolve_conj().resolve_neg(), rtol=1e-9, atol=1e-9)


def _holed(z: torch.Tensor) -> torch.Tensor:
    return torch.complex(z.real.log(), 1 / (z.imag - z.imag))  # NaN and infinities


def _factors(z: torch.Tensor) -> Any:
    square = z[:, ::3]
    return torch.linalg.det(square), torch.linalg.inv(square), *torch.linalg.lu_factor(z)


def test_an_operator_of_complex_numbers_alone_has_the_values_of_torch() -> None:
    model = Program(lambda z: (torch.nan_to_num(_holed(z), 1.0, 2.0), *_restored(z), *_factors(z)))
    read = ted.torch.from_exported(torch.export.export(model, (Z,)))
    found = ted.function(lambda z: read(read.params, z))(Z.numpy())
    for ours, theirs in zip(found, model(Z), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_what_torch_cannot_take_apart_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(complex_graphs.FUNCTIONS, "nan_to_num")
    program = torch.export.export(Program(torch.nan_to_num), (Z,))
    with pytest.raises(FrontendError, match=r"nan_to_num.default of complex numbers"):
        ted.torch.from_exported(program)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda z: torch.linalg.eigh(z[:, :2])[0], "linalg_eigh.*of complex numbers"),
        (lambda z: torch.nn.functional.pad(z, (1, 1), value=2.0), "pad.*of complex numbers"),
        (lambda z: torch.constant_pad_nd(z, (1, 1), 2), "pad_nd.* of complex numbers"),
        (lambda z: z.scatter(1, AT, 2.0), "scatter.value of complex numbers"),
    ],
)
def test_what_pairs_cannot_do_is_named(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(FrontendError, match=said):
        ted.torch.from_exported(torch.export.export(Program(function), (Z,)))
