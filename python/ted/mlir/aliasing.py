"""Which memory a memref is in: allocations and arguments, through views, conditions and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ted.mlir import func, ir
from ted.mlir.attributes import pairs
from ted.mlir.queries import defining, terminator

VIEWS = frozenset(
    {
        "memref.subview",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
    }
)
DONATED = "ted.donated"
ANYWHERE = "anywhere"  # the name of memory that may be any other
Memory: TypeAlias = "ir.Value | str"
_MAKERS = ("memref.alloc", "memref.alloca", "func.func", "gpu.func", "gpu.launch")


def root(value: ir.Value) -> ir.Value:
    """The allocation or block argument that a memref is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in VIEWS:
        value = value.owner.operation.operands[0]
    return value


def whole(value: ir.Value) -> ir.Value:
    """The memref of which one is all elements, with other dims."""
    while (op := defining(value, "memref.collapse_shape", "memref.expand_shape")) is not None:
        value = op.operands[0]
    return value


def memories(value: ir.Value) -> set[Memory]:
    """All that a memref may be in: what makes memory, constants by their names."""
    left, seen, found = [value], set[ir.Value](), set[Memory]()
    while left:
        value = root(left.pop())
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
        op = owner.operation
        if op.name in _MAKERS:
            found.add(value)
        elif op.name == "memref.get_global":
            found.add(ir.FlatSymbolRefAttr(op.attributes["name"]).value)
        else:
            sources = _sources(value, op)
            left += sources
            found |= set() if sources else {ANYWHERE}
    return found


def _sources(value: ir.Value, op: ir.Operation) -> Sequence[ir.Value]:
    """What a result of a condition or loop, or a counter's companion, may be."""
    is_made = defining(value) is not None
    if op.name == "arith.select":
        return list(op.operands)[1:]
    if op.name not in ("scf.if", "scf.for"):
        return []
    k = ir.OpResult(value).result_number if is_made else ir.BlockArgument(value).arg_number - 1
    given = [op.operands[3 + k]] if op.name == "scf.for" else []
    return given + [terminator(region.blocks[0]).operands[k] for region in op.regions]


def donated_pairs(function: func.FuncOp) -> list[tuple[ir.Value, ir.Value]]:
    """The arguments that may be one memory: an input and a result.

    Raises: VerifyError for a malformed attribute.
    """
    arguments = list(function.entry_block.arguments)
    found = pairs(function.operation, DONATED, len(arguments))
    return [(arguments[source], arguments[result]) for source, result in found]


def function_of(block: ir.Block) -> func.FuncOp:
    """The function around a block."""
    op = block.owner.operation
    while op.name != "func.func":
        parent = op.parent
        assert parent is not None, "work on memrefs is in a function"
        op = parent.operation
    function = op.opview
    assert isinstance(function, func.FuncOp)
    return function
