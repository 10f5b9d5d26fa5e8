"""How large the numbers are that a result is a sum of: the scale of its rounding.

A result may be what is left when large numbers cancel: the gradient of a constant is rounding of
either sign. Two programs that are right both then differ by as much as the result, and an error has
to be judged by the size of the summands. To first order, moving the inputs by a few roundings moves
the result by as many roundings of its summands. Where a result jumps, it does so in one direction,
so each element counts with the direction in which it moves less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

_ROUNDINGS = 4.0


def rounding_scales(
    program: Callable[..., Sequence[np.ndarray]],
    arrays: Sequence[Any],
    results: Sequence[np.ndarray],
) -> np.ndarray:
    """One size per result; 0 for integers, and where nothing depends on floating-point inputs."""
    given = [np.asarray(a) for a in arrays]
    types = {a.dtype for a in (*given, *map(np.asarray, results)) if _is_float(a)}
    step = _ROUNDINGS * max((float(ml_dtypes.finfo(t).eps) for t in types), default=0.0)
    if not step:
        return np.zeros(len(results))
    up, down = (program(*_moved(given, signed)) for signed in (step, -step))
    return np.array([_moves(*three) / step for three in zip(results, up, down, strict=True)])


def _moved(arrays: Sequence[np.ndarray], step: float) -> list[np.ndarray]:
    """The arrays with every number moved by a relative step, up or down at random."""
    random = np.random.default_rng(0)
    factors = (1 + step * random.choice((-1.0, 1.0), a.shape) for a in arrays)
    return [
        (a * factor).astype(a.dtype) if _is_float(a) else a
        for a, factor in zip(arrays, factors, strict=True)
    ]


def _moves(result: np.ndarray, up: np.ndarray, down: np.ndarray) -> float:
    if not _is_float(np.asarray(result)):
        return 0.0
    with np.errstate(invalid="ignore"):
        at, *others = (np.asarray(a, np.float64) for a in (result, up, down))
        moved = np.minimum(*(np.abs(other - at) for other in others))
    return float(moved[np.isfinite(moved)].max(initial=0.0))


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16
