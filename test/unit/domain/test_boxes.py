"""Boxes hold what they join, and grow until they stay or are whole."""

from __future__ import annotations

import itertools

import pytest

from ted.domain.boxes import Sides, joined, settled

RANGES = [range(0, 1), range(3, 4), range(0, 5, 2), range(1, 8, 3), range(4, 7), range(2, 11, 4)]


@pytest.mark.parametrize(("a", "b"), [*itertools.product(RANGES, RANGES)])
def test_a_joined_side_is_the_shortest_that_holds_both(a: range, b: range) -> None:
    (found,) = joined([a], [b])
    both = {*a, *b}
    assert both <= {*found}
    assert (min(found), max(found)) == (min(both), max(both))
    longer = [s for s in range(found.step + 1, 12) if both <= {*range(min(both), 20, s)}]
    assert len(both) == 1 or not longer


def test_one_box_joined_with_none_stays() -> None:
    assert joined(None, [range(2)]) == joined([range(2)], None) == [range(2)]


def test_boxes_settle_where_nothing_grows() -> None:
    def grown(boxes: dict[str, Sides]) -> dict[str, Sides]:
        return boxes | {"b": joined(boxes.get("b"), boxes["a"])}

    found = settled({"a": [range(1, 3)]}, grown, lambda _: [range(99)])
    assert found == {"a": [range(1, 3)], "b": [range(1, 3)]}


def test_a_side_that_goes_on_growing_becomes_whole_and_the_others_stay() -> None:
    rounds: list[int] = []

    def grown(boxes: dict[str, Sides]) -> dict[str, Sides]:
        rounds.append(1)
        side, other = boxes["a"]
        return {"a": [range(min(side[-1] + 2, 99)), other]}

    found = settled({"a": [range(1), range(7)]}, grown, lambda _: [range(99), range(50)])
    assert found == {"a": [range(99), range(7)]}
    assert len(rounds) < 10
