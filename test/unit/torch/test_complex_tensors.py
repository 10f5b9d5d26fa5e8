"""Tensors of complex numbers go into operators and come out: gradients as torch has them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.func import grad, jvp, vmap

import ted
import ted.torch
from unit.torch.programs import assert_equal

GENERATOR = torch.Generator().manual_seed(2)
Z = torch.randn(2, 6, generator=GENERATOR, dtype=torch.complex128)
X = torch.randn(6, generator=GENERATOR, dtype=torch.float64)


@ted.torch.op
def filtered(z: Any, x: Any) -> Any:
    return ted.conj(ted.fft.fft(z)) * x + z * z


def torch_filtered(z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.fft.fft(z).conj() * x + z * z


def power(f: Any) -> Any:
    return lambda z, x: (f(z, x).abs() ** 2).sum()


def test_one_operator_takes_real_and_complex_tensors() -> None:
    for z in (Z.real, Z, Z.real, Z.conj(), Z.mT.contiguous().mT):
        assert_equal(filtered(z, X), torch_filtered(z, X))


def test_gradients_of_two_orders_are_those_of_torch() -> None:
    z, x = (t.clone().requires_grad_() for t in (Z, X))
    slopes = [
        torch.autograd.grad(power(f)(z, x), (z, x), create_graph=True)
        for f in (filtered, torch_filtered)
    ]
    assert_equal(*slopes)
    assert_equal(
        *(torch.autograd.grad((s[0].abs() ** 2).sum() + s[1].sum(), (z, x)) for s in slopes)
    )
    assert torch.autograd.gradgradcheck(filtered, (z[:, :3].detach().requires_grad_(), x[:3]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_transformations_take_complex_tensors() -> None:
    for transform in (
        lambda f: grad(power(f))(Z, X),
        lambda f: vmap(f, (0, None))(Z, X),
        lambda f: jvp(lambda z: f(z, X), (Z,), (1j * Z,)),
        lambda f: torch.compile(f, fullgraph=True, backend="aot_eager")(Z, X),
    ):
        assert_equal(transform(filtered), transform(torch_filtered))


def test_modules_have_complex_parameters_as_two() -> None:
    module = ted.torch.Module(lambda params, z: params["w"] * z, {"w": Z})
    assert list(module.state_dict()) == ["w.real", "w.imag"]
    assert_equal(module(Z), Z * Z)
