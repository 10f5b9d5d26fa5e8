"""Cases that only the sweeps run: near relatives of what the fast tests show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def swept(names: str | tuple[str, ...], cases: Iterable[Any], fast: Iterable[Any]) -> Any:
    """Like `pytest.mark.parametrize`; the fast tests run the cases in `fast`, sweeps the others."""
    cases, chosen = list(cases), list(fast)
    assert all(case in cases for case in chosen), "what is fast is one of the cases"
    given = [_case(names, case, () if case in chosen else (pytest.mark.slow,)) for case in cases]
    return pytest.mark.parametrize(names, given)


def _case(names: str | tuple[str, ...], case: Any, marks: tuple[Any, ...]) -> Any:
    return pytest.param(*([case] if isinstance(names, str) else case), marks=marks)
