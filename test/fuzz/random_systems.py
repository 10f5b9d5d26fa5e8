"""Random systems of equations, differentiated twice and compared with their definition.

    make fuzz ORACLE=systems

Each system has equations of two or more reads at skewed, strided, divided, wrapped and clamped
indices, under guards and conditions on data, with non-linear bodies, sums and maxima. At orders 1
and 2 three things are compared, all by the interpreter, which visits every point:

* the gradients with their *definition*: the scatter form that the reverse sweep leaves, where
  nothing is inverted, split or simplified;
* at order 1 the definition with differences of the program;
* the number of points that the gather pieces run with the number of the scatter form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from support.random_programs import random_program
from ted.autodiff.combiners import expand_combiners
from ted.autodiff.vjp import vjp
from ted.ir.equations import System, Tensor
from ted.testing import Counts, check_grads
from ted.testing.tracing import interpreted
from ted.transforms.gradient import differentiate, scatter_form
from ted.transforms.ted_scatter_to_gather import scatter_to_gather

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-8  # sums are taken in another order; differences of order 2 would be far off
FEWEST_READS = 2
NEAR_ZERO = 0.25


def check_system(seed: int) -> Counter[str]:
    """Both orders of one random system; raises AssertionError where something differs.

    Counts the points that are run, the gather pieces of both orders, and the equations that stayed
    scatters, for want of budget.
    """
    counts: Counter[str] = Counter()
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
        counts += _check_counts(found, heads, arrays, label)
        gradients = differentiate(found.outputs, found.inputs, heads).gradients
        found = _derived(found, heads, gradients)
        _check_values(defined, found, arrays, label)
    return counts


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
    system: System, heads: list[Tensor], arrays: list[Array], label: str
) -> Counter[str]:
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
    scatters = sum(e.is_scatter for e in equations)
    return Counter(points=pieces, pieces=len(equations), scatters=scatters)
