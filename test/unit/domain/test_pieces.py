"""Fibres from charts, and products of independent ones."""

import itertools

import pytest

from ted.domain.normalise import normalise
from ted.domain.pieces import Fibre, finish, product
from ted.errors import DomainError
from unit.domain.chart_texts import chart
from unit.domain.random_maps import enumerate_set


def listed(piece: Fibre) -> list[tuple[int, ...]]:
    values = (*piece.write, *piece.point)
    return sorted(tuple(v.evaluate(at) for v in values) for at in enumerate_set(piece.domain))


def fibre(text: str) -> Fibre:
    return finish(normalise(chart(text)))


ONE = fibre("{ [q, t] : 2 <= q < 5 and 0 <= t < 2 }")
TWO = fibre("{ [q, t] : 0 <= q < 2 and q <= t < q + 3 }")


def test_outer_dims_are_shifted_to_zero_and_values_shifted_back() -> None:
    assert ONE.extents == (3, 2)
    assert ONE.parallel == 1
    assert ONE.trips == 6
    assert listed(ONE) == [(q, q, t) for q in (2, 3, 4) for t in (0, 1)]


def test_a_loop_runs_in_the_direction_of_the_first_coordinate() -> None:
    done = finish(normalise(chart("{ [q, t] : 0 <= q < 4 and 0 <= t <= q }")))
    assert done.point[1].coefficient(1) == 1
    assert listed(done) == [(q, q, t) for q in range(4) for t in range(q + 1)]


def test_targets_without_bounds_are_refused() -> None:
    with pytest.raises(DomainError, match="every target must be bounded"):
        fibre("{ [q, t] : 0 <= q and 0 <= t < 2 }")


@pytest.mark.parametrize("order", [((0,), (1,)), ((1,), (0,))])
def test_products_put_targets_and_coordinates_where_they_belong(order) -> None:
    places = [(2 * d, 2 * d + 1) for (d,) in order]
    whole = product([ONE, TWO], order, places)
    assert whole.parallel == 2
    assert whole.trips == ONE.trips * TWO.trips
    expected = []
    for a, b in itertools.product(listed(ONE), listed(TWO)):
        targets, points = [0, 0], [0] * 4
        for (q, *rest), (d,), at in zip((a, b), order, places, strict=True):
            targets[d] = q
            for k, value in zip(at, rest, strict=True):
                points[k] = value
        expected.append((*targets, *points))
    assert listed(whole) == sorted(expected)
    firsts = [min(v.dims) for v in whole.write]
    assert firsts == sorted(firsts)
