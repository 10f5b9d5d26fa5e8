"""The fibre solver against enumeration, on random maps and on the forms it is meant to find."""

import math
import random
from collections.abc import Sequence

import islpy as isl
import pytest

from sweeps import blocks
from ted.domain import sets
from ted.domain.budget import BudgetExhausted
from ted.domain.counting import count, count_points
from ted.domain.fibres import Fibre, solve_fibres
from ted.domain.loops import loop_nests
from ted.errors import DomainError
from unit.domain.random_maps import Problem, enumerate_set, random_problem, random_value, visited


def fibres(text: str, index: Sequence[str], keep_last: int = 0, **options: bool) -> list[Fibre]:
    """`text` is a set such as `{ [i, j] : ... }`, `index` expressions of its dims."""
    dims = text[text.index("[") : text.index("]") + 1]
    functions = [isl.PwAff(f"{{ {dims} -> [{value}] }}") for value in index]
    return list(solve_fibres(isl.Set(text), functions, keep_last, **options))


def show(values: Sequence[object]) -> list[str]:
    return [str(value) for value in values]


def fills_its_box(fibre: Fibre) -> bool:
    return fibre.domain.is_equal(sets.box(fibre.extents))


def check_against_enumeration(problem: Problem, pieces: Sequence[Fibre]) -> None:
    """Each point of the domain occurs once, with its own target, which only one q writes."""
    reached: list[tuple[int, ...]] = []
    for piece in pieces:
        assert piece.domain.is_subset(sets.box(piece.extents))
        written: dict[tuple[int, ...], tuple[int, ...]] = {}
        for at in enumerate_set(piece.domain):
            point = tuple(value.evaluate(at) for value in piece.point)
            target = tuple(value.evaluate(at) for value in piece.write)
            assert target == problem.target(point)
            assert written.setdefault(target, at[: piece.parallel]) == at[: piece.parallel]
            reached.append(point)
        assert not any(d >= piece.parallel for value in piece.write for d in value.dims)
    assert sorted(reached) == list(problem.points)


@pytest.mark.fast(1)
@blocks(20, 120)
def test_random_maps_are_inverted_exactly(seeds: range) -> None:
    for seed in seeds:
        problem = random_problem(seed)
        check_against_enumeration(problem, solve_fibres(problem.domain, problem.functions))


@pytest.mark.parametrize("seeds", [range(n, n + 20) for n in range(1000, 1060, 20)], ids=str)
def test_random_maps_are_inverted_exactly_without_residue_classes(seeds: range) -> None:
    for seed in seeds:
        problem = random_problem(seed)
        pieces = solve_fibres(problem.domain, problem.functions, 1, split=False)
        check_against_enumeration(problem, pieces)


WINDOW = (
    "{ [n, o, y, x, c, h, w] : 0 <= n < 32 and 0 <= o < 128 and 0 <= y < 28 and 0 <= x < 28"
    " and 0 <= c < 64 and 0 <= h < 3 and 0 <= w < 3"
    " and 0 <= 2y + h - 1 < 56 and 0 <= 2x + w - 1 < 56 }"
)


def test_a_strided_window_in_two_dims_gives_four_classes_without_divisions() -> None:
    pieces = fibres(WINDOW, ["n", "c", "2y + h - 1", "2x + w - 1"], 3)
    assert [piece.extents for piece in pieces] == [
        (32, 64, 28, 28, 128),
        (32, 64, 28, 28, 128, 2),
        (32, 64, 28, 28, 128, 2),
        (32, 64, 28, 28, 128, 2, 2),
    ]
    assert all(value.is_affine for piece in pieces for value in (*piece.write, *piece.point))
    last = pieces[-1]
    assert show(last.write) == ["d0", "d1", "2*d2 + 1", "2*d3 + 1"]
    assert show(last.point) == ["d0", "d4", "d2 + d5", "d3 + d6", "d1", "-2*d5 + 2", "-2*d6 + 2"]


