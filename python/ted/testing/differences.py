"""Derivatives by central differences along a line, with an estimate of their rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ted.records import dataclass

Array = np.ndarray[Any, Any]

# f(x + t v) is asked at t = k * step; the weights cancel all terms up to the fourth order.
STENCIL = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}

# The step balances rounding (epsilon / step) and the stencil's error (step**4); what
# checks compare with leaves two orders of magnitude above both.
STEPS = {"float64": 1e-3, "float32": 3e-2, "float16": 0.125, "bfloat16": 0.25}
SHRINKS = (1, 1 / 16, 1 / 256)  # a kink nearer than the step gives a second and a third chance
MANTISSAS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


def is_float(array: Array) -> bool:
    """Whether an array has a float type, bfloat16 included."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def product(weights: Array, values: Array) -> Array:
    """Their products, 0 where the weight is: what it takes out may be NaN."""
    wide = np.asarray(weights, np.float64)
    return np.where(wide == 0, 0.0, wide * values)


@dataclass(frozen=True)
class Line:
    """<dy, f> along lines through one point."""

    forward: Callable[..., Sequence[Array]]
    arrays: Sequence[Array]
    cotangents: Sequence[Array]

    def slope(self, directions: dict[int, Array], shrink: float) -> tuple[float, float, float]:
        """The derivative along some arguments, the size of its terms, and their rounding."""
        slope = size = rounding = 0.0
        with np.errstate(all="ignore"):
            found = self.derivative(directions, shrink)
            for dy, (jv, error) in zip(self.cotangents, found, strict=True):
                slope += float(product(dy, jv).sum())
                size += float(np.abs(product(dy, jv)).sum())
                rounding += float(np.abs(product(dy, error)).sum())
        return slope, size, rounding

    def derivative(self, directions: dict[int, Array], shrink: float) -> list[tuple[Array, Array]]:
        """J v by differences for every output, and what rounding may add to each element.

        Values of f that cancel leave a few epsilons of theirs, divided by the step.
        """
        coarsest = max((a for a in self.arrays if is_float(a)), key=lambda a: STEPS[a.dtype.name])
        step = STEPS[coarsest.dtype.name] * shrink
        epsilon = 2.0 ** -MANTISSAS[coarsest.dtype.name]
        total: list[Any] = [np.float64(0)] * len(self.cotangents)
        largest: list[Any] = list(total)
        with np.errstate(all="ignore"):
            for k, weight in STENCIL.items():
                values = self.forward(*self._moved(directions, k * step))
                wide = [np.asarray(v, np.float64) for v in values]
                total = [t + weight / step * v for t, v in zip(total, wide, strict=True)]
                largest = [np.maximum(m, np.abs(v)) for m, v in zip(largest, wide, strict=True)]
        return [(t, 16 * epsilon / step * m) for t, m in zip(total, largest, strict=True)]

    def _moved(self, directions: dict[int, Array], distance: float) -> list[Array]:
        moved = list(self.arrays)
        for k, direction in directions.items():
            shifted = self.arrays[k].astype(np.float64) + distance * direction
            moved[k] = shifted.astype(self.arrays[k].dtype)
        return moved
