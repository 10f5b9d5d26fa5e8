"""Some points of an equation as an equation over a smaller box, whose dims begin at 0.

Before: C[i] = A[i + 1] over i < 9, of which 3 <= i < 9    After: C[i + 3] = A[i + 4] over i < 6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ted.domain import sets
from ted.ir.affine import canonical_indices
from ted.ir.equations import Equation, identity_dims
from ted.ir.scalar import add, dim, index, mul, substitute


def part_of_box(equation: Equation, points: Any, sides: Mapping[int, range]) -> Equation:
    """The equation at `points`, of which the dims in `sides` take no other values than those."""
    rank, extents = equation.rank, list(equation.extents)
    affs, moved = sets.dim_affs(rank), list(identity_dims(rank))
    for d, side in sides.items():
        extents[d] = len(side)
        affs[d] = sets.linear(rank, [side.step * (k == d) for k in range(rank)], side.start)
        moved[d] = add(mul(dim(d), index(side.step)), index(side.start))
    domain = sets.preimage(points, rank, affs).coalesce()
    body, *write = canonical_indices(substitute(equation.expressions, moved), domain)
    return replace(equation, extents=tuple(extents), domain=domain, body=body, write=tuple(write))
