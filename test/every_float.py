"""The largest error of functions over all numbers of f32, in units in the last place.

    python test/every_float.py sin cos tan [--stride 64]

Each function is computed for every stride-th pattern of 32 bits (all: a few minutes each), and
compared with NumPy's of f64, whose errors are nothing beside a unit of f32.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ted

CHUNK = 1 << 18  # the arrays stay in the cache


def largest_error(name: str, stride: int) -> tuple[float, float]:
    """The error, and where it is."""
    x = ted.placeholder((CHUNK,), "float32", name="x")
    compiled = ted.compile([x], getattr(ted, name)(x))
    exact = getattr(np, name)
    worst, place = 0.0, 0.0
    for first in range(0, 1 << 32, CHUNK * stride):
        patterns = np.arange(first, first + CHUNK * stride, stride, dtype=np.uint64) & 0xFFFFFFFF
        numbers = patterns.astype(np.uint32).view(np.float32)
        errors = _errors(np.asarray(compiled(numbers)), exact(numbers.astype(np.float64)))
        k = int(np.argmax(errors))
        if errors[k] > worst:
            worst, place = float(errors[k]), float(numbers[k])
    return worst, place


def _errors(got: Any, wanted: Any) -> Any:
    rounded = wanted.astype(np.float32)
    same = (got == rounded) | (np.isnan(got) & np.isnan(wanted))
    error = np.abs(got - wanted) / np.spacing(np.abs(rounded))
    return np.where(same, 0, np.where(np.isnan(error), np.inf, error))


def main() -> None:
    """Print a line for each function."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--stride", type=int, default=1)
    options = parser.parse_args()
    with np.errstate(all="ignore"):
        for name in options.names:
            error, place = largest_error(name, options.stride)
            print(f"{name}: {error:.3f} at {place!r}", flush=True)


if __name__ == "__main__":
    main()
