"""The statements of a tree, without the expressions in them, which are nine tenths of its nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(owner: ast.AST) -> Iterator[ast.AST]:
    """All statements inside a module, class or function, at any depth."""
    waiting = [owner]
    while waiting:
        node = waiting.pop()
        for name in _BODIES:
            inside = getattr(node, name, ())
            yield from inside
            waiting += inside
