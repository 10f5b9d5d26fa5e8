"""Maps, sets and bodies that compute an index beyond 64 bits, each named with its range."""

from __future__ import annotations

import pytest

from ted.dialects import make_context
from ted.ir.index_ranges import WAY_OUT
from ted.mlir import ir
from ted.transforms.compute_sets import ComputeSets, computes
from ted.transforms.wrapping_indices import wrapping_indices
from unit.transforms.test_ted_check_bounds import copy

FAR = 5 * 10**18


def said(text: str) -> list[str]:
    with make_context():
        module = ir.Module.parse(text)
        (op,) = computes(module)
        return list(wrapping_indices(ComputeSets(op)))


@pytest.mark.parametrize(
    ("place", "where", "index"),
    [
        ("read", "read 0", f"(d0 * {FAR}) mod 3"),
        ("guard", "guard of read 0", f"d0 * {FAR}"),
        ("write", "write", f"(d0 * {FAR}) mod 3"),
        ("domain", "domain", f"d0 * {FAR}"),
    ],
)
def test_every_map_and_set_is_validated(place: str, where: str, index: str) -> None:
    is_set = place in ("guard", "domain")
    given = {"read": "d0", place: f"{index} >= 0" if is_set else index}
    rule = f"{where}: an index fits into 64 bits, got {index}, computed in [0, {2 * FAR}]"
    assert said(copy([3], source=[3], **given)) == [f"{rule}; {WAY_OUT}"]
    assert said(copy([2], source=[2], **given)) == []


@pytest.mark.parametrize("condition", ["guard", "domain"])
def test_only_points_at_which_a_map_is_used_count(condition: str) -> None:
    far = f"(d0 * {FAR}) mod 3"
    assert said(copy([3], far, [3], **{condition: "1 - d0 >= 0"})) == []
    assert said(copy([3], "d0", [3], write=far, domain="1 - d0 >= 0")) == []


def test_an_op_without_points_computes_nothing() -> None:
    assert said(copy([0, 3], f"(d1 * {FAR}) mod 3", [3], write="d0, d1")) == []