def test_without_residue_classes_the_strided_window_is_one_piece() -> None:
    (piece,) = fibres(WINDOW, ["n", "c", "2y + h - 1", "2x + w - 1"], 3, split=False)
    assert piece.extents == (32, 64, 56, 56, 128, 2, 2)
    assert not piece.point[2].is_affine


def test_a_window_of_unit_stride_is_one_piece_with_the_kernel_as_loop() -> None:
    (piece,) = fibres("{ [i, k] : 0 <= i < 10 and 0 <= k < 3 }", ["i + k"], 1)
    assert (piece.extents, piece.parallel) == ((12, 3), 1)
    assert show(piece.point) == ["d0 + d1 - 2", "-d1 + 2"]


def test_windows_side_by_side_need_no_loop_and_no_guard() -> None:
    (piece,) = fibres("{ [i, k] : 0 <= i < 20 and 0 <= k < 2 }", ["2i + k"], 1)
    assert (piece.extents, piece.parallel) == ((20, 2), 2)
    assert show(piece.write) == ["2*d0 + d1"]
    assert fills_its_box(piece)


def test_a_common_factor_of_stride_and_dilation_leaves_one_class() -> None:
    bounds = "0 <= i < 20 and 0 <= k < 3"
    (piece,) = fibres(f"{{ [i, k] : {bounds} and 0 <= 2i + 2k - 2 < 38 }}", ["2i + 2k - 2"], 1)
    assert show(piece.write) == ["2*d0"]
    assert show(piece.point) == ["d0 + d1 - 1", "-d1 + 2"]


def test_stride_and_dilation_without_common_factor_have_affine_classes() -> None:
    bounds = "0 <= i < 20 and 0 <= k < 3"
    pieces = fibres(f"{{ [i, k] : {bounds} and 0 <= 2i + 3k < 40 }}", ["2i + 3k"], 1)
    assert len(pieces) == 2
    assert all(value.is_affine for piece in pieces for value in piece.point)


@pytest.mark.parametrize(
    ("text", "index", "write", "point"),
    [
        ("{ [i] : 0 <= i < 8 }", ["i", "i"], ["d0", "d0"], ["d0"]),
        ("{ [i] : 0 <= i < 8 }", ["i", "7 - i"], ["d0", "-d0 + 7"], ["d0"]),
        ("{ [i] : 0 <= i < 8 }", ["3i + 2"], ["3*d0 + 2"], ["d0"]),
        ("{ [i] : 0 <= i < 8 }", ["2i", "3"], ["2*d0", "3"], ["d0"]),
        ("{ [i, j] : 0 <= i < 8 and 0 <= j < 5 }", ["j", "i"], ["d0", "d1"], ["d1", "d0"]),
    ],
)
def test_an_injective_map_is_a_write_map_over_a_dense_box(
    text: str, index: list[str], write: list[str], point: list[str]
) -> None:
    (piece,) = fibres(text, index)
    assert piece.parallel == len(piece.extents)
    assert fills_its_box(piece)
    assert (show(piece.write), show(piece.point)) == (write, point)


def test_a_quotient_reads_whole_blocks() -> None:
    (piece,) = fibres("{ [i] : 0 <= i < 12 }", ["i // 4"])
    assert (piece.extents, piece.parallel, show(piece.point)) == ((3, 4), 1, ["4*d0 + d1"])
    assert fills_its_box(piece)


def test_a_remainder_reads_every_period() -> None:
    (piece,) = fibres("{ [i] : 0 <= i < 15 }", ["i % 5"])
    assert (piece.extents, piece.parallel, show(piece.point)) == ((5, 3), 1, ["d0 + 5*d1"])
    assert fills_its_box(piece)


def test_quotient_and_remainders_of_one_dim_are_a_reshape() -> None:
    (piece,) = fibres(
        "{ [n, f] : 0 <= n < 32 and 0 <= f < 200704 }",
        ["n", "f // 3136", "(f // 56) % 56", "f % 56"],
    )
    assert (piece.extents, piece.parallel) == ((32, 64, 56, 56), 4)
    assert show(piece.point) == ["d0", "3136*d1 + 56*d2 + d3"]
    assert fills_its_box(piece)


