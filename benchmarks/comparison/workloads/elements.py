"""Functions of one element, of arrays in the cache and beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..workload import Workload, in_types, uniform

# Name: the range of ordinary arguments, how many, whether NumPy has it.
FUNCTIONS: dict[str, tuple[float, float, int, bool]] = {
    "sin": (-100, 100, 1, True), "cos": (-100, 100, 1, True), "tan": (-100, 100, 1, True),
    "power": (0.1, 10, 2, True), "remainder": (0.1, 10, 2, True), "erf": (-4, 4, 1, False),
    "log": (0.01, 100, 1, True), "tanh": (-5, 5, 1, True), "exp": (-20, 20, 1, True),
    "lgamma": (0.1, 10, 1, False), "sqrt": (0.1, 10, 1, True), "atan": (-10, 10, 1, True),
    "asin": (-1, 1, 1, True),
}  # fmt: skip
NAMED = tuple(FUNCTIONS)[:10]
SIZES = (1_000_000, 4096)


def of(name: str, size: int) -> Workload:
    """A function of arrays of so many elements."""
    low, high, count, in_numpy = FUNCTIONS[name]
    function: Callable[..., Any] = lambda k, *xs: getattr(k, name)(*xs)  # noqa: E731
    # tan has poles, and % jumps: an argument rounded to float32 is somewhere else.
    loose = {"tan": 1e-3, "remainder": 1e-3}.get(name)
    return Workload(
        f"{name} {size}", function, [uniform(low, high, size)] * count, "elements",
        also=("numpy",) if in_numpy else (), without=("inductor",), tolerance=loose,
    )  # fmt: skip


def workloads() -> Iterator[Workload]:
    """The rows."""
    for size in SIZES:
        for name in NAMED if size < SIZES[0] else FUNCTIONS:
            yield from in_types(of(name, size), "float64", "float32")
