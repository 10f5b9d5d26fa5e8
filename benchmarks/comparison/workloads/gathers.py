"""Reads and sums at data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import Workload, both, index, normal


def gather(name: str, program: Any, *inputs: Any, **more: Any) -> Workload:
    """A workload of this file, differentiated by floats."""
    return Workload(name, program, inputs, "gathers", **more)


def workloads() -> Iterator[Workload]:
    """The rows."""
    table, ids = normal(50000, 128), index(50000, 8192)
    yield from both(gather("embedding", lambda k, t, i: k.embedding(t, i), table, ids, table=True))
    values, bins = normal(1 << 20), index(1024, 1 << 20)
    yield from both(
        gather(
            "histogram", lambda k, v, i: k.segment_sum(v, i, 1024), values, bins, table=True,
            tolerance=1e-3,
        )
    )  # fmt: skip
    yield from both(
        gather("take 2^20 of 2^22", lambda k, x, i: k.take(x, i, 0), normal(1 << 22),
               index(1 << 22, 1 << 20))
    )  # fmt: skip
    yield from both(
        gather("take columns", lambda k, x, i: k.take(x, i, 1), normal(2048, 1024),
               index(1024, 512))
    )  # fmt: skip
    added = (normal(50000, 128), index(50000, 8192), normal(8192, 128))
    yield from both(gather("index add", lambda k, x, i, v: k.index_add(x, i, v), *added))
