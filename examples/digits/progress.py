"""A progress bar: redrawn in place on a terminal, silent elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
WIDTH = 30


def progress(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """The items, with a bar that grows as they are taken and vanishes at the end."""
    shown = sys.stdout.isatty()
    for done, item in enumerate(items):
        if shown:
            _draw(f"{label} [{'#' * (done * WIDTH // total):<{WIDTH}}] {done}/{total}")
        yield item
    if shown:
        _draw("")


def _draw(text: str) -> None:
    print(f"\r\033[K{text}", end="", flush=True)
