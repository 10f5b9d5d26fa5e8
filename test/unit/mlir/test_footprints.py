"""Where points of boxes meet, against all of their places one by one."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any, cast

from ted.domain.linear import Form
from ted.mlir.footprints import Footprint

MEMORY = cast("Any", None)


def drawn(random: Random, sides: Any = None) -> Footprint:
    if sides is None:
        rank = random.randrange(4)
        sides = [(random.randint(2, 4), random.choice([-8, -3, -1, 0, 1, 2, 3, 4, 8]))
                 for _ in range(rank)]  # fmt: skip
    terms = random.choice([(), (), (("i", 2),)])
    return Footprint(MEMORY, Form[Any](random.randint(0, 9), terms), tuple(sides))


def places(one: Footprint) -> dict[tuple[int, ...], int]:
    """Point -> its element, where the terms of the start are 0."""
    points = itertools.product(*(range(extent) for extent, _ in one.sides))
    steps = [step for _, step in one.sides]
    return {
        point: one.start.constant + sum(k * s for k, s in zip(point, steps, strict=True))
        for point in points
    }


def pairs(count: int) -> list[tuple[Footprint, Footprint]]:
    random, found = Random(0), []
    for _ in range(count):
        one = drawn(random)
        same = [(random.randint(2, 4), step) for _, step in one.sides]
        found.append((one, drawn(random, random.choice([one.sides, same, None]))))
    return found


def test_what_is_beside_shares_no_element() -> None:
    said = 0
    for one, other in pairs(3000):
        apart = not set(places(one).values()) & set(places(other).values())
        found = one.is_beside(other)
        if one.start.terms != other.start.terms:
            assert not found
        assert apart or not found, (one, other)
        said += found
    assert said > 300


def test_points_that_are_kept_apart_meet_at_their_own_element_only() -> None:
    said = 0
    for one, other in pairs(3000):
        mine, others = places(one), places(other)
        meet = [p for p in mine for q in others if p != q and mine[p] == others[q]]
        found = one.keeps_apart(other)
        assert not (found and meet), (one, other)
        said += found
    assert said > 150


def test_a_footprint_has_as_many_points_as_its_box() -> None:
    for one, _ in pairs(50):
        assert one.size == len(places(one))
        spread = len(set(places(one).values())) == one.size
        assert spread or not one.keeps_apart(one)
    row = Footprint(MEMORY, Form[Any](3), ((2, 8), (4, 2)))
    assert row.keeps_apart(row)
    assert row.is_beside(Footprint(MEMORY, Form[Any](4), ((2, 8), (4, 2))))
    assert not row.is_beside(Footprint(MEMORY, Form[Any](5), ((2, 8), (4, 2))))
