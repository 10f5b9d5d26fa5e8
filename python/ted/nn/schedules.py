"""Learning rates that change: functions of the number of steps before, for `lr=` of optimisers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import ted
from ted.frontend.checks import integer, listed, number
from ted.frontend.locations import fail
from ted.nn.arguments import above_zero

Schedule = Callable[[Any], Any]


def _steps(value: Any, what: str, least: int = 1) -> int:
    number = integer(value, what)
    if number < least:
        fail(f"{what} is a number of steps, at least {least}, got {number}")
    return number


def _share(count: Any, steps: int) -> Any:
    """How much of so many steps is over, at most 1."""
    return ted.minimum(ted.cast(count, "float64") / steps, 1.0)


def _decay(what: str, factor: float, every: int) -> tuple[int, float]:
    every = _steps(every, f"{what}: every")
    return every, math.log(above_zero(factor, f"{what}: factor"))


def linear_schedule(first: float, last: float, steps: int) -> Schedule:
    """From `first` to `last` in equal parts over `steps`, which it keeps then.

    Raises: FrontendError for a number of steps below 1.
    """
    steps = _steps(steps, "linear_schedule: steps")
    return lambda count: first + (last - first) * _share(count, steps)


def cosine_schedule(peak: float, steps: int, warmup: int = 0, least: float = 0.0) -> Schedule:
    """From 0 up to `peak` over the first `warmup` of `steps`, then along a cosine to `least`.

    Raises: FrontendError for a warmup that leaves no step.
    Source: Loshchilov and Hutter, SGDR, equation 5.
    """
    steps = _steps(steps, "cosine_schedule: steps")
    warmup = _steps(warmup, "cosine_schedule: warmup", 0)
    if warmup >= steps:
        fail(f"cosine_schedule: warmup is less than steps={steps}, got {warmup}")

    def rate(count: Any) -> Any:
        over = _share(count - warmup, steps - warmup)
        falling = least + (peak - least) * 0.5 * (1 + ted.cos(math.pi * over))
        return ted.where(count < warmup, peak * _share(count, max(warmup, 1)), falling)

    return rate


def exponential_schedule(first: float, factor: float, every: int = 1) -> Schedule:
    """`first` times `factor` to the number of steps over `every`.

    Raises: FrontendError for a factor that is not above 0.
    """
    every, slope = _decay("exponential_schedule", factor, every)
    return lambda count: first * ted.exp(ted.cast(count, "float64") * (slope / every))


def step_schedule(first: float, factor: float, every: int) -> Schedule:
    """`first`, times `factor` once more after each `every` steps.

    Raises: FrontendError for a factor that is not above 0.
    """
    every, slope = _decay("step_schedule", factor, every)
    return lambda count: first * ted.exp(ted.cast(count // every, "float64") * slope)


def piecewise_schedule(rates: Sequence[float], bounds: Sequence[int]) -> Schedule:
    """`rates[k]` from `bounds[k - 1]` steps on, up to `bounds[k]`.

    Raises: FrontendError unless bounds grow and there is one rate more.
    """
    whole = [
        _steps(bound, "piecewise_schedule: bounds")
        for bound in listed(bounds, "piecewise_schedule: bounds")
    ]
    rates = [
        number(rate, "piecewise_schedule: rates", "must be numbers")
        for rate in listed(rates, "piecewise_schedule: rates")
    ]
    if len(rates) != len(whole) + 1 or any(a >= b for a, b in pairwise(whole)):
        fail(
            "piecewise_schedule: bounds grow, and there is one rate more than bounds, got "
            f"{list(rates)} and {whole}"
        )

    def rate(count: Any) -> Any:
        found: Any = ted.full((), rates[0], "float64")
        for bound, value in zip(whole, rates[1:], strict=True):
            found = ted.where(count >= bound, value, found)
        return found

    return rate
