"""All workloads, by label; those that a seed draws are made from the seed in their name."""

from __future__ import annotations

from collections.abc import Iterator

from .workload import Workload
from .workloads import FILES, odd

DRAWN = 50  # odd cases of a seed


def workloads(seed: int | None = None) -> Iterator[Workload]:
    """Every row; with a seed also what it draws."""
    for module in FILES:
        yield from module.workloads()
    if seed is not None:
        yield from odd.drawn(seed, DRAWN)


def found(label: str, seed: int | None = None) -> Workload:
    """The row of a label."""
    for workload in workloads(seed):
        if workload.label == label:
            return workload
    raise KeyError(f"peers: no workload is called {label!r}; `--list` prints them")
