"""Polynomials by NumPy's names: vectors of coefficients, the highest power first.

Before: ted.polyval([2.0, 0.0, 1.0], x)      After: (2 x + 0) x + 1
"""

from __future__ import annotations

from typing import Any

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import arange, full
from ted.frontend.elementwise import cast, to_tensor, where
from ted.frontend.joining import concatenate, pad
from ted.frontend.layout import broadcast_to
from ted.frontend.locations import fail
from ted.frontend.reductions import sum
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import promote


def polyval(p: Any, x: Any) -> Tensor:
    """The value of a polynomial at each element of x, by Horner's scheme.

    Shapes: p (n), x S, result S.
    Raises: FrontendError for coefficients that are no vector.
    """
    (p, n), x = _coefficients(p, "polyval"), to_tensor(x, "polyval: x")
    kind = promote(p.dtype, x.dtype)
    value = broadcast_to(cast(p[0], kind), x.shape) if n else full(x.shape, 0, kind)
    for k in range(1, n):
        value = value * x + p[k]
    return value


def polyadd(a: Any, b: Any) -> Tensor:
    """The coefficients of a sum of polynomials.

    Raises: FrontendError for coefficients that are no vector.
    """
    a, b = _alike(a, b, "polyadd")
    return a + b


def polysub(a: Any, b: Any) -> Tensor:
    """The coefficients of a difference of polynomials.

    Raises: FrontendError for coefficients that are no vector.
    """
    a, b = _alike(a, b, "polysub")
    return a - b


def polymul(a: Any, b: Any) -> Tensor:
    """The coefficients of a product of polynomials.

    Shapes: a (n), b (m), result (n + m - 1).
    Raises: FrontendError for coefficients that are no vector, or none.
    """
    (a, n), (b, m) = _coefficients(a, "polymul"), _coefficients(b, "polymul")
    if not n or not m:
        fail(f"polymul: takes at least one coefficient of each, got {n} and {m}")
    r = reduce_axis(n, "r")

    def element(k: Any) -> Any:
        inside = (k - r >= 0) & (k - r < m)
        return sum(where(inside, a[r] * b[k - r], 0), axis=r)

    return compute((n + m - 1,), element, name="polymul")


def polyder(p: Any, m: int = 1) -> Tensor:
    """The coefficients of the m-th derivative.

    Raises: FrontendError for coefficients that are no vector, or a negative m.
    """
    p, n = _coefficients(p, "polyder")
    for _ in range(_times(m, "polyder")):
        n = max(n - 1, 0)
        p = p[:n] * cast(n - arange(n), p.dtype)
    return p


def polyint(p: Any, m: int = 1, k: Any = 0) -> Tensor:
    """The coefficients of the m-th integral, whose last coefficient is k each time.

    Raises: FrontendError for coefficients that are no vector, or a negative m.
    """
    p, n = _coefficients(p, "polyint")
    p = p if p.dtype.is_float else cast(p, "float64")
    last = checks.number(k, "polyint: k")
    for count in range(n, n + _times(m, "polyint")):
        p = concatenate([p / cast(count - arange(count), p.dtype), full((1,), last, p.dtype)], 0)
    return p


def _coefficients(p: Any, what: str) -> tuple[Tensor, int]:
    """A vector, and how many it has."""
    p = to_tensor(p, what)
    if p.ndim != 1:
        fail(f"{what}: coefficients must be a vector, got shape {p.shape} ({p.name})")
    return p, checks.integer(p.shape[0], f"{what}: extent")


def _alike(a: Any, b: Any, what: str) -> tuple[Tensor, Tensor]:
    """Both with zeros for higher powers, so that they have as many."""
    (a, n), (b, m) = _coefficients(a, what), _coefficients(b, what)
    most = max(n, m)
    return pad(a, ((most - n, 0),)), pad(b, ((most - m, 0),))


def _times(m: Any, what: str) -> int:
    times = checks.integer(m, f"{what}: m")
    if times < 0:
        fail(f"{what}: m must be at least 0, got {times}")
    return times
