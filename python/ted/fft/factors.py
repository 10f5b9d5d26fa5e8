"""The discrete Fourier transform of rows, of any length, as products with constant matrices.

Before: X[k] = sum over j of x[j] w(j k / n), n = a b, j = b j1 + j2, k = k1 + a k2
After:  A[k1, j2] = sum over j1 of x[j1, j2] w(j1 k1 / a), times w(j2 k1 / n), then rows of length b

A stage is one contraction with a matrix of at most 32 x 32, or a prime up to 127, so a transform is
a few equations: 1024 = 32 * 32. Of a larger prime it is a convolution (L. Bluestein, 1970). Twiddle
factors are constants, computed in float64. Nothing here has a derivative of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ted
from ted.frontend.complex_pairs import type_of

STAGE = 32  # of larger matrices more elements are multiplied, of smaller ones more is compiled
PRIME = 128  # from here on a convolution is less than a matrix


def rows(z: Any, sign: int) -> Any:
    """The transform along the last dim of a complex or real tensor: sign -1 forward, 1 back."""
    n = z.shape[-1]
    if n <= STAGE or (n < PRIME and _divisor(n) is None):
        return ted.einsum("...j,kj->...k", z, _matrix(n, n, n, sign, z))
    a = _divisor(n)
    if a is None:
        return _convolved(z, sign)
    b = n // a
    z = ted.reshape(z, (*z.shape[:-1], a, b))
    first = _columns(z, sign) * _matrix(a, b, n, sign, z)
    # Elements of the result are k1 + a k2, so the last stage is written transposed.
    if b <= STAGE:
        last = ted.einsum("...kj,lj->...lk", first, _matrix(b, b, b, sign, z))
    else:
        last = ted.swapaxes(rows(first, sign), -1, -2)
    return ted.reshape(last, (*z.shape[:-2], n))


def _columns(z: Any, sign: int) -> Any:
    """The transform along the last dim but one."""
    n = z.shape[-2]
    if n <= STAGE:
        return ted.einsum("...jb,kj->...kb", z, _matrix(n, n, n, sign, z))
    return ted.swapaxes(rows(ted.swapaxes(z, -1, -2), sign), -1, -2)


def _convolved(z: Any, sign: int) -> Any:
    """By jk = (j^2 + k^2 - (k - j)^2) / 2: a convolution with a chirp, by powers of two."""
    n = z.shape[-1]
    m = 1 << (2 * n - 2).bit_length()
    k = np.arange(n)
    chirp = np.exp(sign * 1j * np.pi * (k * k % (2 * n)) / n)
    kernel = np.zeros(m, complex)
    kernel[:n] = chirp.conj()
    kernel[m - n + 1 :] = chirp.conj()[:0:-1]
    padded = ted.pad(z * _like(chirp, z), [(0, 0)] * (z.ndim - 1) + [(0, m - n)])
    product = rows(padded, -1) * _like(np.fft.fft(kernel) / m, z)
    return rows(product, 1)[..., :n] * _like(chirp, z)


def _divisor(n: int) -> int | None:
    """The divisor up to the root that is nearest to equal stages; None of a prime."""
    divisors = [d for d in range(2, math.isqrt(n) + 1) if n % d == 0]
    stages = max(2, math.ceil(math.log(n, STAGE)))
    wanted = math.log(n) / stages
    return min(divisors, key=lambda d: abs(math.log(d) - wanted), default=None)


def _matrix(rows: int, columns: int, n: int, sign: int, like: Any) -> Any:
    """w(j k / n), by angles of at most half a turn."""
    turns = (np.outer(np.arange(rows), np.arange(columns)) + n // 2) % n - n // 2
    return _like(np.exp(sign * 2j * np.pi * turns / n), like)


def _like(array: Any, z: Any) -> Any:
    """A constant of the complex type that fits z."""
    return array.astype(type_of(z.real.dtype).name)