def test_groups_of_channels_keep_their_channels_apart() -> None:
    (piece,) = fibres("{ [o, c] : 0 <= o < 8 and 0 <= c < 4 }", ["(o // 4) * 4 + c"], 1)
    assert (piece.extents, piece.parallel) == ((2, 4, 4), 2)
    assert show(piece.write) == ["4*d0 + d1"]
    assert show(piece.point) == ["4*d0 + d2", "d1"]
    assert fills_its_box(piece)


def test_a_clamp_gives_its_interior_and_its_edge() -> None:
    inner, edge = fibres("{ [i, j] : 0 <= i < 10 and 0 <= j < 4 }", ["min(i + j, 9)", "j"])
    assert show(inner.point) == ["d0 - d1", "d1"]
    assert show(edge.write) == ["9", "d0 + 1"]
    assert (edge.extents, edge.parallel) == ((3, 3), 1)


def test_a_reflection_gives_two_copies() -> None:
    pieces = fibres("{ [i] : 0 <= i < 10 }", ["max(2 - i, i - 2)"])
    assert [(p.extents, show(p.point)) for p in pieces] == [
        ((2,), ["-d0 + 1"]),
        ((8,), ["d0 + 2"]),
    ]


def test_a_triangle_stays_a_guard() -> None:
    (piece,) = fibres("{ [i, j] : 0 <= j <= i < 10 }", ["i", "j"])
    assert piece.extents == (10, 10)
    assert len(enumerate_set(piece.domain)) == 55


def test_a_skew_has_one_class_per_residue() -> None:
    pieces = fibres("{ [i, j] : 0 <= i < 8 and 0 <= j < 7 }", ["2i + 3j"])
    assert len(pieces) == 3
    assert all(value.is_affine for piece in pieces for value in piece.point)
    assert sum(len(enumerate_set(piece.domain)) for piece in pieces) == 56


def test_a_resize_by_a_fraction_is_dense_in_classes() -> None:
    pieces = fibres("{ [i] : 0 <= i < 80 }", ["(5 * i) // 8"])
    assert len(pieces) == 5
    assert all(fills_its_box(piece) for piece in pieces)


def test_a_dim_that_the_index_does_not_use_is_a_loop() -> None:
    (piece,) = fibres("{ [i, j] : 0 <= i < 8 and 0 <= j < 5 }", ["i"])
    assert (piece.extents, piece.parallel) == ((8, 5), 1)


def test_stride_and_dilation_above_one_read_without_division() -> None:
    bounds = "0 <= i < 111 and 0 <= k < 3"
    pieces = fibres(f"{{ [i, k] : {bounds} and 0 <= 3i + 2k - 2 < 332 }}", ["3i + 2k - 2"], 1)
    assert [show(piece.write) for piece in pieces] == [["3*d0"], ["3*d0 + 1"], ["3*d0 + 2"]]
    assert all(fills_its_box(piece) and len(piece.extents) == 1 for piece in pieces)


def test_digits_of_a_number_are_dims_of_their_own() -> None:
    (piece,) = fibres(
        "{ [c, y, x] : 0 <= c < 4 and 0 <= y < 16 and 0 <= x < 16 }",
        ["4c + 2 * (y % 2) + x % 2", "y // 2", "x // 2"],
    )
    assert (piece.extents, piece.parallel) == ((4, 2, 2, 8, 8), 5)
    assert show(piece.write) == ["4*d0 + 2*d1 + d2", "d3", "d4"]
    assert show(piece.point) == ["d0", "d1 + 2*d3", "d2 + 2*d4"]
    assert fills_its_box(piece)


