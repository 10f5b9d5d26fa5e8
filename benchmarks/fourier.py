"""`ted.fft` beside `numpy.fft`, and the gradient of a spectrum's power beside the transform.

    python benchmarks/fourier.py [--rounds 11] [--type complex128]

Arrays of complex numbers go in and come out, so a call copies their parts; `parts` is the program
on real arrays alone. Ratios below 1 are faster than numpy; the gradient is in its transforms, too.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from timing import environment, rounds, spread

import ted

CASES = {
    "1024": ((1024,), "fft"), "1000": ((1000,), "fft"), "1009": ((1009,), "fft"),
    "64 x 1024": ((64, 1024), "fft"), "256 x 256": ((256, 256), "fft2"),
}  # fmt: skip


def row(label: str, shape: tuple[int, ...], name: str, kind: str, count: int) -> str:
    """The line of one transform."""
    random = np.random.default_rng(0)
    z = (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(kind)
    transform, other = getattr(ted.fft, name), getattr(np.fft, name)
    call = ted.function(transform)
    slope = ted.grad(lambda z: ted.sum(abs(transform(z)) ** 2))
    found, expected = call(z), other(z)
    error = np.max(abs(found - expected)) / np.max(abs(expected))
    slope(z)
    program, parts = call.compiled(z), (z.real.copy(), z.imag.copy())
    calls = (lambda: other(z), lambda: program(*parts), lambda: call(z), lambda: slope(z))
    numpy, *mine = rounds(calls, count)
    ratios = [spread([a / b for a, b in zip(t, numpy, strict=True)]) for t in mine]
    return f"{label:10} {1e6 * min(numpy):8.0f} us  " + "  ".join(ratios) + f"  {error:.0e}"


def main() -> None:
    """Print a line for each transform."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--type", default="complex128")
    options: Any = parser.parse_args()
    print(environment("numpy"))
    print(f"{'':10} {'numpy':>11}  parts  call  gradient  error")
    for label, (shape, name) in CASES.items():
        print(row(label, shape, name, options.type, options.rounds), flush=True)


if __name__ == "__main__":
    main()
