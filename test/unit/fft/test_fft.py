"""Fourier transforms against numpy's, of every kind of length; gradients against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import FrontendError
from ted.fft import factors
from unit.frontend.complex_runs import interpreted

RANDOM = np.random.default_rng(3)


def drawn(*shape: int) -> Any:
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


def check(found: Any, expected: Any, far: float = 1e-13) -> None:
    """Equal in type, shape and, relative to the largest, in values."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=far * np.abs(expected).max(initial=1))


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_transforms_are_those_of_numpy(norm: str | None) -> None:
    z, x = drawn(2, 6), RANDOM.normal(size=(2, 6))
    lengths = (None, 1, 5) if norm == "ortho" else (None,)

    def program(fft: Any, z: Any, x: Any) -> list[Any]:
        return [
            *(f(z, n=n, norm=norm) for f in (fft.fft, fft.ifft, fft.irfft) for n in lengths),
            *(f(z, n=n, norm=norm) for f in (fft.hfft,) for n in lengths),
            *(f(x, n=n, norm=norm) for f in (fft.rfft, fft.ihfft, fft.fft) for n in lengths),
            fft.fft(z, axis=0, norm=norm), fft.irfft(x, norm=norm),
        ]  # fmt: skip

    found = interpreted(lambda *values: program(ted.fft, *values), z, x)
    for mine, other in zip(found, program(np.fft, z, x), strict=True):
        check(mine, other)


@pytest.mark.fast(6)
@pytest.mark.parametrize("n", [1, 3, 4, 5, 7, 2, 8, 27, 30, 12, 31, 49, 77])
def test_every_length_is_made_of_stages_and_of_a_convolution_where_it_is_prime(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factors, "STAGE", 4)  # as 32 for lengths that take longer
    monkeypatch.setattr(factors, "PRIME", 6)
    z = drawn(2, n)
    forward, back = interpreted(lambda z: [ted.fft.fft(z), ted.fft.ifft(z)], z)
    check(forward, np.fft.fft(z))
    check(back, np.fft.ifft(z))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 1009, 2 * 127])
def test_long_transforms_keep_their_digits(n: int) -> None:
    z = drawn(n)
    check(ted.function(ted.fft.fft)(z), np.fft.fft(z), 4e-15)
    check(ted.function(ted.fft.fft)(z.astype("c8")), np.fft.fft(z).astype("c8"), 2e-6)


def test_a_transform_is_a_few_equations() -> None:
    def equations(n: int) -> int:
        z = ted.complex(ted.placeholder((n,), "float64"), ted.placeholder((n,), "float64"))
        return str(ted.module(ted.tree.leaves(ted.fft.fft(z)))).count("yield")

    assert equations(16) <= 10
    assert equations(1000) <= 36
    assert equations(2**20) <= 50


def test_transforms_along_several_dims_are_those_of_numpy() -> None:
    z, x = drawn(3, 4, 5), RANDOM.normal(size=(3, 4, 5))

    def program(fft: Any, z: Any, x: Any) -> list[Any]:
        return [
            fft.fftn(z), fft.ifftn(z, axes=(0, 2)), fft.rfftn(x, axes=(1, 0)), fft.fft2(z),
            fft.irfftn(z, s=(4, 7), axes=(1, 2)), fft.ifft2(z), fft.rfft2(x), fft.irfft2(z),
            fft.fftn(x, s=(2, 6), axes=(2, 0), norm="ortho"), fft.fftshift(z), fft.ifftshift(z),
            fft.fftshift(x, axes=1), fft.ifftshift(x, axes=(0, 2)),
        ]  # fmt: skip

    found = interpreted(lambda *values: program(ted.fft, *values), z, x)
    for mine, other in zip(found, program(np.fft, z, x), strict=True):
        check(mine, other)


def test_extents_without_axes_are_those_of_the_last_dims() -> None:
    z = drawn(3, 4, 5)
    check(interpreted(lambda z: ted.fft.fftn(z, s=(2, 6)), z),
          torch.fft.fftn(torch.tensor(z), s=(2, 6)).numpy())  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_frequencies_are_those_of_numpy(n: int) -> None:
    found = interpreted(
        lambda: [ted.fft.fftfreq(n, 0.1, dtype="float64"), ted.fft.rfftfreq(n, dtype="float64")]
    )
    check(found[0], np.fft.fftfreq(n, 0.1))
    check(found[1], np.fft.rfftfreq(n))
    assert ted.fft.fftfreq(n).dtype.name == "float32"


