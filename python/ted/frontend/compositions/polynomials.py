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
from ted.frontend.joining import concatenate
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
    p, x = _coefficients(p, "polyval"), to_tensor(x, "polyval: x")
    kind = promote(p.dtype, x.dtype)
    value = broadcast_to(cast(p[0], kind), x.shape) if p.shape[0] else full(x.shape, 0, kind)
    for k in range(1, checks.integer(p.shape[0], "polyval: extent")):
        value = value * x + p[k]
    return value


def polyadd(a: Any, b: Any) -> Tensor:
    """The coefficients of a sum of polynomials.

    Raises: FrontendError for coefficients that are no vector.
    """
    a, b = _alike(_coefficients(a, "polyadd"), _coefficients(b, "polyadd"))
    return a + b


def polysub(a: Any, b: Any) -> Tensor:
    """The coefficients of a difference of polynomials.

    Raises: FrontendError for coefficients that are no vector.
    """
    a, b = _alike(_coefficients(a, "polysub"), _coefficients(b, "polysub"))
    return a - b


def polymul(a: Any, b: Any) -> Tensor:
    """The coefficients of a product of polynomials.

    Shapes: a (n), b (m), result (n + m - 1).
    Raises: FrontendError for coefficients that are no vector, or none.
    """
    a, b = _coefficients(a, "polymul"), _coefficients(b, "polymul")
    n, m = (checks.integer(x.shape[0], "polymul: extent") for x in (a, b))
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
    p = _coefficients(p, "polyder")
    for _ in range(_times(m, "polyder")):
        n = checks.integer(p.shape[0], "polyder: extent")
        p = p[: max(n - 1, 0)] * cast(n - 1 - arange(max(n - 1, 0)), p.dtype)
    return p


def polyint(p: Any, m: int = 1, k: Any = 0) -> Tensor:
    """The coefficients of the m-th integral, whose last coefficient is k each time.

    Raises: FrontendError for coefficients that are no vector, or a negative m.
    """
    p = _coefficients(p, "polyint")
    p = p if p.dtype.is_float else cast(p, "float64")
    last = checks.number(k, "polyint: k")
    for _ in range(_times(m, "polyint")):
        n = checks.integer(p.shape[0], "polyint: extent")
        p = concatenate([p / cast(n - arange(n), p.dtype), full((1,), last, p.dtype)], 0)
    return p


def _coefficients(p: Any, what: str) -> Tensor:
    p = to_tensor(p, what)
    if p.ndim != 1:
        fail(f"{what}: coefficients must be a vector, got shape {p.shape} ({p.name})")
    return p


def _alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with zeros for higher powers, so that they have as many."""
    count = max(checks.integer(x.shape[0], "polynomial: extent") for x in (a, b))

    def longer(x: Tensor) -> Tensor:
        missing = count - checks.integer(x.shape[0], "polynomial: extent")
        return concatenate([full((missing,), 0, x.dtype), x], 0) if missing else x

    return longer(a), longer(b)


def _times(m: Any, what: str) -> int:
    times = checks.integer(m, f"{what}: m")
    if times < 0:
        fail(f"{what}: m must be at least 0, got {times}")
    return times
