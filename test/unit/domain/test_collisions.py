"""Colliding indices against enumeration."""

from __future__ import annotations

import itertools

import pytest

from ted.domain import affine, conversion, sets
from ted.domain.collisions import are_writes_disjoint, collision

D0, D1 = affine.dim(0), affine.dim(1)


@pytest.mark.parametrize(
    "index",
    [
        [D0 * 3 + D1], [D0 * 4 + D1], [D0, D1], [D1, D0 // 2], [D0 + D1, D0 - D1], [D0],
        [(D0 * 4 + D1) // 5, (D0 * 4 + D1) % 5], [(D0 * 4 + D1) // 5],
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("is_triangle", [False, True])
def test_collisions_equal_enumeration(index, is_triangle):
    points = [p for p in itertools.product(range(4), range(4)) if not is_triangle or p[1] <= p[0]]
    domain = sets.box([4, 4])
    if is_triangle:
        below = affine.Constraint(D0 - D1, equality=False)
        domain = domain.intersect(conversion.from_conjunctions(2, [[below]]))
    values = {p: tuple(i.evaluate(p) for i in index) for p in points}
    isl_index = [conversion.to_piecewise(i, 2) for i in index]
    found = collision(domain, isl_index)
    assert (found is None) == (len(set(values.values())) == len(points))
    if found is not None:
        assert found.one != found.other
        assert values[found.one] == values[found.other]
    for parallel in (0, 1, 2):
        owners = {(v, p[:parallel]) for p, v in values.items()}
        disjoint = len(owners) == len(set(values.values()))
        assert are_writes_disjoint(domain, isl_index, parallel) == disjoint
