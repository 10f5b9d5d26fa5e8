"""Gradients of random sums of products against enumeration of their points, exactly.

Skewed, strided, divided, wrapped, clamped and diagonal subscripts, guards and domains; one solver
serves them all.  The arrays hold small integers, so the comparison is exact.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.random_maps import points
from support.random_programs import Contraction, random_contraction
from sweeps import blocks
from ted.domain.budget import BudgetExhausted
from ted.domain.fibres import solve_fibres
from ted.ir.affine import piecewise
from ted.ir.equations import Equation, Tensor, topological
from ted.testing import Counts
from ted.testing.tracing import interpreted
from ted.transforms.gradient import differentiate


def gradient(contraction: Contraction) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A head and the gradients of all inputs."""
    output = contraction.output
    head = Tensor("dC", output.shape, output.dtype)
    return head, differentiate([output], contraction.inputs, [head]).gradients


def check(seed: int) -> None:
    """The result and every gradient of one random contraction."""
    contraction = random_contraction(seed)
    arrays = contraction.arrays(seed)
    shape = contraction.output.shape
    cotangent = np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float64)
    result, wanted = contraction.enumerate(arrays, cotangent)
    (got,) = interpreted(contraction.inputs, [contraction.output])(*arrays)
    np.testing.assert_array_equal(got, result, err_msg=f"seed {seed}: result")
    head, gradients = gradient(contraction)
    found = interpreted([*contraction.inputs, head], gradients)(*arrays, cotangent)
    for tensor, g, want in zip(contraction.inputs, found, wanted, strict=True):
        np.testing.assert_array_equal(g, want, err_msg=f"seed {seed}: d{tensor.name}")


@pytest.mark.fast(1)
@blocks(20, 60)
def test_gradients_equal_enumeration(seeds):
    for seed in seeds:
        check(seed)


def is_over_budget(equation: Equation) -> bool:
    """Whether a scatter was kept because inverting it takes too many operations."""
    try:
        solve_fibres(equation.domain, [piecewise(w, equation.domain) for w in equation.write])
    except BudgetExhausted:
        return True
    return False


def test_scatters_remain_only_where_the_budget_ran_out():
    kept = total = 0
    for seed in range(120):
        contraction = random_contraction(seed)
        head, gradients = gradient(contraction)
        known = {*contraction.inputs, head}
        for tensor in topological(gradients):
            for equation in tensor.equations if tensor not in known else ():
                total += 1
                if equation.is_scatter:
                    kept += 1
                    assert is_over_budget(equation), f"seed {seed}: {equation.write}"
    assert kept <= 0.02 * total


def test_pieces_of_a_single_read_visit_each_of_its_points_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Sums over what nothing depends on would be counted instead: fewer points, which is no fault.
    monkeypatch.setattr("ted.transforms.ted_factor_sums._factored", lambda *_: None)
    checked = 0
    for seed in range(200):
        contraction = random_contraction(seed)
        if len(contraction.reads) > 1:
            continue
        (read,) = contraction.reads
        made = sum(read.guard.at(p) for p in points(contraction.extents, contraction.where))
        head, gradients = gradient(contraction)
        counts = Counts()
        run = interpreted([*contraction.inputs, head], gradients, counts)
        run(*contraction.arrays(seed), np.zeros(contraction.output.shape))
        assert counts.points == made, f"seed {seed}: {contraction.output}"
        checked += 1
    assert checked > 33
