"""Whether equations write elements that none before them does."""

from __future__ import annotations

import pytest

import ted
from ted.domain import sets
from ted.frontend.systems import system_of
from ted.ir.dtypes import FLOAT32
from ted.ir.equations import Equation
from ted.ir.scalar import add, const, dim, index
from ted.transforms import written_elements
from ted.transforms.written_elements import Written

ONE = const(1.0, FLOAT32)


def _pieces(*bounds: tuple[int, int]) -> list[Equation]:
    """Equations that write parts of a vector."""
    return [
        Equation((last - k,), 1, sets.box([last - k]), (add(dim(0), index(k)),), "set", ONE)
        for k, last in bounds
    ]


def test_each_is_compared_with_all_before_it() -> None:
    written = Written(_pieces((0, 2), (4, 6), (1, 3), (6, 8), (5, 7)))
    assert [written.is_first(k) for k in (4, 3, 2, 1, 0)] == [False, True, False, True, True]
    image = written.of(2)
    assert [written.is_apart(image, k) for k in range(5)] == [True, False, False, False, False]
    assert written.is_apart(written.of(3), 3)


def test_each_set_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Equation] = []
    found = written_elements.written_elements
    monkeypatch.setattr(
        written_elements, "written_elements", lambda e: (asked.append(e), found(e))[1]
    )
    pieces = _pieces(*((k, k + 1) for k in range(8)))
    written = Written(pieces)
    assert all(written.is_first(k) for k in range(len(pieces)))
    assert len(asked) == len(pieces)


def test_nothing_is_sure_behind_a_write_at_data() -> None:
    x, at = ted.placeholder((8,), name="x"), ted.placeholder((1,), "int64", name="at")
    data = x.at[at].add(ted.ones((1,)))
    equations = [*system_of([x, at], [data]).outputs[0].equations, *_pieces((0, 2))]
    written = Written(equations)
    unknown = [k for k in range(len(equations)) if written.of(k) is None]
    assert unknown
    assert not any(written.is_first(k) for k in range(unknown[0], len(equations)))
