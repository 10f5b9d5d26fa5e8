"""Complex tensors against numpy, and their gradients against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from unit.frontend.complex_runs import interpreted

RANDOM = np.random.default_rng(5)


def drawn(*shape: int) -> Any:
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


Z, W, X = drawn(3, 4), drawn(3, 4), RANDOM.normal(size=(3, 4))
ROW = np.array([1, 2j, -0.5, 0])


def check(found: Any, expected: Any, far: float = 4e-15) -> None:
    """Equal in type, shape and, relative to the largest, in values."""
    for mine, other in zip(found, map(np.asarray, expected), strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape), other
        most = np.abs(other).max(initial=1.0)
        np.testing.assert_allclose(mine, other, rtol=far, atol=far * most)


def operators(xp: Any, z: Any, w: Any, x: Any) -> list[Any]:
    return [
        z + w, z - w, z * w, z / w, z + x, x + z, z - x, x - z, z * x, x * z, z / x, x / z,
        z + 1j, 1j - z, 2 * z, z / 2, 1 / z, x * 1j, x - 1j, 1j / x, x * ROW, ROW - z,
        z**3, z**0, z**-2, z**0.5, z**w, abs(x) ** z, -z, +z, abs(z), z == w, z != w, z == x,
        z == z.real, z @ w.T, x @ z.T, z.T @ x, z.real, z.imag, x.real, x.imag, z.T,
        z[1], z[:, ::2], z[..., None], z.reshape(4, 3), z.transpose((1, 0)), z.sum(), z.mean(0),
        z.conj(), z.sum(axis=1), xp.sum(z, axis=1), z.prod(axis=1), z.prod(), z.cumsum(axis=0),
        z.cumprod(axis=1), z.var(), z.std(axis=0), z.any(axis=0), z.all(), z.squeeze(),
    ]  # fmt: skip


def functions(xp: Any, z: Any, w: Any, x: Any) -> list[Any]:
    return [
        xp.concat([z, x]), xp.stack([z, w], axis=1), xp.where(x > 0, z, x), xp.where(x > 0, 1j, x),
        xp.einsum("ij,kj->ik", z, w), xp.einsum("ij,ij,kj->k", z, w, x), xp.outer(z[0], w[0]),
        xp.tensordot(z, w.T, 1), xp.vecdot(z, w), xp.vecdot(x, w), xp.vecdot(z, x),
        xp.roll(z, 1), xp.flip(z, axis=0), xp.tile(z, (2, 1)), xp.expand_dims(z, axis=0),
        xp.broadcast_to(z, (2, 3, 4)), xp.moveaxis(z, 0, 1), xp.take(z, np.array([2, 0]), axis=0),
        xp.tril(z), xp.trace(z @ w.T), xp.cumulative_sum(z, axis=1), xp.diff(z),
        *xp.unstack(z), *xp.broadcast_arrays(z[0], x), xp.zeros(2, dtype="complex64"),
        xp.full((2,), 1 - 2j, dtype=complex), xp.ones_like(z), xp.full_like(z, 1j),
        xp.eye(2, dtype=complex),
        xp.asarray(ROW), xp.asarray(z), xp.astype(z, np.complex64), xp.astype(x, xp.complex128),
        xp.count_nonzero(xp.asarray(ROW)), xp.isnan(z), xp.isfinite(z), xp.isinf(z),
        xp.square(z), xp.reciprocal(z), xp.real(z), xp.imag(x), xp.conj(x), xp.round(z, 1),
    ]  # fmt: skip


ELEMENTWISE = (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sign",
)  # fmt: skip


@pytest.mark.parametrize("program", [operators, functions])
def test_expressions_are_those_of_numpy(program: Any) -> None:
    found = interpreted(lambda *values: program(ted, *values), Z, W, X)
    check(found, program(np, Z, W, X), 3e-14)


def test_functions_are_those_of_numpy_near_their_branches_and_far_out() -> None:
    parts = [0.0, -0.0, 1e-9, 0.3, -0.7, 1.5, -2.5, 20.0, -40.0]
    points = np.array([complex(x, y) for x in parts for y in parts])
    for scale in (1.0, 1e-5):
        z = points * scale
        found = interpreted(lambda z: [getattr(ted, name)(z) for name in ELEMENTWISE], z)
        with np.errstate(all="ignore"):
            expected = [getattr(np, name)(z) for name in ELEMENTWISE]
        near = abs(z) < 0.5  # where numpy's log1p loses the real part
        size = np.log1p(z.real * (2 + z.real) + z.imag**2) / 2
        expected[ELEMENTWISE.index("log1p")].real[near] = size[near]
        for name, mine, other in zip(ELEMENTWISE, found, expected, strict=True):
            known = np.isfinite(other)
            mine, other = mine[known], other[known]
            far = np.abs(mine - other) / np.maximum(np.abs(other), 1e-300)
            assert far.max() < 2e-14, (name, z[known][far.argmax()], far.max())


def test_quotients_and_sizes_do_not_overflow() -> None:
    z = np.array([1e200 + 1e200j, 1e-200 - 1e-200j, 3 - 4j])
    check(interpreted(lambda z: [z / z, 1 / z, abs(z)], z), [z / z, 1 / z, abs(z)])
