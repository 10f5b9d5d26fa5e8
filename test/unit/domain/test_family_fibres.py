"""Fibres of maps with symbolic sizes against enumeration at many sizes."""

import itertools
from collections.abc import Sequence

import islpy as isl
import pytest

from ted.domain import parameters, sets
from ted.domain.affine import Aff
from ted.domain.fibres import solve_fibres
from ted.domain.sizes import Extent, Symbol, evaluate, symbolic

n, m = symbolic(Symbol("n")), symbolic(Symbol("m", 4, 4))
UNITS = {"n": "n", "m_from_4_by_4": "m"}  # isl parameter -> size

CASES: dict[str, tuple[Sequence[Extent], list[str]]] = {
    "overlapping windows": ([n - 2, 3], ["{[i,k]->[i+k]}"]),
    "strided windows": ([(n - 3) // 2 + 1, 3], ["{[i,k]->[2i+k]}"]),
    "contraction": ([n, m, 5], ["{[i,j,r]->[i]}", "{[i,j,r]->[r]}"]),
    "sum": ([n, m], ["{[i,j]->[j]}"]),
    "reversal": ([n], ["[n]->{[i]->[n-1-i]}"]),
    "clamp": (
        [n, 3],
        ["[n]->{[i,k]->[i+k-1]: 0<=i+k-1<n; [i,k]->[0]: i+k-1<0; [i,k]->[n-1]: i+k-1>=n}"],
    ),
    "symbolic kernel": ([n, m // 4], ["{[i,k]->[i+k]}"]),
    "quotient": ([n], ["{[i]->[floor(i/2)]}"]),
    "remainder": ([n], ["{[i]->[i mod 3]}"]),
    "circular": ([n, 3], ["[n]->{[i,k]->[i+k]: i+k<n; [i,k]->[i+k-n]: n<=i+k<2n}"]),
    "every second": ([n // 2], ["{[i]->[2i]}"]),
    "from the middle": ([n], ["[n]->{[i]->[i+floor(n/2)]}"]),
}


def _value(value: Aff, point: Sequence[int], units: dict[str, int]) -> int:
    total = value.const
    for factor, term in value.terms:
        if isinstance(term, str):
            total += factor * units[term]
        elif isinstance(term, int):
            total += factor * point[term]
        else:
            total += factor * (_value(term.inner, point, units) // term.divisor)
    return total


def _points(points: isl.Set, box: Sequence[int]) -> list[tuple[int, ...]]:
    inside = []
    for point in itertools.product(*map(range, box)):
        fixed = points
        for k, at in enumerate(point):
            fixed = fixed.fix_val(sets.SET, k, isl.Val(at))
        if not fixed.is_empty():
            inside.append(point)
    return inside


@pytest.mark.parametrize("name", CASES)
def test_pieces_hold_every_point_once_at_every_size(name: str) -> None:
    extents, index = CASES[name]
    domain = parameters.box(extents)
    functions = [isl.PwAff(text) for text in index]
    pieces = solve_fibres(domain, functions)
    for size_n, size_m in itertools.product((1, 2, 3, 5, 8), (4, 8)):
        sizes = {"n": size_n, "m": size_m}
        units = {"n": size_n, "m_from_4_by_4": size_m // 4}
        fixed = [parameters.value_at(f, units) for f in functions]
        own = [evaluate(e, sizes) for e in extents]
        expected = []
        for point in _points(parameters.at(domain, sizes), own):
            target = [_evaluated(f, point) for f in fixed]
            if None not in target:
                expected.append((tuple(target), point))
        found = []
        for piece in pieces:
            box = [evaluate(e, sizes) for e in piece.extents]
            inside = parameters.at(piece.domain, sizes)
            assert inside.is_subset(sets.box(box)), name
            for q in _points(inside, box):
                target = tuple(_value(w, q, units) for w in piece.write)
                found.append((target, tuple(_value(p, q, units) for p in piece.point)))
        assert sorted(found) == sorted(expected), (name, sizes)


def _evaluated(function: isl.PwAff, point: Sequence[int]) -> int | None:
    at = isl.Point.zero(function.get_domain_space())
    for k, coordinate in enumerate(point):
        at = at.set_coordinate_val(sets.SET, k, isl.Val(coordinate))
    value = function.eval(at)
    return sets.to_int(value) if value.is_int() else None


def test_a_gather_of_a_symbolic_extent_has_it_as_its_extent() -> None:
    (piece,) = solve_fibres(parameters.box([n, m]), [isl.PwAff("{[i,j]->[j]}")])
    assert piece.extents == (m, n)
    assert piece.parallel == 1


def test_products_of_sizes_keep_a_name_of_their_own() -> None:
    domain = parameters.box([n * m])
    (piece,) = solve_fibres(domain, [isl.PwAff("{[i]->[i]}")])
    assert piece.extents == (n * m,)
