"""The dialects of ted, loaded into MLIR contexts on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ted.mlir import ir


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


def make_context(*, threading: bool = True) -> ir.Context:
    """Make a context with every upstream dialect and `ted`."""
    from ted import mlir

    context = mlir.make_context(threading=threading)
    load(context)
    return context