def test_sparse_targets_without_repetition_are_written_directly() -> None:
    (piece,) = fibres(
        "{ [i, j, k] : 0 <= i < 7 and 0 <= j < 3 and 0 <= k < 2 }",
        ["2k - 2i + 12", "i", "3i + 2j"],
    )
    assert (piece.extents, piece.parallel) == ((7, 2, 3), 3)
    assert show(piece.write) == ["-2*d0 + 2*d1 + 12", "d0", "3*d0 + 2*d2"]
    assert show(piece.point) == ["d0", "d2", "d1"]
    assert fills_its_box(piece)


def test_clamps_in_three_dims_are_twenty_seven_pieces() -> None:
    dims = "[a, b, c, i, j, k]"
    bounds = "0 <= a, b, c < 16 and 0 <= i, j, k < 3"
    index = [f"min(max({x} + {r} - 1, 0), 15)" for x, r in ("ai", "bj", "ck")]
    pieces = fibres(f"{{ {dims} : {bounds} }}", index)
    assert len(pieces) == 27
    assert sum(count_points(piece.domain) for piece in pieces) == 48**3


def test_more_pieces_than_anyone_wants_are_given_up() -> None:
    dims = ", ".join(f"i{k}" for k in range(9))
    bounds = " and ".join(f"0 <= i{k} < 9" for k in range(9))
    index = [f"max(i{k} - 4, 4 - i{k})" for k in range(9)]
    for _ in range(2):  # the second time from memory
        with pytest.raises(BudgetExhausted, match="pieces"):
            fibres(f"{{ [{dims}] : {bounds} }}", index)


def test_an_unbounded_domain_is_refused() -> None:
    with pytest.raises(DomainError, match="bounded"):
        fibres("{ [i] : i >= 0 }", ["i"])


@pytest.mark.parametrize("seed", range(24))
def test_large_random_maps_lose_no_point(seed: int) -> None:
    rng = random.Random(seed)
    extents = [rng.choice([1, 3, 8, 28, 56, 224]) for _ in range(rng.randint(1, 3))]
    rank = len(extents)
    index = [random_value(rng, rank, rng.randint(1, 2)).function for _ in range(rng.randint(1, 3))]
    pieces = solve_fibres(sets.box(extents), index)
    assert sum(count(piece.domain).points for piece in pieces) >= count_points(sets.box(extents))
    if all(count(piece.domain).exact for piece in pieces):
        assert sum(count_points(piece.domain) for piece in pieces) == math.prod(extents)


def test_loops_over_the_pieces_make_few_empty_trips() -> None:
    trips, points = 0, 0
    for seed in range(80):
        problem = random_problem(seed)
        points += len(problem.points)
        for piece in solve_fibres(problem.domain, problem.functions):
            for nest in loop_nests(piece.domain):
                trips += len(visited(nest, len(piece.extents)))
    assert points <= trips <= 1.1 * points


def test_many_classes_fall_back_to_one_piece() -> None:
    bounds = " and ".join(f"0 <= i{k} < 20 and 0 <= k{k} < 5" for k in range(4))
    dims = ", ".join(f"i{k}, k{k}" for k in range(4))
    index = [f"3 * i{k} + k{k}" for k in range(4)]
    (piece,) = fibres(f"{{ [{dims}] : {bounds} }}", index)
    assert piece.extents == (62, 62, 62, 62, 2, 2, 2, 2)


def test_an_empty_domain_has_no_pieces() -> None:
    assert fibres("{ [i] : 0 <= i < 0 }", ["i"]) == []


def test_a_point_without_dims_has_one_target() -> None:
    (piece,) = solve_fibres(sets.universe(0), [isl.PwAff("{ [] -> [3] }")])
    assert (piece.extents, show(piece.write), piece.point) == ((), ["3"], ())


def test_names_of_dims_do_not_matter() -> None:
    one = fibres("{ [i, k] : 0 <= i < 10 and 0 <= k < 3 }", ["2i + k"])
    other = fibres("{ [q0, t0] : 0 <= q0 < 10 and 0 <= t0 < 3 }", ["2q0 + t0"])
    assert [(p.extents, p.write, p.point) for p in one] == [
        (p.extents, p.write, p.point) for p in other
    ]
