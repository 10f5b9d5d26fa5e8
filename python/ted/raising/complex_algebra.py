"""Linear algebra of complex matrices, by that of real ones where values allow it.

Before: z = solve(a + bi, c + di)      After: [x; y] = solve([[a, -b], [b, a]], [c; d])

What depends on phases, as determinants do, has an elimination of pairs.
Source of the derivatives: Giles, An Extended Collection of Matrix Derivative Results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ted
from ted.frontend.complex_pairs import Complex, applied
from ted.raising.complexes import each


def as_pair(x: Any) -> Complex:
    """A tensor as a complex one."""
    return x if isinstance(x, Complex) else Complex(x, ted.zeros_like(x))


def _block(z: Complex) -> Any:
    """The real matrix [[a, -b], [b, a]] of a + bi, of twice its size."""
    a, b = z.real, z.imag
    return ted.concatenate([ted.concatenate(row, -1) for row in ([a, -b], [b, a])], -2)


def by_block(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices that products of them say, as a power series, of complex ones."""

    def call(z: Any, *rest: Any) -> Any:
        n = z.shape[-1]
        left = function(_block(z), *rest)[..., :n]
        return Complex(left[..., :n, :], left[..., n:, :])

    return call


inv = by_block(ted.linalg.inv)


def solve(a: Any, b: Any) -> Any:
    """The x with a @ x = b, where either is complex; b is of matrices."""
    a, b = as_pair(a), as_pair(b)
    n = a.shape[-1]
    x = ted.linalg.solve(_block(a), ted.concatenate([b.real, b.imag], -2))
    return Complex(x[..., :n, :], x[..., n:, :])


def solve_triangular(a: Any, b: Any, lower: bool, unit_diagonal: bool = False) -> Any:
    """The same for what a triangle has; the others are not read."""
    a = each(ted.tril if lower else ted.triu, as_pair(a))
    if unit_diagonal:
        one = ted.eye(a.shape[-1], dtype=a.real.dtype)
        a = Complex(ted.where(one > 0, one, a.real), ted.where(one > 0, 0.0, a.imag))
    return solve(a, b)


def exchanged(rows: Any, k: Any, at: Any) -> Any:
    """The rows with two of them in each other's place."""
    return ted.where(rows == k, at, ted.where(rows == at, k, rows))


def eliminated(z: Complex) -> tuple[Any, Any, Any]:
    """L and U in one matrix, the row that each step takes, and the rows in their order.

    Pivots are LAPACK's: those of the greatest |real| + |imag|.
    """
    m, n = z.shape[-2:]
    rows, columns = ted.arange(m), ted.arange(n)

    def step(carry: Any, k: Any) -> Any:
        z, order = Complex(*carry[:2]), carry[2]
        sizes = ted.where(rows >= k, ted.abs(z.real[..., k]) + ted.abs(z.imag[..., k]), -1.0)
        at = ted.argmax(ted.stop_gradient(sizes), -1, keepdims=True)
        moved = exchanged(rows, k, at)
        order = ted.take_along_axis(order, moved, -1)
        z = each(lambda x: ted.take_along_axis(x, moved[..., None], -2), z)
        pivot, below = z[..., k, k], rows > k
        is_lost = (pivot.real == 0) & (pivot.imag == 0)
        safe = Complex(ted.where(is_lost, 1.0, pivot.real), pivot.imag)
        factor = each(lambda x: ted.where(below, x, 0.0), z[..., k] / safe[..., None])
        row = each(lambda x: ted.where(columns > k, x, 0.0), z[..., k, :])
        change = factor[..., :, None] * row[..., None, :]
        is_factor = below[:, None] & (columns == k)
        z = applied("where", is_factor, factor[..., :, None], z - change)
        return (z.real, z.imag, order), at[..., 0]

    start = (z.real, z.imag, ted.broadcast_to(rows, z.shape[:-1]))
    (real, imag, order), places = ted.scan(step, start, ted.arange(min(m, n)))
    return Complex(real, imag), ted.moveaxis(places, 0, -1), order


def slogdet(z: Any) -> tuple[Any, Any]:
    """The phase of the determinant, and the logarithm of its magnitude."""
    return Complex(*_phase(z.real, z.imag)), ted.linalg.slogdet(_block(z))[1] / 2


def det(z: Any) -> Any:
    """The determinant; of a matrix without an inverse its gradient is NaN."""
    return Complex(*_determinant(z.real, z.imag))


def _product(real: Any, imag: Any, each_pivot: Callable[[Any], Any]) -> tuple[Any, Any]:
    packed, places, _ = eliminated(Complex(real, imag))
    found = applied("prod", each_pivot(_diagonal(packed)), -1)
    found = found * _parity(places, real)
    return found.real, found.imag


# The derivatives are those of the values, and not of the elimination, as in `ted.linalg.det`.
@ted.custom_vjp
def _determinant(real: Any, imag: Any) -> tuple[Any, Any]:
    return _product(real, imag, lambda pivots: pivots)


@ted.custom_vjp
def _phase(real: Any, imag: Any) -> tuple[Any, Any]:
    return _product(real, imag, lambda pivots: applied("sign", pivots))


@_determinant.defvjp
def _determinant_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, Any]:
    return _along_inverse(inputs, Complex(*heads) * applied("conj", Complex(*outputs)))


@_phase.defvjp
def _phase_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, Any]:
    (a, b), (p, q) = outputs, heads
    turn = a * q - b * p  # how fast the head grows with the angle
    return _along_inverse(inputs, Complex(ted.zeros_like(turn), turn))


def _along_inverse(inputs: Any, scale: Complex) -> tuple[Any, Any]:
    """`scale` times the conjugate of the transposed inverse."""
    found = applied("conj", inv(Complex(*inputs))).mT * scale[..., None, None]
    return found.real, found.imag


def _diagonal(z: Complex) -> Complex:
    return each(ted.linalg.diagonal, z)


def _parity(places: Any, like: Any) -> Any:
    exchanges = ted.sum(ted.cast(places != ted.arange(places.shape[-1]), "int64"), -1)
    return ted.cast(1 - 2 * (exchanges % 2), like.dtype)
