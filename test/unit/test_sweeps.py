"""Which cases the fast tests run, and which share of the others a run of the sweeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from sweeps import mark_cases, of_other_shares


@dataclass(eq=False)
class Case:
    """What `sweeps` uses of a `pytest.Item`."""

    nodeid: str
    marks: dict[str, Any] = field(default_factory=dict)

    def get_closest_marker(self, name: str) -> Any:
        """The mark of this name, or None."""
        return self.marks.get(name)

    def add_marker(self, mark: Any) -> None:
        """Put a mark on."""
        self.marks[mark.name] = mark


def cases(count: int, fast: int | None = None) -> list[pytest.Item]:
    marks = {} if fast is None else {"fast": pytest.mark.fast(fast).mark}
    return cast(Any, [Case(f"file.py::test[{k}]", dict(marks)) for k in range(count)])


def slow_of(items: list[pytest.Item]) -> list[int]:
    return [k for k, item in enumerate(items) if item.get_closest_marker("slow")]


@pytest.mark.parametrize(
    ("count", "fast", "slow"),
    [(6, 2, [1, 2, 4, 5]), (5, 1, [1, 2, 3, 4]), (3, 3, []), (2, 5, []), (4, None, [])],
)
def test_so_many_cases_are_fast_and_evenly_spread(
    count: int, fast: int | None, slow: list[int]
) -> None:
    items = cases(count, fast)
    mark_cases(items)
    assert slow_of(items) == slow


def test_cases_that_are_slow_anyway_do_not_count() -> None:
    items = cases(5, 2)
    items[0].add_marker(pytest.mark.slow)
    mark_cases(items)
    assert slow_of(items) == [0, 2, 4]


def test_the_shares_are_the_slow_tests_each_once() -> None:
    items = cases(40, 4)
    mark_cases(items)
    others = [of_other_shares(items, f"{k}/3") for k in range(3)]
    slow = [items[k] for k in slow_of(items)]
    assert all(sum(item in share for share in others) == 2 for item in slow)
    assert all(len(share) < len(slow) for share in others)
    assert sum(map(len, others)) == 2 * len(slow)
    assert of_other_shares(items, "0/1") == []
