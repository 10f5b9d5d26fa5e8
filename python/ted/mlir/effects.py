"""What memory an operation reads and writes, with all that is in its regions.

Before: `linalg.generic ins(%a) outs(%b)`, which loads from `%c` in its body
After: reads `%a` and `%c`, the latter inside only; writes `%b`, and may ask what `%b` holds

What is not known counts as both, and calls are seen in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from ted.mlir import ir
from ted.mlir.aliasing import ANYWHERE, VIEWS, Memory, memories
from ted.mlir.queries import count_inputs
from ted.records import dataclass

OUTSIDE = "outside"  # the name of what calls and operations of other dialects meet
_PURE = ("arith.", "math.", "index.", "scf.")  # apart from what is in their regions
_KNOWN = (*_PURE, "affine.", "linalg.", "memref.", "vector.")
_QUIET = frozenset({*VIEWS, "memref.alloc", "memref.alloca", "memref.get_global", "func.return"})
# Operands that are only read, and those whose elements are written whatever they were.
_READ = {"memref.load": 0, "memref.copy": 0, "vector.load": 0, "vector.transfer_read": 0}
_WRITTEN = {"memref.store": 1, "memref.copy": 1, "vector.store": 1}
Names = Mapping[Memory, Memory]


@dataclass
class Effects:
    """Memory by name; `asks` is what is written and may be read before by the same operation.

    `inside` is what operations in the regions touch, at places that no operand says.
    """

    reads: set[Memory] = field(default_factory=set)
    writes: set[Memory] = field(default_factory=set)
    asks: set[Memory] = field(default_factory=set)
    inside: set[Memory] = field(default_factory=set)

    @property
    def touched(self) -> set[Memory]:
        """All of it."""
        return self.reads | self.writes

    def without(self, memory: Collection[Memory]) -> Effects:
        """The same, as if some memory did not matter."""
        return Effects(*(kind.difference(memory) for kind in self._kinds))

    def __or__(self, other: Effects) -> Effects:
        """What both do, one behind the other."""
        return Effects(*(a | b for a, b in zip(self._kinds, other._kinds, strict=True)))

    @property
    def _kinds(self) -> tuple[set[Memory], ...]:
        return self.reads, self.writes, self.asks, self.inside

    def may_swap(self, other: Effects) -> bool:
        """Whether two neighbours may change places."""
        if ANYWHERE in self.touched | other.touched:
            return not ((self.writes and other.touched) or (self.reads and other.writes))
        return not (self.writes & other.touched or self.reads & other.writes)


def effects_of(op: ir.Operation, names: Names | None = None) -> Effects:
    """The effects of an operation; `names` has names of memory that is the same as other memory."""
    found, names = Effects(), names or {}

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name in _QUIET or inner.name.startswith(_PURE):
            return ir.WalkResult.ADVANCE
        if not inner.name.startswith(_KNOWN):
            note({OUTSIDE}, inner, (found.writes, found.asks))
        for k, value in enumerate(inner.operands):
            if isinstance(value.type, ir.MemRefType):
                note({names.get(m, m) for m in memories(value)}, inner, kinds(inner, k))
        return ir.WalkResult.ADVANCE

    def kinds(inner: ir.Operation, operand: int) -> tuple[set[Memory], ...]:
        if inner.name.startswith("linalg.") and "operandSegmentSizes" in inner.attributes:
            is_used = _is_used(inner, operand)
            if operand < count_inputs(inner):
                return (found.reads,) if is_used else ()
            return (found.writes, found.asks) if is_used else (found.writes,)
        if _READ.get(inner.name) == operand:
            return (found.reads,)
        is_written = _WRITTEN.get(inner.name) == operand
        return (found.writes,) if is_written else (found.writes, found.asks)

    def note(memory: set[Memory], inner: ir.Operation, kinds: tuple[set[Memory], ...]) -> None:
        for kind in (*kinds, *([found.inside] if inner != op else [])):
            kind |= memory

    op.walk(visit)
    return found


def _is_used(op: ir.Operation, operand: int) -> bool:
    """Whether the body asks for the elements of an operand."""
    bodies = [block for region in op.regions for block in region.blocks]
    return not bodies or bool(list(bodies[0].arguments[operand].uses))
