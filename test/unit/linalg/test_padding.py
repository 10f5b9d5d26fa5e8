"""Copies of operands: what guards say of subscripts, and which reads share a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ted.linalg.padding import LARGEST_GROWTH, Paddings, may_gather, subscript_windows
from ted.linalg.subdomain import Read, Subdomain
from ted.mlir import ir
from ted.mlir.queries import defining
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


def reading(subscripts: str, guard: str = "0 == 0", count: int = 1) -> tuple[Subdomain, list[Read]]:
    """An equation over i, j, k, and what it reads of tensors of 9 x 7 elements."""
    access = ((9, 7), subscripts)
    subdomain = subdomain_of(((9, 7), "i, j"), [access] * count, (9, 7, 5), "ppr", combiner="add",
                     guards=[guard] * count)  # fmt: skip
    return subdomain, [r for r in subdomain.reads if r is not None]


WINDOWS = {
    "0 == 0": [(0, 8), (0, 6)],
    "i + k - 1 >= 0": [(0, 8), (0, 6)],
    "i + k - 3 >= 0": [(2, 8), (0, 6)],
    "6 - i - k >= 0": [(0, 5), (0, 6)],
    "i + k - 3 >= 0, 6 - i - k >= 0": [(2, 5), (0, 6)],
    "2 * i + 2 * k - 7 >= 0": [(3, 8), (0, 6)],
    "9 - 2 * i - 2 * k >= 0": [(0, 3), (0, 6)],
    "j - 2 >= 0": [(0, 8), (2, 6)],
    "i + k - 2 >= 0, 5 - j >= 0": [(1, 8), (0, 5)],
    "i - 1 >= 0": None,
    "i + k + j - 1 >= 0": None,
    "i + k - 2 == 0": None,
    "j - 2 >= 0, i - 1 >= 0": None,
}  # fmt: skip


@pytest.mark.parametrize("guard", WINDOWS)
def test_a_guard_that_is_about_a_subscript_is_a_window(guard: str) -> None:
    _, (read,) = reading("i + k - 1, j", guard)
    assert subscript_windows(read, read.guard) == WINDOWS[guard]


def test_a_subscript_with_a_step_is_compared_without_it() -> None:
    _, (read,) = reading("2 * i - 2, j", "i - 2 >= 0, 4 - i >= 0")
    assert subscript_windows(read, read.guard) == [(2, 6), (0, 6)]


def copies(subdomain: Subdomain, reads: list[Read], kind: str) -> list[Read]:
    """What stands for the reads, made where the equation is."""
    start = defining(subdomain.inits[0])
    assert start is not None
    paddings = Paddings()
    with ir.InsertionPoint.after(start), subdomain.location:
        found = [getattr(paddings, kind)(r, subdomain.extents) for r in reads]
    assert None not in found
    return found


@pytest.mark.parametrize(
    ("kind", "subscripts", "other"),
    [("padded", "i + k - 1, j", "i + k, j"), ("gathered", "8 - i, k", "i, 4 - k")],
)
def test_equal_reads_of_one_tensor_share_a_copy(kind: str, subscripts: str, other: str) -> None:
    guard = f"{subscripts.partition(',')[0]} - 2 >= 0"
    subdomain, (first, second) = reading(subscripts, guard, count=2)
    assert first.tensor != second.tensor
    again = replace(first)
    _, (elsewhere,) = reading(other)
    places = replace(first, subscripts=elsewhere.subscripts)
    bare = replace(first, guard=())
    found = copies(subdomain, [first, second, again, places, bare], kind)
    tensors = [read.tensor for read in found]
    assert tensors[0] == tensors[2]
    assert len({hash(t) for t in tensors}) == 4
    assert all(not read.guard for read in found)


def test_a_copy_of_points_has_the_dims_that_it_uses_and_is_not_much_larger() -> None:
    subdomain, (read,) = reading("8 - i, k", "i - k >= 0")
    (copy,) = copies(subdomain, [read], "gathered")
    assert ir.ShapedType(copy.tensor.type).shape == [9, 5]
    assert [str(e) for e in copy.subscripts] == ["d0", "d2"]
    inside = str(defining(copy.tensor))
    assert "d0 - d1" in inside  # the guard, of the copy's own dims
    wide = subdomain_of(((9, 9), "i, j"), [((9,), "i + k")], (9, 9, 5), "ppr", combiner="add")
    (read,) = [r for r in wide.reads if r is not None]
    assert LARGEST_GROWTH * 9 < 9 * 5
    assert not may_gather(read, wide.extents)
    assert may_gather(read, (9, 9, 4))
