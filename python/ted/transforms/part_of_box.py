"""Some points of an equation as an equation over a smaller box, whose dims begin at 0.

Before: C[i] = A[i + 1] over i < 9, of which 3 <= i < 9    After: C[i + 3] = A[i + 4] over i < 6
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ted.domain import sets
from ted.ir.affine import canonical_indices
from ted.ir.equations import Equation
from ted.ir.scalar import add, dim, index, mul, substitute


def part_of_box(equation: Equation, points: Any, sides: Sequence[range]) -> Equation:
    """The equation at `points`, which lie in the box of `sides`, the steps of which are skipped."""
    rank = equation.rank
    units = [[side.step * (k == d) for k in range(rank)] for d, side in enumerate(sides)]
    affs = [sets.linear(rank, unit, s.start) for unit, s in zip(units, sides, strict=True)]
    domain = sets.preimage(points, rank, affs).coalesce()
    moved = [add(mul(dim(d), index(s.step)), index(s.start)) for d, s in enumerate(sides)]
    body, *write = canonical_indices(substitute(equation.expressions, moved), domain)
    extents = tuple(map(len, sides))
    return replace(equation, extents=extents, domain=domain, body=body, write=tuple(write))
