"""One piece in place of several: exact points, exact loops, and no piece where there is none."""

import islpy as isl
import pytest

from ted.domain.fibres import MAX_PIECES, solve_fibres, wanted_pieces
from ted.domain.guarded import guarded_piece
from ted.domain.loops import loop_nests
from unit.domain.random_maps import random_problem, visited
from unit.domain.test_fibres import check_against_enumeration


def functions(text: str, index: list[str]) -> tuple[isl.Set, list[isl.PwAff]]:
    dims = text[text.index("[") : text.index("]") + 1]
    return isl.Set(text), [isl.PwAff(f"{{ {dims} -> [{value}] }}") for value in index]


CLAMPS = [
    ("{ [i] : 0 <= i < 12 }", "min(max(i - 2, 0), 7)"),
    ("{ [i] : 0 <= i < 12 }", "min(i, 7)"),
    ("{ [i] : 0 <= i < 12 }", "max(i - 3, 0)"),
    ("{ [i, j] : 0 <= i < 12 and 0 <= j < 3 }", "min(max(i + j - 2, 0), 7)"),
    ("{ [i, j] : 0 <= i < 9 and 0 <= j <= i }", "min(max(2i + j - 4, 0), 11)"),
]


@pytest.mark.parametrize(("text", "value"), CLAMPS)
def test_a_clamp_is_one_piece_that_loops_visit_exactly(text: str, value: str) -> None:
    domain, index = functions(text, [value])
    piece = guarded_piece(domain, index)
    assert piece is not None
    (nest,) = loop_nests(piece.domain)
    assert not nest.guard
    points = visited(nest, len(piece.extents))
    assert len(points) == len(set(points)) == domain.count_val().to_python()


def test_random_maps_have_one_exact_piece_or_none() -> None:
    found = 0
    for seed in range(600):
        problem = random_problem(seed)
        piece = guarded_piece(problem.domain, problem.functions)
        if piece is not None:
            check_against_enumeration(problem, [piece])
            found += 1
    assert found > 15


def test_a_mirror_has_no_convex_fibres_and_stays_in_pieces() -> None:
    assert guarded_piece(*functions("{ [i] : 0 <= i < 12 }", ["max(2 - i, i - 2)"])) is None


def clamps(count: int) -> tuple[isl.Set, list[isl.PwAff]]:
    names = [f"i{k}" for k in range(count)]
    bounds = " and ".join(f"0 <= {n} < 6" for n in names)
    index = [f"min(max({n} - 1, 0), 3)" for n in names]
    return functions(f"{{ [{', '.join(names)}] : {bounds} }}", index)


def test_above_the_limit_a_map_is_one_piece() -> None:
    assert (len(solve_fibres(*clamps(3))), wanted_pieces(*clamps(3))) == (27, 27)
    assert (len(solve_fibres(*clamps(4))), wanted_pieces(*clamps(4))) == (1, 81)
    assert wanted_pieces(*clamps(4)) > MAX_PIECES


def test_a_caller_may_want_fewer_pieces() -> None:
    domain, index = clamps(2)
    assert len(solve_fibres(domain, index)) == 9
    assert len(solve_fibres(domain, index, most=1)) == 1


def test_more_residue_classes_than_the_limit_are_one_piece() -> None:
    domain, index = functions("{ [i, k] : 0 <= i < 10 and 0 <= k < 70 }", ["64i + k"])
    assert (len(solve_fibres(domain, index)), wanted_pieces(domain, index)) == (1, 64)
