"""Which operations of a block use a buffer, first and last, as buffers become one."""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.aliasing import VIEWS
from ted.mlir.queries import in_block

_PASSING = frozenset(
    {"func.call", "func.return", "scf.condition", "scf.for", "scf.while", "scf.yield"}
)


class Lifetimes:
    """The users of buffers among the operations of a block, in its order.

    An operation uses a buffer if it, or what is inside of it, touches it or a view of it.
    """

    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.order = {view.operation: k for k, view in enumerate(block.operations)}
        self._known: dict[ir.Value, list[ir.Operation]] = {}

    def users(self, buffer: ir.Value) -> list[ir.Operation]:
        """All users; what makes a view is none."""
        if buffer not in self._known:
            found, left = set[ir.Operation](), [buffer]
            while left:
                for use in left.pop().uses:
                    op = use.owner.operation
                    if op.name in VIEWS:
                        left += list(op.results)
                    else:
                        found.add(in_block(op, self.block))
            self._known[buffer] = sorted(found, key=self.order.__getitem__)
        return self._known[buffer]

    def replace(self, gone: ir.Value, kept: ir.Value) -> None:
        """Let all users of one buffer use another one."""
        both = {*self._known.pop(gone), *self._known.pop(kept)}
        gone.replace_all_uses_with(kept)
        self._known[kept] = sorted(both, key=self.order.__getitem__)


def is_passed_on(buffer: ir.Value) -> bool:
    """Whether other values than views may be a buffer: it is yielded, chosen, returned, passed."""
    for use in buffer.uses:
        op = use.owner.operation
        is_view = op.name in VIEWS
        if is_view and is_passed_on(op.results[0]):
            return True
        if op.name in _PASSING or (not is_view and any(map(_is_memory, op.results))):
            return True
    return False


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)
