"""The dialects of ted, loaded into MLIR contexts on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ted.forking import Lock

if TYPE_CHECKING:
    from ted.mlir import ir

_one_at_a_time = Lock()
_kept: list[ir.Context] = []


def load(context: ir.Context) -> None:
    """Load the dialect `ted` into the context; doing it again changes nothing."""
    from ted import mlir
    from ted.dialects import ted
    from ted.dialects.ted.ops import Ted

    mlir.provide_dialect(Ted.DIALECT_NAMESPACE, ted)
    if context.is_dialect_loaded(Ted.DIALECT_NAMESPACE):
        return
    with context:
        Ted.load()


def make_context(*, threading: bool = False) -> ir.Context:
    """Make a context with every upstream dialect and `ted`."""
    from ted import mlir

    context = mlir.make_context(threading=threading)
    load(context)
    return context


@contextmanager
def session() -> Iterator[ir.Context]:
    """Enter a new context, one thread at a time.

    A dialect that is defined in Python is one for all contexts, so that a thread that loads it
    under another that verifies with it would end the process.
    The context has no threads of its own, so that a forked process can go on with what is in it.
    """
    from ted.mlir import ir

    with (
        _one_at_a_time,
        _kept[0] if _kept else make_context() as context,
        ir.Location.unknown(),
    ):
        yield context


def keep_context() -> None:
    """Let all further sessions of this process share a context: one takes 8 ms, and 2 MB for ever.

    For processes that only compile: what is in a context stays there.
    """
    _kept.append(make_context())
