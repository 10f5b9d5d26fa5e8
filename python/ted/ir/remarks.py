"""Remarks: what a transform wants to say although nothing is wrong, such as a scatter it kept.

A transform calls `remark`; whoever runs it may listen with `collected`. Without a listener a remark
costs nothing and goes nowhere. MLIR's Python binding can emit errors only, hence this module.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ted.errors import SourceLocation


class Remark(NamedTuple):
    """One remark, at the user's line."""

    message: str
    location: SourceLocation | None

    def __str__(self) -> str:
        return self.message if self.location is None else f"{self.location}: {self.message}"


_listener: ContextVar[list[Remark] | None] = ContextVar("remarks", default=None)


def remark(message: str, location: SourceLocation | None = None) -> None:
    """Say something to whoever listens."""
    heard = _listener.get()
    if heard is not None:
        heard.append(Remark(message, location))


@contextmanager
def collected() -> Generator[list[Remark]]:
    """Listen to the remarks of the block, in the order in which they are made.

    A listener around the block hears them too, after the block.
    """
    heard: list[Remark] = []
    token = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(token)
        for said in heard:
            remark(*said)
