"""Other forms of a subdomain: whatever is cut, divided or renamed, the scalar updates stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ted.linalg import boundary_strips
from ted.linalg.boundary_strips import frames
from ted.linalg.constraint_splitting import cells_of, interior_and_slabs
from ted.linalg.dead_inits import without_superfluous_inits
from ted.linalg.expanded_results import expanded
from ted.linalg.residue_classes import MOST_CLASSES, MOST_PIECES, residue_subdomains
from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Subdomain
from ted.linalg.unit_dims import squeezed, without_unit_iterations
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.mlir.scalars import shape_of
from unit.linalg.subdomains import at, box, holds, kept_subdomains, subdomain_of

PRODUCT = '%r = arith.mulf %a, %b : f32\n"ted.yield"(%r) : (f32) -> ()'
Updates = Counter[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


def element(subscripts: Sequence[ir.AffineExpr], shape: Sequence[int], point: Sequence[int]) -> int:
    """The row-major number of an element: dims of one and reshapes do not change it."""
    number = 0
    for expr, extent in zip(subscripts, shape, strict=True):
        place = at(expr, point)
        assert 0 <= place < extent
        number = number * extent + place
    return number


def in_whole(value: ir.Value, number: int) -> int:
    """The number of an element of a reshaped slice in the tensor that it is a part of."""
    reshaped = defining(value, "tensor.expand_shape")
    if reshaped is not None:
        return in_whole(reshaped.operands[0], number)
    op = defining(value, "tensor.extract_slice")
    if op is None or len(shape_of(op.operands[0])) > len(shape_of(value)):
        return number  # dims of one that are dropped
    place = np.unravel_index(number, shape_of(value))
    moved = [p + offset for p, offset in zip(place, op.attributes["static_offsets"], strict=True)]
    return int(np.ravel_multi_index(moved, shape_of(op.operands[0])))


def updates(*subdomains: Subdomain) -> Updates:
    """For every point the element that it writes, those that it reads, and its coordinates."""
    found: Updates = Counter()
    for part in subdomains:
        for point in box(part):
            if all(holds(c, point) for c in part.domain):
                reads = [
                    element(r.subscripts, shape_of(r.tensor), point)
                    if r is not None and all(holds(c, point) for c in r.guard)
                    else None
                    for r in part.reads
                ]
                number = element(part.write, shape_of(part.inits[0]), point)
                written = in_whole(part.inits[0], number)
                where = tuple(at(e, point) for e in part.coordinates)
                found[(written, *reads, where, at(part.place, point))] += 1
    return found


def each(form: Callable[[Subdomain], Subdomain]) -> Callable[[Subdomain], list[Subdomain]]:
    return lambda subdomain: [form(subdomain)]


def slabs(subdomain: Subdomain) -> list[Subdomain]:
    inside, around = interior_and_slabs(subdomain)
    return [inside, *around]


FORMS: dict[str, Callable[[Subdomain], list[Subdomain]]] = {
    "residue classes": residue_subdomains,
    "frames": frames,
    "cells": lambda subdomain: cells_of(subdomain, 64),
    "an interior and slabs": lambda subdomain: [p for p in slabs(subdomain) if not p.is_empty],
    "no unit iterations": each(without_unit_iterations),
    "no unit dims": each(lambda subdomain: squeezed(subdomain)[0]),
    "expanded results": each(lambda subdomain: expanded(subdomain)[0]),
    "no needless inits": each(without_superfluous_inits),
}

conditions = st.sampled_from([
    "0 == 0", "i - 1 >= 0", "3 - i - k >= 0", "i + k - 2 >= 0", "i - k >= 0", "(i + k) mod 2 == 0",
    "(i - k) mod 3 == 0, 2 - k >= 0", "i + j - 1 >= 0, 5 - j - k >= 0", "j == 0",
])  # fmt: skip
reads = st.sampled_from([
    ((5, 4), "i, j"), ((5, 4, 3), "i, j, k"), ((1, 4), "0, j"), ((9,), "i + k"), ((3, 1), "k, 0"),
    ((4,), "(i + k) floordiv 2"), ((6, 6), "i + 1, 5 - j"),
])  # fmt: skip
writes = st.sampled_from([
    ((5, 4), "i, j"), ((4, 5), "j, i"), ((5, 1, 4), "i, 0, j"), ((20,), "4 * i + j"),
    ((11, 4), "2 * i + 1, j"), ((2, 20), "1, i + 5 * j"), ((5, 6), "4 - i, j + 2"),
])  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize("form", FORMS)
@given(
    write=writes, first=reads, second=reads, domain=conditions,
    guards=st.tuples(conditions, conditions),
    short=st.integers(0, 3), combiner=st.sampled_from(["add", "max"]),
)  # fmt: skip
@example(  # an empty box
    write=((20,), "4 * i + j"), first=((5, 4), "i, j"), second=((5, 4), "i, j"),
    domain="i - 1 >= 0", guards=("0 == 0", "0 == 0"), short=0, combiner="add",
)  # fmt: skip
def test_other_forms_make_the_same_updates(
    form: str, write: Any, first: Any, second: Any, domain: str, guards: tuple[str, str],
    short: int, combiner: str,
) -> None:  # fmt: skip
    extents = [5, 4, 3]
    if short < 3:
        extents[short] = 1
    with kept_subdomains():
        few = boundary_strips.FEW
        boundary_strips.FEW = 1  # cut what has few points, too
        try:
            whole = subdomain_of(write, [first, second], extents, "ppr", PRODUCT, domain=domain,
                                 guards=guards, combiner=combiner)  # fmt: skip
            with ir.InsertionPoint(whole.body.owner), whole.location:
                found = FORMS[form](whole)
            assert updates(*found) == updates(whole)
        finally:
            boundary_strips.FEW = few


def window(extent: int, taps: int, divisor: int) -> Subdomain:
    """The gradient of a strided convolution along one dim: it reads where the window reaches."""
    size = -(-extent // divisor)
    place, domain = f"(i - j) floordiv {divisor}", f"(i - j) mod {divisor} == 0, i - j >= 0"
    return subdomain_of(((extent,), "i"), [((size,), place), ((taps,), "j")], (extent, taps), "pr",
                        PRODUCT, domain=domain, combiner="add")  # fmt: skip


def test_strided_windows_are_divided_into_their_residues() -> None:
    found = residue_subdomains(window(12, 5, 2))
    assert len(found) == 2
    assert all("floordiv" not in str(r.subscripts) for p in found for r in p.reads if r)
    assert all(part.unordered for part in found)
    assert [part.extents for part in found] == [(6, 3), (6, 2)]


def test_too_many_residues_stay_one() -> None:
    (same,) = residue_subdomains(whole := window(60, 40, MOST_PIECES + 1))
    assert same is whole
    (same,) = residue_subdomains(whole := window(40, 40, MOST_CLASSES))
    assert same is whole


def test_frames_hold_fewer_points_that_are_only_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = subdomain_of(((57, 4), "i, j"), [((33, 2), "i - k, l"), ((25, 2, 4), "k, l, j")],
                        (57, 4, 25, 2), "pprr", PRODUCT, combiner="add",
                        domain="i - k >= 0, 32 - i + k >= 0")  # fmt: skip
    (same,) = frames(wide)
    assert same is wide, "a few products with zero cost less"
    monkeypatch.setattr(boundary_strips, "FEW", 1)
    found = frames(wide)
    assert updates(*found) == updates(wide)
    boxes = sum(prod(part.extents) for part in found)
    points = sum(updates(wide).values())
    assert points <= boxes < boundary_strips.GROWTH * points < prod(wide.extents)


def test_what_is_written_is_a_rectangle() -> None:
    place = written_slice(
        subdomain_of(((9, 3, 8), "2 * j + 1, 2, i"), [((8, 4), "i, j")], (8, 4), "pp")
    )
    assert place is not None
    assert (place.offsets, place.sizes, place.strides) == ((1, 2, 0), (4, 1, 8), (2, 1, 1))
    assert (place.dims, place.kept) == ((1, -1, 0), [0, 2])
    for shape, write in (((8, 8), "i, i"), ((40,), "5 * i + j"), ((8, 4), "7 - i, j")):
        other = subdomain_of((shape, write), [((8, 4), "i, j")], (8, 4), "pp", combiner="add")
        assert written_slice(other) is None


@pytest.mark.parametrize(
    ("combiner", "iterators", "domain", "becomes", "is_fresh"),
    [
        ("add", "pp", "0 == 0", "set", True),  # each element of zeros gets one summand
        ("add", "pr", "0 == 0", "add", False),
        ("add", "pp", "i - j >= 0", "set", False),  # the rest stays zero
        ("mul", "pp", "0 == 0", "mul", False),  # zeros are no neutral start of products
        ("set", "pp", "0 == 0", "set", True),
    ],
)
def test_inits_that_do_not_matter_go(
    combiner: str, iterators: str, domain: str, becomes: str, is_fresh: bool
) -> None:
    write = ((5, 4), "i, j") if iterators == "pp" else ((5,), "i")
    whole = subdomain_of(
        write, [((5, 4), "i, j")], (5, 4), iterators, combiner=combiner, domain=domain
    )
    with ir.InsertionPoint(whole.body.owner), whole.location:
        found = without_superfluous_inits(whole)
    assert found.combiner == becomes
    assert (defining(found.inits[0], "tensor.empty") is not None) == is_fresh