def test_the_types_of_results() -> None:
    kinds = {"float16": "complex64", "int64": "complex64", "float64": "complex128"}
    for given, wanted in kinds.items():
        assert ted.fft.fft(ted.placeholder((4,), given)).dtype.name == wanted
    assert ted.fft.irfft(ted.placeholder((3,), "float32")).dtype.name == "float32"
    assert ted.fft.fft(np.ones(4, "c8")).dtype is ted.complex64
    assert ted.fft.fft(ted.placeholder((4,)), dim=0).shape == (4,)


# ------------------------------------------------------------------ gradients


def power(fft: Any, z: Any, w: Any) -> Any:
    """A real number of the spectrum of z * z and of the signal of a real spectrum."""
    spectrum = fft.fft(z * z)
    signal = fft.irfft(z[:4] * fft.rfft(abs(z) ** 2, 6), 7)
    return (w * (spectrum.real * spectrum.imag + abs(spectrum) ** 2)).sum() + (signal**3).sum()


def test_gradients_and_their_derivatives_are_those_of_torch() -> None:
    z, v, w = drawn(6), drawn(6), RANDOM.normal(size=6)
    first = ted.grad(lambda z, w: power(ted.fft, z, w))
    gradient, product = interpreted(
        lambda z, v, w: ted.jvp(lambda z: first(z, w), (z,), (v,)), z, v, w
    )
    x = torch.tensor(z, requires_grad=True)
    (expected,) = torch.autograd.grad(power(torch.fft, x, torch.tensor(w)), x, create_graph=True)
    check(gradient, expected.detach().numpy())
    (second,) = torch.autograd.grad(expected, x, torch.tensor(v))
    check(product, second.numpy())  # the Hessian of a real function is symmetric


def test_a_batch_of_gradients_is_one_program() -> None:
    z, w = drawn(3, 5), RANDOM.normal(size=5)

    def loss(z: Any, w: Any) -> Any:
        return ted.sum(w * abs(ted.fft.fft(z)) ** 2)

    found = interpreted(ted.vmap(ted.grad(loss), in_axes=(0, None)), z, w)
    check(found, 2 * 5 * np.fft.ifft(w * np.fft.fft(z)))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda f, z: f.fft(z, 0), "fft: a transform has at least 1 element .*, got n = 0"),
        (lambda f, z: f.fft(z[:0]), "at least 1 element .*, got n = 0"),
        (lambda f, z: f.irfft(z[:1]), "irfft: a transform has at least 1 element .*, got n = 0"),
        (lambda f, z: f.fft(z, 2.5), "fft: n: must be an integer, got 2.5"),
        (lambda f, z: f.ifft(z, axis=1), r"ifft: axis must be in \[-1, 1\), got 1"),
        (lambda f, z: f.fft(z, norm="unit"), "fft: norm: must be 'backward', .* got 'unit'"),
        (lambda f, z: f.hfft(z, norm="unit"), "hfft: norm: must be"),
        (lambda f, z: f.rfft(z), "rfft: takes a real signal, got a complex one; take ted.real"),
        (lambda f, z: f.rfftn(z), "rfft: takes a real signal"),
        (lambda f, z: f.ihfft(z), "ihfft: takes a real signal"),
        (lambda f, z: f.fft("signal"), "fft: takes tensors and arrays, got str"),
        (lambda f, z: f.fftn(3.0), "fftn: takes tensors and arrays, got float"),
        (lambda f, z: f.fftn(z, s=(2, 3), axes=(0,)), "fftn: takes one extent for each axis"),
        (lambda f, z: f.fftfreq(0), "fftfreq: a transform has at least 1 element"),
        (lambda f, z: f.fftfreq(4, 0), "fftfreq: the distance d is a number other than 0, got 0"),
        (lambda f, z: f.fft(ted.placeholder((ted.size("n"),))), "got the symbolic size n; say n="),
    ],
)
def test_what_has_no_transform_is_refused(program: Any, message: str) -> None:
    z = ted.complex(ted.placeholder((6,)), ted.placeholder((6,)))
    with pytest.raises(FrontendError, match=message) as caught:
        program(ted.fft, z)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
