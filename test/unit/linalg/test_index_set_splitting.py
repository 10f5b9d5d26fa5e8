"""Disjoint parts of an equation with conditions: together they update what the whole updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import ted
from ted.cpu.pipeline import CPU_STAGES
from ted.domain.budget import BudgetExhausted
from ted.ir.pipelines import run_stages
from ted.linalg import index_set_splitting
from ted.linalg.index_set_splitting import MOST_PARTS, Part, parts_of
from ted.linalg.subdomain import Subdomain
from ted.testing.tracing import module_of, nodes
from unit.domain.random_maps import enumerate_set
from unit.linalg.subdomains import Access, at, box, holds, kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


SUM = '%r = arith.addf %a, %b : f32\n"ted.yield"(%r) : (f32) -> ()'
PRODUCT = '%r = arith.mulf %a, %b : f32\n"ted.yield"(%r) : (f32) -> ()'
FREE = "0 == 0"


def equation(body: str, *conditions: str, domain: str = FREE, combiner: str = "set") -> Subdomain:
    """An equation on 9 x 8 points whose two reads have guards."""
    read: Access = ((9, 8), "i, j")
    return subdomain_of(read, [read, read], (9, 8), "pp", body, domain=domain, guards=conditions,
                    combiner=combiner)  # fmt: skip


def updates(subdomain: Subdomain, where: Any = None) -> Counter[tuple[Any, ...]]:
    """Where each point writes, and where it reads; a read outside of its guard is None."""
    found: Counter[tuple[Any, ...]] = Counter()
    for point in box(subdomain) if where is None else enumerate_set(where):
        if not all(holds(c, point) for c in subdomain.domain):
            continue
        reads = [
            None
            if r is None or not all(holds(c, point) for c in r.guard)
            else tuple(at(e, point) for e in r.subscripts)
            for r in subdomain.reads
        ]
        found[(tuple(at(e, point) for e in subdomain.write), *reads)] += 1
    return found


def together(of: list[Part]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for part in of:
        found += updates(part.subdomain, part.points)
    return found


# Conditions of the two reads, and how many boxes and how many other parts that makes.
CONDITIONS = {
    "none": (FREE, FREE, 1, 0),
    "a row of one": ("i - 1 >= 0", FREE, 2, 0),
    "both sides of one": ("i - 1 >= 0, 7 - i >= 0", FREE, 3, 0),
    "rows of one, columns of the other": ("i - 1 >= 0", "6 - j >= 0", 4, 0),
    "the same of both": ("i - 1 >= 0", "i - 1 >= 0", 2, 0),
    "the opposite of both": ("i - 5 >= 0", "4 - i >= 0", 2, 0),
    "a triangle": ("i - j >= 0", FREE, 0, 2),
    "two triangles": ("i - j >= 0", "j - i >= 0", 0, 3),
    "a triangle and a row": ("i - j >= 0", "i - 1 >= 0", 2, 2),
    "a residue class": ("i mod 3 == 0", FREE, 0, 2),
    "never": ("i - 9 >= 0", FREE, 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", CONDITIONS)
def test_conditions_are_decided_on_disjoint_parts(case: str) -> None:
    first, second, boxes, others = CONDITIONS[case]
    subdomain = equation(SUM, first, second)
    found = parts_of(subdomain)
    assert together(found) == updates(subdomain)
    assert all(not part.subdomain.domain for part in found)
    assert not any(r is not None and r.guard for part in found for r in part.subdomain.reads)
    assert [part.points is None for part in found].count(True) == boxes
    assert len(found) == boxes + others
    assert all(part.subdomain.unordered for part in found if part.points is not None)


STAR = [
    f"{d} - {low} >= 0, {top} - {d} >= 0"
    for d in "ijk" for low, top in ((0, 38), (1, 39))
]  # fmt: skip


SIX = '%r = arith.addf %a, %f : f32\n"ted.yield"(%r) : (f32) -> ()'


def star(extent: int, *guards: str, body: str = SIX, combiner: str = "set") -> Subdomain:
    """A map on a cube that reads under these conditions."""
    read: Access = ((extent,) * 3, "i, j, k")
    return subdomain_of(read, [read] * len(guards), (extent,) * 3, "ppp", body, guards=guards,
                    combiner=combiner)  # fmt: skip


@pytest.mark.slow
def test_many_conditions_leave_an_interior_and_two_slabs_for_each_dim() -> None:
    subdomain = star(40, *STAR)
    inside, *slabs = parts_of(subdomain)
    assert inside.subdomain.extents == (38, 38, 38)
    assert not any(r is None or r.guard for r in inside.subdomain.reads)
    sizes = [part.subdomain.extents for part in slabs]
    assert sizes == [(1, 40, 40)] * 2 + [(38, 1, 40)] * 2 + [(38, 38, 1)] * 2
    assert [part.points is None for part in slabs] == [False] * 4 + [True] * 2, "decided at last"
    assert together([inside, *slabs]) == updates(subdomain)


def test_slabs_that_are_most_of_it_are_not_cut_off() -> None:
    """Half of the points are at the border: conditions are tested at each of them all."""
    guards = [f"{d} - {low} >= 0, {top} - {d} >= 0" for d in "ijk" for low, top in ((0, 6), (1, 7))]
    (part,) = parts_of(star(8, *guards))
    assert part.subdomain.extents == (8, 8, 8)


CROSS = ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))  # how far five pieces are shifted


def test_thin_borders_are_slabs_if_boxes_are_twice_as_many() -> None:
    def sizes(extent: int, shifts: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
        read: Access = ((extent, extent), "i, j")
        guards = [
            f"i - {a} >= 0, {a + extent - 3} - i >= 0, j - {b} >= 0, {b + extent - 3} - j >= 0"
            for a, b in shifts
        ]
        body = '%r = arith.addf %a, %b : f32\n"ted.yield"(%r) : (f32) -> ()'
        subdomain = subdomain_of(read, [read] * len(guards), (extent,) * 2, "pp", body,
                             guards=guards)  # fmt: skip
        return [part.subdomain.extents for part in parts_of(subdomain)]

    assert sizes(300, CROSS) == [(296, 296), (2, 300), (2, 300), (296, 2), (296, 2)]
    read: Access = ((300, 300), "i, j")
    few = subdomain_of(read, [read] * 2, (300, 300), "pp", SUM, guards=["i - 1 >= 0", "j - 1 >= 0"])
    assert [part.points is None for part in parts_of(few)] == [True] * 4, "boxes, not three slabs"


def test_slabs_that_add_nothing_are_left_out() -> None:
    both = equation(PRODUCT, "i - 1 >= 0", "7 - i >= 0", combiner="add")
    (part,) = index_set_splitting._inside_of_slabs(both, MOST_PARTS, 1 / 2)
    assert (part.subdomain.extents, part.points) == ((7, 8), None)


def test_no_more_parts_than_asked_for() -> None:
    assert len(parts_of(star(40, *STAR), most=7)) == 7
    assert len(parts_of(star(40, *STAR), most=6)) == 1


def test_parts_of_a_sum_that_add_nothing_are_left_out() -> None:
    subdomain = equation(PRODUCT, "i - 2 >= 0", "5 - j >= 0", combiner="add")
    (part,) = parts_of(subdomain)
    assert part.subdomain.extents == (7, 6)
    assert not part.subdomain.unordered
    assert all(None not in key[1:] for key in together([part]))
    assert sum(together([part]).values()) == 7 * 6
    assert parts_of(equation(PRODUCT, "i - 9 >= 0", combiner="add")) == []
    assert len(parts_of(equation(PRODUCT, "i - 9 >= 0"))) == 1


def test_a_domain_is_scanned_by_its_own_bounds() -> None:
    square = equation(SUM, domain="i - 1 >= 0, 6 - j >= 0")
    (part,) = parts_of(square)
    assert (part.subdomain.extents, part.points) == ((8, 7), None)
    triangle = equation(SUM, domain="i - j - 3 >= 0")
    (part,) = parts_of(triangle)
    assert part.subdomain.extents == (6, 6)
    assert together([part]) == updates(triangle)


@pytest.mark.parametrize("guards", [(), ("i - 1 >= 0",)])
def test_a_domain_without_a_point_has_no_parts(guards: tuple[str, ...]) -> None:
    """There are rational points, which isl does not look behind by itself."""
    domain = "2 * i + 17 * j - 3 == 0"
    assert parts_of(equation(SUM, *guards, domain=domain)) == []


def test_conditions_that_make_too_many_parts_are_tested_at_each_point() -> None:
    guards = ["(i + j) mod 2 == 0", "(i + 2 * j) mod 3 == 0", "(2 * i + j) mod 5 - 2 >= 0",
              "(i + 3 * j) mod 7 - 3 >= 0", "i - j >= 0"]  # fmt: skip
    read, body = ((9, 8), "i, j"), '"ted.yield"(%e) : (f32) -> ()'
    many = subdomain_of(read, [read] * 5, (9, 8), "pp", body, guards=guards)
    (part,) = parts_of(many)
    assert part.subdomain == many
    assert part.points is not None
    assert together([part]) == updates(many)
    few = subdomain_of(read, [read] * 3, (9, 8), "pp", guards=guards[:3], domain="2 * i - j >= 0")
    assert 1 < len(parts_of(few)) <= MOST_PARTS
    assert together(parts_of(few)) == updates(few)


def test_conditions_that_take_too_long_to_decide_are_tested_at_each_point(monkeypatch) -> None:
    def exhausted(*_: object) -> Iterator[None]:
        raise BudgetExhausted("too long")

    subdomain = equation(SUM, "i - j >= 0", domain="i - 1 >= 0")
    monkeypatch.setattr(index_set_splitting, "_decided", exhausted)
    (part,) = parts_of(subdomain)
    assert part.points is not None
    assert part.subdomain.reads == subdomain.cut((1, 0), (8, 8)).reads
    assert together([part]) == updates(subdomain)


def test_a_write_at_data_keeps_its_guards_and_scans_its_domain() -> None:
    read = ((9, 8), "i, j")
    body = """%k = arith.constant 3 : index
    "ted.yield"(%a, %k) : (f32, index) -> ()"""
    for domain, whole in ((FREE, True), ("i - j >= 0", False)):
        subdomain = subdomain_of(((9,), "s0"), [read], (9, 8), "rr", body, combiner="add",
                         guards=["i - 1 >= 0"], domain=domain, symbols="[s0]")  # fmt: skip
        (part,) = parts_of(subdomain)
        assert part.subdomain == subdomain
        assert (part.points is None) == whole
        if not whole:
            inside = {p for p in box(subdomain) if p[0] >= p[1]}
            assert set(enumerate_set(part.points)) == inside


def test_guards_are_decided_in_the_order_of_the_reads() -> None:
    inputs = [ted.placeholder((12,), "float64", name=name) for name in "abcd"]

    def element(i: ted.Scalar, j: ted.Scalar) -> ted.Scalar:
        a, b, c, d = inputs
        ahead = ted.where(i >= j + 1, a[i - j - 1], 0.0) * ted.where(i >= j + 3, b[i - j - 3], 1.0)
        behind = ted.where(j >= i + 2, c[j - i - 2], 1.0) + ted.where(j >= i + 5, d[j - i - 5], 0.0)
        return ahead * behind

    def lowered() -> str:
        module = module_of(nodes(inputs, "test"), nodes([ted.compute((12, 12), element)], "test"))
        with module.context:
            return str(run_stages(module, CPU_STAGES, "linalg"))

    assert len({lowered() for _ in range(8)}) == 1
