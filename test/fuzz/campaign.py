"""Random systems of equations, differentiated twice: one command, resumable by seed.

    python test/fuzz/campaign.py [--first 0] [--count 2000]

Each system has equations of two or more reads at skewed, strided, divided, wrapped and clamped
indices, under guards and conditions on data, with non-linear bodies, sums and maxima. At orders 1
and 2 three things are compared, all by the interpreter, which visits every point:

* the gradients with their *definition*: the scatter form that the reverse sweep leaves, where
  nothing is inverted, split or simplified;
* at order 1 the definition with differences of the program;
* the number of points that the gather pieces run with the number of the scatter form.

A failure prints its seed; `--first SEED --count 1` repeats it. The last line is a summary, and the
exit status says whether something failed. Any share of seeds can be run by itself.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ted.autodiff.combiners import expand_combiners
from ted.autodiff.vjp import vjp
from ted.ir.equations import System, Tensor
from ted.testing import Counts, check_grads
from ted.testing.random_programs import random_program
from ted.testing.tracing import interpreted
from ted.transforms.gradient import differentiate, scatter_form
from ted.transforms.ted_scatter_to_gather import scatter_to_gather

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-8  # sums are taken in another order; differences of order 2 would be far off
FEWEST_READS = 2
NEAR_ZERO = 0.25


@dataclass
class Summary:
    """What a run has seen."""

    systems: int = 0
    pieces: int = 0  # gather pieces of both orders
    scatters: int = 0  # equations that stayed scatters, for want of budget
    points: int = 0  # of the scatter forms, and just so many of the gather pieces
    failed: list[int] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)

    def __str__(self) -> str:
        seconds, seed = self.slowest
        return (
            f"{self.systems} systems, {len(self.failed)} failed{self.failed or ''}, {self.points} "
            f"points, {self.pieces} pieces, {self.scatters} scatters kept for want of budget, "
            f"slowest {seconds:.1f} s (seed {seed})"
        )


def check_system(seed: int, summary: Summary) -> None:
    """Both orders of one random system; raises AssertionError where something differs."""
    program = random_program(seed, fewest_reads=FEWEST_READS)
    mild = [NEAR_ZERO * a for a in program.arrays]  # the program may be too steep for differences
    check_grads((program.system.outputs, program.system.inputs), mild, order=1)
    random = np.random.default_rng(seed)
    defined = found = program.system
    arrays = list(program.arrays)
    for order in (1, 2):
        heads = [Tensor(f"d{t.name}_{order}", t.shape, t.dtype) for t in found.outputs]
        arrays += [np.asarray(random.normal(size=h.shape)) for h in heads]
        label = f"seed {seed}, order {order}"
        defined = _derived(defined, heads, scatter_gradients(defined, heads))
        _check_counts(found, heads, arrays, summary, label)
        gradients = differentiate(found.outputs, found.inputs, heads).gradients
        found = _derived(found, heads, gradients)
        _check_values(defined, found, arrays, label)


def _derived(system: System, heads: Sequence[Tensor], outputs: Sequence[Tensor]) -> System:
    return System((*system.inputs, *heads), tuple(outputs))


def scatter_gradients(system: System, heads: Sequence[Tensor]) -> list[Tensor]:
    """The gradients straight from the reverse sweep: every equation writes where its primal read.

    This is the definition; nothing was inverted, split or simplified.
    """
    expanded, became = expand_combiners(system)
    adjoints = vjp(expanded, heads).adjoints
    zero = {t: Tensor(f"d{t.name}", t.shape, t.dtype, 0) for t in system.inputs}
    return [adjoints.get(became.get(t, t), zero[t]) for t in system.inputs]


def _check_values(wanted: System, found: System, arrays: list[Array], label: str) -> None:
    pairs = zip(
        interpreted(wanted.inputs, wanted.outputs)(*arrays),
        interpreted(found.inputs, found.outputs)(*arrays),
        strict=True,
    )
    for place, (want, got) in enumerate(pairs):
        scale = max(1.0, float(np.abs(want).max(initial=0.0)))
        np.testing.assert_allclose(
            got, want, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=f"{label}: gradient {place}"
        )


def _check_counts(
    system: System, heads: list[Tensor], arrays: list[Array], summary: Summary, label: str
) -> None:
    """Inverting the sweep's equations changes neither a point nor how often it is visited."""
    inputs, primals = (*system.inputs, *heads), system.tensors()
    adjoints = tuple(scatter_form(system, heads).values())
    gathered, _ = scatter_to_gather(System(inputs, adjoints), keep=primals)
    counts = [Counts(), Counts()]
    for outputs, count in zip((adjoints, gathered.outputs), counts, strict=True):
        interpreted(inputs, outputs, count)(*arrays)
    scattered, pieces = (c.points for c in counts)
    assert pieces == scattered, f"{label}: {pieces} points in pieces, {scattered} in the sweep"
    equations = [e for t in gathered.outputs if t not in primals for e in t.equations]
    summary.points += pieces
    summary.pieces += len(equations)
    summary.scatters += sum(e.is_scatter for e in equations)


def run(first: int, count: int) -> Summary:
    """Check the systems of seeds from `first` on."""
    summary = Summary()
    for seed in range(first, first + count):
        start = time.process_time()
        try:
            check_system(seed, summary)
        except Exception:
            summary.failed.append(seed)
            print(f"seed {seed} failed", traceback.format_exc(), sep="\n", flush=True)
        summary.systems += 1
        summary.slowest = max(summary.slowest, (time.process_time() - start, seed))
        if summary.systems % 100 == 0:
            print(f"up to seed {seed}: {summary}", flush=True)
    return summary


def main() -> int:
    """Run the seeds that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    options = parser.parse_args()
    summary = run(options.first, options.count)
    print(summary)
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
