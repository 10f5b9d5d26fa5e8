"""Some points of an equation over a smaller box: each reads and writes where it did."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.domain import sets
from ted.frontend.systems import system_of
from ted.ir.equations import Equation
from ted.transforms.part_of_box import part_of_box


def equation(rows: object = 12) -> Equation:
    x = ted.placeholder((rows, 9), "float64", name="x")
    k = ted.reduce_axis(9)
    y = ted.compute((rows,), lambda i: ted.sum(x[i, k] * (i + 2 * k), k, where=k < i), name="y")
    (made,) = system_of([x], [y]).outputs[0].equations
    return made


def accesses(made: Equation) -> set[tuple[int, ...]]:
    """The elements of `x` that are read, each with that of `y` it is added to."""
    (read,) = made.reads
    found = set()
    for point in np.ndindex(*made.extents):
        here = sets.bounding_box([(p, p) for p in point])
        if not made.domain.intersect(here).is_empty():
            found.add(tuple(value(e, point) for e in (*made.write, *read.args)))
    return found


def value(e: object, point: tuple[int, ...]) -> int:
    return int(eval(str(e), {f"d{k}": p for k, p in enumerate(point)}))


@pytest.mark.parametrize(
    "sides", [{0: range(3, 8)}, {1: range(2, 9, 3)}, {0: range(11, 12), 1: range(1, 7, 2)}, {}]
)
def test_the_points_that_are_kept_read_and_write_where_they_did(sides: dict[int, range]) -> None:
    whole = equation()
    points = whole.domain
    for d, side in sides.items():
        points = sets.within(points, d, side.start, side[-1])
    made = part_of_box(whole, points, sides)
    assert made.extents == tuple(len(sides.get(d, range(n))) for d, n in enumerate((12, 9)))
    of_sides = {a for a in accesses(whole) if all(a[2 * d] in side for d, side in sides.items())}
    assert accesses(made) == of_sides
    assert of_sides


def test_other_dims_may_be_of_any_size() -> None:
    whole = equation(ted.size("n"))
    made = part_of_box(whole, sets.within(whole.domain, 1, 4, 6), {1: range(4, 7)})
    assert [str(n) for n in made.extents] == ["n", "3"]
    assert str(made.reads[0].args[1]) == "d1 + 4"
