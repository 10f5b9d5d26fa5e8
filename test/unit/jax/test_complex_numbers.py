"""Complex programs of JAX as pairs of ted: values, and derivatives, the conjugates of JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ted
import ted.jax
from ted.errors import VerifyError

_random = np.random.default_rng(0)
X = _random.normal(size=(2, 4)).astype(np.float32)
Z = (_random.normal(size=(2, 4)) + 1j * _random.normal(size=(2, 4))).astype(np.complex64)
AT = np.array([0, 1])


@jax.custom_vjp
def _own(z: Any) -> Any:
    return z * z


_own.defvjp(lambda z: (z * z, z), lambda z, g: (2 * z * g,))


def _turned(x: Any) -> Any:
    """Rotary positions: neighbours as the parts of numbers that are turned."""
    z = jax.lax.complex(x[:, ::2], x[:, 1::2]) * jnp.exp(1j * jnp.arange(4.0).reshape(2, 2))
    return jnp.stack([z.real, z.imag], -1).reshape(x.shape)


def _scanned(z: Any) -> Any:
    last, rows = jax.lax.scan(lambda c, r: (c * r + 1, c / (r + 2)), z[0], z)
    return jax.lax.cond(last[0].real > 0, lambda: rows * 2j, lambda: rows + last)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a filter": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * (1 + 2j), n=4), (X,)),
    "transforms": (lambda z: jnp.fft.ifft2(jnp.abs(jnp.fft.fftn(z)) * z), (Z,)),
    "turned pairs": (_turned, (X,)),
    "products": (lambda z, x: (z @ x.T + z @ z.T.conj(), jnp.prod(z, 1)), (Z, X)),
    "functions": (lambda z: jnp.exp(z) / jnp.sqrt(z) + jnp.sinh(z) * jnp.log(z).imag, (Z,)),
    "a loop and a branch": (_scanned, (Z,)),
    "moves": (lambda z: jnp.where(z[::-1].real > 0, jnp.pad(z, 1)[1:-1, :-2], 3j), (Z,)),
    "updates by data": (lambda z: jnp.asarray(z).at[AT].set(z * 1j).at[AT * 0].add(z), (Z,)),
    "nothing in front": (lambda z: jnp.concatenate([z[:, :0] + 1, z[:, 1:]], 1) * 1j, (Z,)),
    "systems": (lambda z: (jnp.linalg.solve(z[:, ::3], z), jnp.linalg.det(z[:, ::3])), (Z,)),
    "a gradient of its own": (lambda z: _own(z) * z, (Z,)),
}


def _parts(z: Any) -> list[Any]:
    return [z.real, z.imag] if z.dtype.kind in ("c", "complex") else [z]


def _flat(results: Any) -> list[Any]:
    found = results if isinstance(results, tuple) else (results,)
    return [part for z in found for part in _parts(z)]


def _size(results: Any) -> Any:
    """A number of all results in which no two parts count alike."""
    return sum((r * np.float32(0.5 + k) + r * r / 4).sum() for k, r in enumerate(_flat(results)))


def _slope(sum_of: Any, gradients: Any) -> Any:
    return sum_of(part * (1 + k) for k, g in enumerate(gradients) for part in _parts(g))


_LONG = ("transforms", "functions", "systems", "a loop and a branch")  # what is compiled at order 2


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in _LONG else ()) for n in PROGRAMS]
)
def test_values_and_derivatives_of_orders_1_and_2_are_those_of_jax(name: str) -> None:
    function, given = PROGRAMS[name]
    read = ted.jax.from_jaxpr(jax.make_jaxpr(function)(*given))
    own = tuple(range(len(given)))

    def value(*args: Any) -> Any:
        return sum(ted.sum(r * (0.5 + k) + r * r / 4) for k, r in enumerate(_flat(read(*args))))

    def slope(*args: Any) -> Any:
        found = ted.grad(value, own)(*args)
        return sum(ted.sum(p * (1 + k)) for k, g in enumerate(found) for p in _parts(g))

    def theirs(*args: Any) -> Any:
        found = jax.grad(lambda *a: _size(function(*a)), own)(*args)
        return _slope(lambda parts: sum(p.sum() for p in parts), map(jnp.conj, found))

    results = ted.function(lambda *args: read(*args))(*given)
    for ours, wanted in zip(_flat(results), _flat(function(*given)), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=2e-5)
    for ours, wanted in ((value, lambda *a: _size(function(*a))), (slope, theirs)):
        found = ted.function(ted.grad(ours, own))(*given)
        for a, b in zip(found, jax.grad(wanted, own)(*given), strict=True):
            np.testing.assert_allclose(a, np.conj(b), rtol=1e-4, atol=1e-4 * np.abs(b).max())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda z: jnp.linalg.eigvalsh(z[:, :2]), "custom_call.*lapack_cheevd"),
        (lambda z: jnp.asarray(z).at[AT].multiply(z), "must be a sum, or the new value"),
        (jnp.sort, "stablehlo.sort"),
    ],
)
def test_what_pairs_cannot_do_is_named(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(VerifyError, match=said):
        ted.jax.from_jaxpr(jax.make_jaxpr(function)(Z))
