"""float16 and bfloat16: rows, maps, products, convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import HALF, Workload, both, in_types, normal

ROWS = normal(4096, 1024)


def mapped(k: Any, x: Any, y: Any) -> Any:
    """A few functions and products."""
    return k.tanh(x) * y + k.exp(-k.abs(x))


CASES = (
    Workload("softmax", lambda k, x: k.softmax(x), (ROWS,), "half"),
    Workload("add", lambda k, x, y: x + y, (ROWS, ROWS), "half"),
    Workload("map", mapped, (ROWS, ROWS), "half"),
    Workload(
        "mm512", lambda k, a, b: a @ b, (normal(512, 512), normal(512, 512)), "half", "compute",
        flops=2.0 * 512**3,
    ),
    Workload(
        "layer norm", lambda k, x, w, b: k.layer_norm(x, w, b), (ROWS, normal(1024), normal(1024)),
        "half",
    ),
    Workload(
        "conv NCHW", lambda k, x, w: k.conv(x, w, padding=1),
        (normal(4, 32, 28, 28), normal(32, 32, 3, 3, scale=0.1)), "half", "compute",
        flops=2.0 * 4 * 32 * 28 * 28 * 32 * 9,
    ),
)  # fmt: skip


def workloads() -> Iterator[Workload]:
    """The rows."""
    for case in CASES:
        for made in in_types(case, *HALF):
            yield from both(made)
