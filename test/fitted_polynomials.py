"""Coefficients of the polynomials in `ted.math` that are minimax fits, computed with 60 digits.

    python test/fitted_polynomials.py [NAME ...]

The exchange algorithm of E. Remez on a grid: a polynomial whose weighted error alternates in sign
at one point more than it has coefficients is moved to the points where that error is largest.
Source: J.-M. Muller, Elementary Functions, section 3.6.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from mpmath import mpf

DIGITS, GRID, ROUNDS = 60, 4000, 12


@dataclass(frozen=True)
class Fit:
    """`function` as a polynomial of so many coefficients; its error counts by `weight`."""

    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    low: float
    high: float
    count: int


def exponential_tail(r: Any) -> Any:
    """(exp(r) - 1 - r) / r**2."""
    return mpmath.nsum(lambda k: r**k / mpmath.factorial(k + 2), [0, 40])


def logarithm_tail(f: Any) -> Any:
    """(log(1 + f) - f) / f**2."""
    if abs(f) < mpf(10) ** -15:
        return mpf(-1) / 2 + f / 3
    return (mpmath.log(1 + f) - f) / f**2


def erf_over_x(z: Any) -> Any:
    """erf(x) / x of the square of x."""
    return mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) if z > 0 else 2 / mpmath.sqrt(mpmath.pi)


def tangent_tail(z: Any) -> Any:
    """(tan(r) / r - 1) / z of the square z of r."""
    if z < mpf(10) ** -12:
        return mpf(1) / 3 + 2 * z / 15 + 17 * z * z / 315
    r = mpmath.sqrt(z)
    return (mpmath.tan(r) / r - 1) / z


def tangent_weight(z: Any) -> Any:
    """Of an error of `tangent_tail`, in units of the tangent."""
    r = mpmath.sqrt(z)
    return z * r / mpmath.tan(r) if z > 0 else z


def root_of_erfc(u: Any) -> Any:
    """sqrt(erfc(x)) of x - 3."""
    return mpmath.sqrt(mpmath.erfc(u + 3))


_HALF = float(mpmath.log(2)) / 2 * 1.001
FITS = {
    "exp_tail f32": Fit(exponential_tail, lambda r: r**2, -_HALF, _HALF, 5),
    "exp_tail f64": Fit(exponential_tail, lambda r: r**2, -_HALF, _HALF, 10),
    "LOG_F32": Fit(logarithm_tail, abs, 0.5**0.5 - 1, 2**0.5 - 1, 9),
    "TANGENT_F64": Fit(tangent_tail, tangent_weight, 0, float(mpmath.pi / 4 * 1.0005) ** 2, 14),
    "ERF_FAR": Fit(root_of_erfc, lambda u: 2 * root_of_erfc(u), -2.01, 2.93, 27),
    "ERF_SMALL": Fit(erf_over_x, lambda z: 1, 0, 1, 12),
}


def fitted(fit: Fit) -> tuple[list[Any], Any]:
    """The coefficients, and the largest weighted error."""
    middle, half = mpf(fit.low + fit.high) / 2, mpf(fit.high - fit.low) / 2
    grid = [middle - half * mpmath.cos(mpmath.pi * k / GRID) for k in range(GRID + 1)]
    exact = [fit.function(x) for x in grid]
    weights = [fit.weight(x) + mpf(10) ** -30 for x in grid]
    places = [round(GRID * (2 * k + 1) / (2 * fit.count + 2)) for k in range(fit.count + 1)]
    found, worst = [], mpf(0)
    for _ in range(ROUNDS):
        rows = [[grid[p] ** k for k in range(fit.count)] + [(-1) ** j / weights[p]]
                for j, p in enumerate(places)]  # fmt: skip
        *found, _ = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([exact[p] for p in places]))
        errors = [w * (mpmath.polyval(found[::-1], x) - y)
                  for x, y, w in zip(grid, exact, weights, strict=True)]  # fmt: skip
        worst = max(map(abs, errors))
        places = _extremes(errors, fit.count + 1)
    return found, worst


def _extremes(errors: list[Any], count: int) -> list[int]:
    """Where the error is largest between changes of its sign: `count` neighbours of these."""
    best = [0]
    for k, error in enumerate(errors):
        if (error > 0) != (errors[best[-1]] > 0):
            best.append(k)
        elif abs(error) > abs(errors[best[-1]]):
            best[-1] = k
    while len(best) > count:
        best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
    assert len(best) == count, f"{len(best)} extremes of {count}: more digits or fewer coefficients"
    return best


def main() -> None:
    """Print the coefficients that are asked for."""
    with mpmath.workdps(DIGITS):
        for name in sys.argv[1:] or FITS:
            found, worst = fitted(FITS[name])
            print(f"{name}: within {float(worst):.2g}", *map(float, found), sep="\n    ")


if __name__ == "__main__":
    main()
