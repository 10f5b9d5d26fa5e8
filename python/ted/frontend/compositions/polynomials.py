"""Polynomials by NumPy's names: vectors of coefficients, the highest power first.

Before: ted.polyval([2.0, 0.0, 1.0], x)      After: (2 x + 0) x + 1
"""

from __future__ import annotations

from typing import Any

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.contraction import matmul
from ted.frontend.creation import arange, full
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import cast, sqrt, to_tensor, where
from ted.frontend.factorisations import orthonormal_columns
from ted.frontend.joining import concatenate, padded, stack
from ted.frontend.layout import broadcast_to
from ted.frontend.linear_algebra import solve_triangular
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.recurrences import recurrence
from ted.frontend.reductions import sum
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT64, promote


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


def polydiv(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """The coefficients of a quotient of polynomials, and those of what is left, as JAX has them.

    Nothing is trimmed: what is left has as many as a.
    Shapes: a (n), b (m), results (max(n - m + 1, 1)) and (n).
    Raises: FrontendError for coefficients that are no vector, or none.
    """
    (a, n), (b, m) = _coefficients(a, "polydiv"), _coefficients(b, "polydiv")
    if not n or not m:
        fail(f"polydiv: takes at least one coefficient of each, got {n} and {m}")
    kind = promote(a.dtype, b.dtype)
    kind = kind if kind.is_float else FLOAT64
    a, b, count = cast(a, kind), cast(b, kind), n - m + 1
    if count < 1:
        return full((1,), 0, kind), a
    r = reduce_axis(count, "r")

    def term(q: Any, k: Any, r: Any) -> Any:
        return where((k - r >= 0) & (k - r < m), q[r] * b[k - r], 0)

    def share(q: Any, k: Any) -> Any:
        return (a[k] - sum(term(q, k, r), axis=r, where=r < k)) / b[0]

    quotient = recurrence((count,), share, kind, name="polydiv")

    def rest(k: Any) -> Any:
        return where(k < count, 0, a[k] - sum(term(quotient, k, r), axis=r))

    return quotient, compute((n,), rest, name="rest")


def poly(roots: Any) -> Tensor:
    """The coefficients of the polynomial with these roots, the first of which is 1.

    Shapes: roots (n), result (n + 1).
    Raises: FrontendError for roots that are no vector.
    """
    roots, n = _coefficients(roots, "poly")
    kind = roots.dtype if roots.dtype.is_float else FLOAT64
    roots = cast(roots, kind)

    def element(p: Any, t: Any, k: Any) -> Any:
        moved = where(k > 0, roots[t - 1] * p[t - 1, k - 1], 0)
        return where(t > 0, p[t - 1, k] - moved, where(k > 0, 0, 1))

    return recurrence((n + 1, n + 1), element, kind, name="poly")[n]


@rounded_once
def polyfit(x: Any, y: Any, deg: int, w: Any = None) -> Tensor:
    """The coefficients of the polynomial of degree `deg` that is nearest to points (x, y).

    The sum of squares of w * (value - y) is least; of fewer places than coefficients it is NaN or
    infinite.
    Shapes: x (n), y (n) or (n, k), w (n), result (deg + 1) or (deg + 1, k).
    Raises: FrontendError for points that do not fit, or fewer than coefficients.
    """
    (x, n), y = _coefficients(x, "polyfit: x"), to_tensor(y, "polyfit: y")
    count = checks.integer(deg, "polyfit: deg") + 1
    if y.ndim not in (1, 2) or y.shape[0] != n or not 0 < count <= n:
        fail(f"polyfit: takes x (n), y (n) or (n, k) and a deg from 0 to n - 1, "
             f"got {x.shape}, {y.shape} and deg={count - 1}")  # fmt: skip
    x, y = (v if v.dtype.is_float else cast(v, "float64") for v in (x, y))
    weights = to_tensor(1.0 + 0 * x if w is None else w, "polyfit: w")
    if weights.shape != x.shape:
        fail(f"polyfit: w must be like x, of shape {x.shape}, got {weights.shape}")
    powers = [weights]
    for _ in range(1, count):
        powers.append(powers[-1] * x)
    a = stack(powers[::-1], 1)
    size = sqrt(sum(a * a, 0))
    q, r = orthonormal_columns(a / size)
    goal = y * (weights if y.ndim == 1 else weights[:, None])
    found = solve_triangular(r, matmul(matrix_transpose(q), goal), lower=False)
    return found / (size if y.ndim == 1 else size[:, None])


def polyder(p: Any, m: int = 1) -> Tensor:
    """The coefficients of the m-th derivative.

    Raises: FrontendError for coefficients that are no vector, or a negative m.
    """
    p, n = _coefficients(p, "polyder")
    for _ in range(min(_times(m, "polyder"), n)):
        n = max(n - 1, 0)
        p = p[:n] * cast(n - arange(n), p.dtype)
    return p


_MOST_INTEGRALS = 1000  # each is some equations


def polyint(p: Any, m: int = 1, k: Any = 0) -> Tensor:
    """The coefficients of the m-th integral, whose last coefficient is k each time.

    Raises: FrontendError for coefficients that are no vector, or a negative m.
    """
    p, n = _coefficients(p, "polyint")
    p = p if p.dtype.is_float else cast(p, "float64")
    last, times = checks.number(k, "polyint: k"), _times(m, "polyint")
    if times > _MOST_INTEGRALS:
        fail(f"polyint: m must be at most {_MOST_INTEGRALS}, got {times}")
    for count in range(n, n + times):
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
    return padded(a, ((most - n, 0),)), padded(b, ((most - m, 0),))


def _times(m: Any, what: str) -> int:
    times = checks.integer(m, f"{what}: m")
    if times < 0:
        fail(f"{what}: m must be at least 0, got {times}")
    return times
