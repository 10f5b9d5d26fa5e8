"""What a call costs by itself, in microseconds: programs that compute next to nothing.

    python benchmarks/calls.py [--rounds 9]

Beside NumPy, torch and JAX where they have the same call; the least of the rounds counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import jax
import numpy as np
import torch
from timing import Call, environment, rounds

import ted

COUNT = 20  # arrays of a dict
AIMS = {"compiled": 1, "with out=": 1, "function": 1.5, f"dict of {COUNT}": 10, "torch tensors": 6}
Calls = Mapping[str, Call]


def cases() -> dict[str, Calls]:
    """Each call, by who makes it."""
    x, fortran = np.ones((3, 4), "float32"), np.asfortranarray(np.ones((3, 4), "float32"))
    filled = np.empty_like(x)
    shared, on_jax = torch.ones(3, 4), jax.numpy.ones((3, 4))
    given = ted.placeholder((3, 4), "float32", name="x")
    compiled = ted.compile([given], given + given)
    added, jitted = ted.function(lambda a: a + a), jax.jit(lambda a: a + a)
    named = {f"w{k}": x for k in range(COUNT)}
    total, on_dict = ted.function(_total), jax.jit(_total)
    slopes = ted.function(ted.grad(lambda d: ted.sum(_total(d))))
    jax_named = dict.fromkeys(named, on_jax)
    return {
        "compiled": {"ted": lambda: compiled(x), "numpy": lambda: x + x},
        "with out=": {
            "ted": lambda: compiled(x, out=filled), "numpy": lambda: np.add(x, x, out=filled),
        },
        "function": {
            "ted": lambda: added(x), "torch": lambda: shared + shared,
            "jax": lambda: jitted(on_jax),
        },
        f"dict of {COUNT}": {"ted": lambda: total(named), "jax": lambda: on_dict(jax_named)},
        f"gradient of a dict of {COUNT}": {"ted": lambda: slopes(named)},
        "torch tensors": {"ted": lambda: added(shared), "torch": lambda: shared + shared},
        "Fortran order": {"ted": lambda: added(fortran), "numpy": lambda: fortran + fortran},
    }  # fmt: skip


def _total(named: Mapping[str, object]) -> object:
    first, *others = named.values()
    result: object = first
    for value in others:
        result = result + value  # type: ignore[operator]
    return result


def main() -> None:
    """Print a line per call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("numpy", "torch", "jax"))
    for name, calls in cases().items():
        measured: list[Callable[[], object]] = list(calls.values())
        times = rounds(measured, options.rounds)
        texts = [f"{who} {min(t) * 1e6:.2f} us" for who, t in zip(calls, times, strict=True)]
        aim = f"  (aim {AIMS[name]})" if name in AIMS else ""
        print(f"{name:26} {'  '.join(texts)}{aim}")


if __name__ == "__main__":
    main()
