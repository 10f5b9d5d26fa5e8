"""Loop nests visit the points of a set, each once, with few empty trips."""

import islpy as isl
import pytest

from ted.domain import sets
from ted.domain.loops import LoopNest, loop_nests
from ted.errors import DomainError
from unit.domain.random_maps import Point, constant, enumerate_set, random_problem, visited


def scanned(nest: LoopNest, rank: int) -> list[Point]:
    return [p for p in visited(nest, rank) if all(c.holds(p) for c in nest.guard)]


def test_a_triangle_is_scanned_without_guard() -> None:
    (nest,) = loop_nests(isl.Set("{ [i, j] : 0 <= j <= i < 5 }"))
    assert [str(b) for b in nest.loops[1].upper] == ["d0 + 1"]
    assert nest.guard == ()
    assert len(visited(nest, 2)) == 15


def test_the_order_of_the_loops_can_be_chosen() -> None:
    (nest,) = loop_nests(isl.Set("{ [i, j] : 0 <= j <= i < 5 }"), order=[1, 0])
    assert [loop.dim for loop in nest.loops] == [1, 0]
    assert [str(b) for b in nest.loops[1].lower] == ["d1"]
    assert len(visited(nest, 2)) == 15


def test_a_stride_stays_as_guard() -> None:
    (nest,) = loop_nests(isl.Set("{ [i] : 0 <= i < 9 and i % 2 = 0 }"))
    assert [str(c) for c in nest.guard] == ["(d0 % 2) == 0"]


def test_an_unbounded_set_is_refused() -> None:
    with pytest.raises(DomainError, match="bounded"):
        loop_nests(isl.Set("{ [i] : i >= 0 }"))


def test_sets_without_dims_and_without_points() -> None:
    (nest,) = loop_nests(sets.universe(0))
    assert visited(nest, 0) == [()]
    assert loop_nests(sets.empty(2)) == ()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_divisions_of_several_dims_lose_no_point(order: tuple[int, int]) -> None:
    points = isl.Set(
        "{ [i, j] : 0 <= i <= 20 and 0 <= j <= 4 and 10*floor((-1 + 4i + 5j)/10) >= -20 + 5i + 2j "
        "and 10*floor((-1 + 4i + 5j)/10) <= -9 + 4i + 5j "
        "and 10*floor((-1 + 4i + 5j)/10) <= -8 + 5i + 2j }"
    )
    nests = loop_nests(points, order)
    assert sorted(p for nest in nests for p in scanned(nest, 2)) == enumerate_set(points)


@pytest.mark.parametrize("seed", range(150))
def test_loops_visit_each_point_once(seed: int) -> None:
    problem = random_problem(seed)
    rank = sets.rank_of(problem.domain)
    points = problem.domain.intersect(problem.functions[0].ge_set(constant(rank, 1).function))
    nests = loop_nests(points, tuple(reversed(range(rank))) if seed % 2 else None)
    points_in_order = [p for nest in nests for p in scanned(nest, rank)]
    assert sorted(points_in_order) == enumerate_set(points)
    assert sum(len(visited(nest, rank)) for nest in nests) <= 8 * len(points_in_order)
