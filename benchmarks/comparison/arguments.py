"""Functions of some of their arguments, and programs of one result or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Function = Callable[..., Any]


def of_some(fn: Function, xs: Sequence[Any], wrt: Sequence[int]) -> Function:
    """fn of the arguments `wrt` alone, the others as given."""

    def of(*some: Any) -> Any:
        given = list(xs)
        for k, x in zip(wrt, some, strict=True):
            given[k] = x
        return fn(*given)

    return of


def as_list(result: Any) -> list[Any]:
    """The results of a program, which may be one."""
    return list(result) if isinstance(result, (tuple, list)) else [result]
