"""Fourier transforms along one dim, by the names of `numpy.fft`: lengths, norms, real signals.

A real spectrum or signal is computed as half of a complex one: `rfft` leaves out what is conjugate,
`irfft` is the real part of half a spectrum whose inner elements count twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from ted.domain.sizes import Size
from ted.fft.factors import rows
from ted.frontend import checks
from ted.frontend.complex_functions import operand
from ted.frontend.complex_pairs import Complex, type_of
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail

# By what a transform forward, and one back, of n elements is divided: n to that power.
_NORMS = {None: (0, 1), "backward": (0, 1), "ortho": (0.5, 0.5), "forward": (1, 0)}
_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}
_MOST = 2**31  # elements, whose factors are in the program


def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """X[k] = sum of x[j] exp(-2 pi i j k / n) along `axis`, which is cut or padded with 0 to `n`.

    complex128 of float64 and complex128, complex64 of all else.  `norm` is "backward" (divide by n
    on the way back), "ortho" (by its root on both) or "forward".
    Raises: FrontendError for what is no tensor, an n below 1, an axis that x does not have.
    """
    return _transformed(_tensor(x, "fft"), n, axis, norm, -1, "fft")


def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`: the sum of X[k] exp(2 pi i j k / n), divided by n.

    Raises: FrontendError as `fft`.
    """
    return _transformed(_tensor(x, "ifft"), n, axis, norm, 1, "ifft")


def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first n // 2 + 1 elements of the `fft` of a real signal; the others are conjugates.

    Raises: FrontendError as `fft`, and for a complex signal.
    """
    z = _transformed(_real(x, "rfft"), n, axis, norm, -1, "rfft")
    along = checks.axis_of(axis, z.ndim, "rfft")
    return z[(*[slice(None)] * along, slice(z.shape[along] // 2 + 1))]


def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`: n real numbers, 2 (m - 1) of m elements unless said.

    The imaginary parts of element 0, and of n / 2 for an even n, do not count.
    Raises: FrontendError as `fft`.
    """
    z = _tensor(x, "irfft")
    along = checks.axis_of(axis, z.ndim, "irfft")
    length = length_of(2 * (z.shape[along] - 1) if n is None else n, "irfft")
    kept = length // 2 + 1
    weights = np.full(kept, 2, type_of(z.real.dtype).part.name)
    weights[[0, -1] if length % 2 == 0 else [0]] = 1
    spectrum = _resized(z, kept, along) * weights.reshape(-1, *[1] * (z.ndim - 1 - along))
    return ted.real(_transformed(spectrum, length, along, norm, 1, "irfft"))


def hfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real spectrum of a signal, of which x is one half and the other is conjugate to it.

    Raises: FrontendError as `fft`.
    """
    return irfft(ted.conj(_tensor(x, "hfft")), n, axis, _swapped(norm, "hfft"))


def ihfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`: n // 2 + 1 elements.

    Raises: FrontendError as `rfft`.
    """
    return ted.conj(rfft(_real(x, "ihfft"), n, axis, _swapped(norm, "ihfft")))


# ------------------------------------------------------------------ arguments


def _transformed(z: Any, n: Any, axis: Any, norm: Any, sign: int, what: str) -> Any:
    along = checks.axis_of(axis, z.ndim, what)
    length = length_of(z.shape[along] if n is None else n, what)
    _check_norm(norm, what)
    z = _resized(z, length, along)
    found = ted.moveaxis(rows(ted.moveaxis(z, along, -1), sign), -1, along)
    power = _NORMS[norm][sign > 0]
    return found * length**-power if power else found


def _resized(z: Any, length: int, along: int) -> Any:
    """So many elements along a dim: the first ones, or zeros behind them."""
    missing = length - z.shape[along]
    if missing > 0:
        z = ted.pad(z, [(0, missing if k == along else 0) for k in range(z.ndim)])
    return z if missing >= 0 else z[(*[slice(None)] * along, slice(length))]


def length_of(n: Any, what: str) -> int:
    """A number of elements, at least 1.

    Raises: FrontendError for anything else.
    """
    if isinstance(n, Size):
        fail(f"{what}: the number of elements is a number, got the symbolic size {n}; say n=")
    length = checks.integer(n, f"{what}: n")
    if not 1 <= length <= _MOST:
        fail(f"{what}: a transform has at least 1 element and 2**31 at most, got n = {length}")
    return length


def _check_norm(norm: Any, what: str) -> None:
    if norm is not None:
        checks.one_of(norm, ("backward", "ortho", "forward"), f"{what}: norm")


def _swapped(norm: Any, what: str) -> Any:
    _check_norm(norm, what)
    return _SWAPPED.get(norm, norm)


def _tensor(x: Any, what: str) -> Any:
    """A complex tensor, or a real one of floats of 32 or 64 bits."""
    x = operand(x)
    if isinstance(x, Complex):
        to_tensor(x.real, what)
        return x
    x = to_tensor(x, what)
    return ted.cast(x, type_of(x.dtype).part)


def _real(x: Any, what: str) -> Any:
    x = _tensor(x, what)
    if isinstance(x, Complex):
        fail(f"{what}: takes a real signal, got a complex one; take ted.real, or ted.fft.fft of it")
    return x
