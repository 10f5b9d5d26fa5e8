"""Cases that only the sweeps run: near relatives of what the fast tests show.

`swept` says which cases of a test are fast, `pytest.mark.fast(n)` how many, evenly spread. A run of
the sweeps may take a share of them, by a hash of their names: others run the other shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any
from zlib import crc32

import pytest


def swept(names: str | tuple[str, ...], cases: Iterable[Any], fast: Iterable[Any]) -> Any:
    """Like `pytest.mark.parametrize`; the fast tests run the cases in `fast`, sweeps the others."""
    cases, chosen = list(cases), list(fast)
    assert all(case in cases for case in chosen), "what is fast is one of the cases"
    given = [_case(names, case, () if case in chosen else (pytest.mark.slow,)) for case in cases]
    return pytest.mark.parametrize(names, given)


def blocks(size: int, count: int) -> Any:
    """Random cases: the numbers from 0 on as `seeds`, so many in each of so many tests."""
    ranges = [range(k * size, (k + 1) * size) for k in range(count)]
    return pytest.mark.parametrize("seeds", ranges, ids=lambda r: f"from_{r.start}")


def _case(names: str | tuple[str, ...], case: Any, marks: tuple[Any, ...]) -> Any:
    return pytest.param(*([case] if isinstance(names, str) else case), marks=marks)


def mark_cases(items: Iterable[pytest.Item]) -> None:
    """Mark the cases slow that `pytest.mark.fast(n)` leaves out."""
    for _, group in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        cases = [case for case in group if case.get_closest_marker("slow") is None]
        wanted = cases[0].get_closest_marker("fast") if cases else None
        if wanted is None:
            continue
        (count,) = wanted.args
        chosen = {k * len(cases) // count for k in range(count)}
        for number, case in enumerate(cases):
            if number not in chosen:
                case.add_marker(pytest.mark.slow)


def of_other_shares(items: Iterable[pytest.Item], share: str) -> list[pytest.Item]:
    """The slow ones that are not of a share: "k/n", with k from 0."""
    part, parts = map(int, share.split("/"))
    slow = (item for item in items if item.get_closest_marker("slow") is not None)
    return [item for item in slow if crc32(item.nodeid.encode()) % parts != part]
