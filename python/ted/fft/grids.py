"""Fourier transforms along several dims, frequencies, and where in a spectrum frequency 0 is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ted
from ted.fft import transforms
from ted.frontend import checks
from ted.frontend.complex_functions import operand
from ted.frontend.complex_pairs import Complex
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail

Extents = Sequence[int] | None


def fftn(x: Any, s: Extents = None, axes: Extents = None, norm: str | None = None) -> Any:
    """The `fft` along each of `axes`, all unless said, cut or padded to the extents `s`.

    Raises: FrontendError as `fft`, and for another number of extents than of axes.
    """
    return _along(transforms.fft, x, s, axes, norm, "fftn")


def ifftn(x: Any, s: Extents = None, axes: Extents = None, norm: str | None = None) -> Any:
    """The inverse of `fftn`.

    Raises: FrontendError as `fftn`.
    """
    return _along(transforms.ifft, x, s, axes, norm, "ifftn")


def rfftn(x: Any, s: Extents = None, axes: Extents = None, norm: str | None = None) -> Any:
    """The `rfft` along the last of `axes`, the `fft` along the others.

    Raises: FrontendError as `fftn`, and for a complex signal.
    """
    return _along(transforms.fft, x, s, axes, norm, "rfftn", first=transforms.rfft)


def irfftn(x: Any, s: Extents = None, axes: Extents = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`.

    Raises: FrontendError as `fftn`.
    """
    return _along(transforms.ifft, x, s, axes, norm, "irfftn", last=transforms.irfft)


def fft2(x: Any, s: Extents = None, axes: Extents = (-2, -1), norm: str | None = None) -> Any:
    """`fftn` along two dims.

    Raises: FrontendError as `fftn`.
    """
    return fftn(x, s, axes, norm)


def ifft2(x: Any, s: Extents = None, axes: Extents = (-2, -1), norm: str | None = None) -> Any:
    """`ifftn` along two dims.

    Raises: FrontendError as `fftn`.
    """
    return ifftn(x, s, axes, norm)


def rfft2(x: Any, s: Extents = None, axes: Extents = (-2, -1), norm: str | None = None) -> Any:
    """`rfftn` along two dims.

    Raises: FrontendError as `rfftn`.
    """
    return rfftn(x, s, axes, norm)


def irfft2(x: Any, s: Extents = None, axes: Extents = (-2, -1), norm: str | None = None) -> Any:
    """`irfftn` along two dims.

    Raises: FrontendError as `fftn`.
    """
    return irfftn(x, s, axes, norm)


def _along(
    function: Callable[..., Any], x: Any, s: Any, axes: Any, norm: Any, what: str,
    first: Callable[..., Any] | None = None, last: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """One transform after the other, from the last of the axes on; `last` is done at the end."""
    x = operand(x)
    rank = to_tensor(x.real if isinstance(x, Complex) else x, what).ndim
    s = None if s is None else checks.listed(s, f"{what}: s")
    if axes is None and s is not None:
        axes = range(-len(s), 0)
    chosen = checks.axes_of(axes, rank, what)
    extents = [None] * len(chosen) if s is None else list(s)
    if len(extents) != len(chosen) or not chosen:
        fail(f"{what}: takes one extent for each axis, got s={s!r} for axes {chosen}")
    steps = list(zip(chosen, extents, [function] * len(chosen), strict=True))[::-1]
    if first is not None:
        steps[0] = (*steps[0][:2], first)
    if last is not None:
        steps = [*steps[1:], (*steps[0][:2], last)]
    for axis, n, transform in steps:
        x = transform(x, n, axis, norm)
    return x


# ------------------------------------------------------------------ frequencies


def fftfreq(n: int, d: float = 1.0, dtype: Any = "float32") -> Any:
    """The frequencies of the elements of an `fft` of n numbers with a distance d, in turns.

    Raises: FrontendError for an n below 1, or a distance of 0.
    """
    k = ted.arange(_count(n, d, "fftfreq"))
    return ted.cast(ted.where(2 * k < n, k, k - n), dtype) / (n * d)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = "float32") -> Any:
    """The frequencies of the elements of an `rfft`: 0 to n // 2.

    Raises: FrontendError as `fftfreq`.
    """
    return ted.cast(ted.arange(_count(n, d, "rfftfreq") // 2 + 1), dtype) / (n * d)


def _count(n: Any, d: Any, what: str) -> int:
    checks.number(d, f"{what}: the distance d", "is a number other than 0", bool)
    return transforms.length_of(n, what)


def fftshift(x: Any, axes: Any = None) -> Any:
    """The spectrum with frequency 0 in the middle of `axes`, all unless said.

    Raises: FrontendError for an axis that x does not have.
    """
    return _shifted(x, axes, 0, "fftshift")


def ifftshift(x: Any, axes: Any = None) -> Any:
    """What `fftshift` moved back to where it was.

    Raises: FrontendError for an axis that x does not have.
    """
    return _shifted(x, axes, 1, "ifftshift")


def _shifted(x: Any, axes: Any, up: int, what: str) -> Any:
    x = operand(x)
    rank = to_tensor(x.real if isinstance(x, Complex) else x, what).ndim
    chosen = checks.axes_of(axes, rank, what)
    # Of an odd extent the way back is one step longer.
    return ted.roll(x, [(x.shape[k] + up) // 2 for k in chosen], list(chosen)) if chosen else x
