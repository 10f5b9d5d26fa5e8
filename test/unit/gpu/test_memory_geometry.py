"""What is said of where points meet memory, against a count of all points."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ted import dialects
from ted.gpu.bodies import FAR, steps_along
from ted.gpu.flat_views import flat_view_of, is_dense
from ted.gpu.strided_boxes import Region, Side, region_of
from ted.gpu.strided_footprints import footprint_of
from ted.gpu.vector_runs import lanes_along
from ted.machine import ACCESS_BYTES
from unit.gpu.views import Read, forget, points, reads, work_on

EXTENTS = (3, 2, 4)
boxes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
sides = st.builds(Side, st.integers(0, 12), st.integers(1, 4), st.integers(1, 5))


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Read]]:
    """A box, and a read and a write at its points."""
    extents = draw(boxes)
    return extents, [draw(reads(extents)) for _ in range(2)]


def places(side: Side) -> set[int]:
    """The places of a side, one by one."""
    return set(range(side.start, side.last + 1, side.step))


@given(sides, sides)
def test_sides_that_do_not_meet_have_no_place_in_common(a: Side, b: Side) -> None:
    if places(a) & places(b):
        assert a.meets(b)
        assert b.meets(a)
    assert a.meets(a)


def test_sides_are_told_apart_by_their_residues_and_ends() -> None:
    assert not Side(0, 2, 5).meets(Side(1, 2, 5))
    assert not Side(0, 4, 3).meets(Side(2, 4, 2))
    assert not Side(0, 1, 4).meets(Side(4, 1, 4))
    assert not Side(3).meets(Side(0, 2, 4))
    assert Side(4).meets(Side(0, 2, 4))


@given(cases())
def test_addresses_are_those_of_the_points(case: Any) -> None:
    extents, given_reads = case
    with dialects.session():
        work = work_on(given_reads, extents)
        for operand, read in zip((work.inputs[1], *work.outputs), given_reads, strict=True):
            flat, address = flat_view_of(operand.value), operand.address
            assert flat is not None
            assert address is not None
            assert not flat.start.terms
            for point in points(extents):
                number = flat.start.constant + address.constant
                number += sum(address[d] * p for d, p in enumerate(point))
                assert number == read.at(point)
            for dim in range(len(extents)):
                assert steps_along(operand, dim) == address[dim] < FAR
            inside = read.numbers().ravel().tolist()
            is_run = inside == list(range(inside[0], inside[0] + len(inside)))
            assert is_dense(operand.value) == is_run
        forget()


@given(cases())
def test_places_have_the_elements_of_the_points_in_order(case: Any) -> None:
    extents, given_reads = case
    with dialects.session():
        work = work_on(given_reads, extents)
        place = footprint_of(work.outputs[0], extents)
        assert place is not None
        found = [place.start.constant]
        for extent, step in place.sides:
            found = [n + k * step for n in found for k in range(extent)]
        assert found == [given_reads[1].at(point) for point in points(extents)]
        forget()


@given(cases())
def test_regions_are_the_elements_that_are_written_once(case: Any) -> None:
    extents, given_reads = case
    with dialects.session():
        work = work_on(given_reads, extents)
        region, read = region_of(work.outputs[0], extents), given_reads[1]
        if region is not None:
            met = {read.at(point) for point in points(extents)}
            assert set(_elements(region)) == met
            assert region.size == len(met)
            assert region.is_whole == (len(met) == read_size(read))
        forget()


def test_most_strided_writes_have_a_region() -> None:
    found = 0
    with dialects.session():
        for step in (1, 2, 3):
            write = Read((9, 4), (), ((step, 0, 1), (0, 1, 0)))
            work = work_on([write, write], (3, 4))
            region = region_of(work.outputs[0], (3, 4))
            found += region is not None and region.sides[0] == Side(1, step, 3, 0)
        forget()
    assert found == 3


def read_size(read: Read) -> int:
    """Elements of the memory."""
    size = 1
    for extent in read.shape:
        size *= extent
    return size


def _elements(region: Region) -> list[int]:
    found = [0]
    for side, extent in zip(region.sides, region.shape, strict=True):
        found = [n * extent + place for n in found for place in sorted(places(side))]
    return found


@given(cases(), st.sampled_from([("i8", 1), ("f16", 2), ("f32", 4), ("f64", 8)]))
def test_points_of_a_thread_fill_vectors_and_divide_the_dim(case: Any, kind: Any) -> None:
    extents, given_reads = case
    name, size = kind
    with dialects.session():
        work = work_on(given_reads, extents, name)
        for dim, extent in enumerate(extents):
            lanes = lanes_along(work, dim)
            assert extent % lanes == 0
            assert lanes <= max(ACCESS_BYTES // size, 4)
            if lanes > 1:
                steps = {steps_along(o, dim) for o in (*work.inputs, *work.outputs)}
                assert 1 in steps
        forget()
