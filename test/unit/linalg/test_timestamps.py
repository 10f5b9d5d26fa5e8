"""Times of the points of an equation, enumerated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from ted.linalg.subdomain import Subdomain
from ted.linalg.timestamps import Timestamp, with_timestamp
from unit.linalg.subdomains import at, box, holds, kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


STEPS = 20


def timed(write: str, extents: tuple[int, int], axis: int = 0, **rest: object) -> Subdomain:
    """An equation of a history that has its times in dim `axis`."""
    shape = (STEPS, 9) if axis == 0 else (9, STEPS)
    return subdomain_of((shape, write), [((9, 9), "i, j")], extents, "pp", **rest)


WRITES = {
    "i, j": (Timestamp(0, 0, 1, 0), 0), "2 * i + 3, j": (Timestamp(0, 0, 2, 3), 0),
    "7 - i, j": (Timestamp(0, 0, 1, 2), 0), "j, 19 - 3 * i": (Timestamp(1, 0, 3, 4), 1),
    "i, j + 1": (Timestamp(1, 1, 1, 1), 1), "4, j": (Timestamp(0, -1, 0, 4), 0),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_a_timestamp_says_when_points_are_performed(write: str) -> None:
    wanted, axis = WRITES[write]
    before = timed(write, (6, 5), axis)
    subdomain, timestamp = with_timestamp(before, axis)
    assert timestamp == wanted

    def updates(p: Subdomain) -> Counter[tuple[tuple[int, ...], ...]]:
        groups = (p.write, p.coordinates, p.reads[0].subscripts)  # pyright: ignore
        return Counter(tuple(tuple(at(e, x) for e in es) for es in groups) for x in box(p))

    assert updates(subdomain) == updates(before)
    for begin in range(STEPS if timestamp.factor else 0):
        for end in (begin + 1, begin + 4):
            first, last = timestamp.values(begin, end)
            for point in box(subdomain):
                is_now = begin <= at(subdomain.write[axis], point) < end
                assert is_now == (first <= point[timestamp.dim] < last)


def test_a_time_of_two_dims_has_no_timestamp() -> None:
    subdomain = timed("i + j, j", (6, 5))
    assert with_timestamp(subdomain, 0) == (subdomain, None)
    assert with_timestamp(timed("i floordiv 2, j", (6, 5)), 0)[1] is None


CUTS = {
    "": {3, 9}, "i - 3 >= 0": {3, 6, 9}, "i - 4 == 0": {3, 7, 8, 9}, "2 * i - 5 >= 0": {3, 6, 9},
    "5 - 2 * i >= 0": {3, 6, 9}, "4 - 2 * i >= 0": {3, 6, 9}, "2 * i - 4 >= 0": {3, 5, 9},
    "8 - 2 * i == 0": {3, 7, 8, 9}, "i - j >= 0": {3, 9}, "j - 2 >= 0": {3, 9},
    "i mod 2 - 1 >= 0": set(range(3, 10)), "i - 2 >= 0, 4 - i >= 0": {3, 5, 8, 9},
}  # fmt: skip


@pytest.mark.parametrize("place", ["domain", "guards"])
@pytest.mark.parametrize("conditions", CUTS)
def test_conditions_on_the_time_alone_cut_it(conditions: str, place: str) -> None:
    text = conditions or "0 == 0"
    rest = {"domain": text} if place == "domain" else {"guards": [text]}
    subdomain, timestamp = with_timestamp(timed("i + 3, j", (6, 5), **rest), 0)
    assert timestamp is not None
    cuts = timestamp.cuts(subdomain)
    assert cuts == CUTS[conditions]
    read = subdomain.reads[0]
    assert read is not None
    constraints = [*subdomain.domain, *read.guard]
    for constraint in constraints:
        if "d1" in str(constraint.expr):
            continue
        for begin, end in pairwise(sorted(cuts)):
            assert len({holds(constraint, (t - 3, 0)) for t in range(begin, end)}) == 1


def test_cuts_are_times_and_not_values_of_the_dim() -> None:
    subdomain, timestamp = with_timestamp(timed("2 * i + 3, j", (6, 5), domain="i - 3 >= 0"), 0)
    assert timestamp is not None
    assert timestamp.cuts(subdomain) == {3, 9, 14}
    one, timestamp = with_timestamp(timed("4, j", (6, 5), domain="i - j >= 0"), 0)
    assert timestamp is not None
    assert timestamp.cuts(one) == {4, 5}


@pytest.mark.parametrize(("extent", "is_cut"), [(32, True), (33, False)])
def test_remainders_cut_few_steps_only(extent: int, is_cut: bool) -> None:
    subdomain = subdomain_of(((40, 9), "i, j"), [((40, 9), "i, j")], (extent, 5), "pp",
                     domain="i mod 2 - 1 >= 0")  # fmt: skip
    _, timestamp = with_timestamp(subdomain, 0)
    assert timestamp is not None
    assert timestamp.cuts(subdomain) == (set(range(33)) if is_cut else {0, 33})
