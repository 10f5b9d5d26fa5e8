"""MLIR's pass managers, made once for each pipeline and context.

A pass prepares itself when it first runs: `canonicalize` builds the patterns of all dialects, which
takes half a millisecond, ten times what it does to a small program. Its manager keeps them, and
prepares it again only when the context has learned of more dialects.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ted.mlir import PassManager, ir

_made: WeakKeyDictionary[ir.Context, dict[tuple[str, bool], PassManager]] = WeakKeyDictionary()


def pass_manager(pipeline: str, context: ir.Context, *, verify_each: bool = True) -> PassManager:
    """What runs a pipeline of MLIR's passes on modules of a context.

    Raises: ValueError for a text that is no such pipeline.
    """
    known = _made.get(context)
    if known is None:
        _made.clear()  # a process works in one context; those of ted are never freed
        known = _made[context] = {}
    manager = known.get((pipeline, verify_each))
    if manager is None:
        manager = PassManager.parse(pipeline, context)
        manager.enable_verifier(verify_each)
        known[pipeline, verify_each] = manager
    return manager
