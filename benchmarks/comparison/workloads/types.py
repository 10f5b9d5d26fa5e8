"""The other element types: integers and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import Input, Workload


def whole(high: int, *shape: int) -> Input:
    """Integers of the workload's type."""
    return Input(shape, "index", 0, high)


ROWS = whole(100, 4096, 1024)


def typed(name: str, dtype: str, program: Any, *inputs: Input) -> Workload:
    """A workload of integers."""
    return Workload(f"{name} {dtype}", program, inputs, "types", dtype=dtype)


def workloads() -> Iterator[Workload]:
    """The rows."""
    for dtype in ("int64", "int32"):
        yield typed("x * y + x", dtype, lambda k, x, y: x * y + x, ROWS, ROWS)
        yield typed("max of rows", dtype, lambda k, x: k.max(x, 1), ROWS)
        yield typed("where", dtype, lambda k, x, y: k.where(x > y, x, y), ROWS, ROWS)
        yield typed("x // y", dtype, lambda k, x, y: x // (y + 1), ROWS, ROWS)
    yield typed("sum", "int64", lambda k, x: k.sum(x), ROWS)
    yield typed("add", "int8", lambda k, x, y: x + y, whole(60, 4096, 1024), whole(60, 4096, 1024))
    yield typed("compare", "int8", lambda k, x, y: x > y, whole(60, 4096, 1024),
                whole(60, 4096, 1024))  # fmt: skip
    flags = (whole(2, 4096, 1024), whole(2, 4096, 1024))
    yield typed("x & ~y", "bool", lambda k, x, y: x & ~y, *flags)
    yield typed("x | y", "bool", lambda k, x, y: x | y, *flags)
