"""Results in the memory of inputs -> programs that may have it so: `ted-resolve-donations`.

Before: a function with `ted.donated = [array<i64: 0, 2>]`: argument 2, a result, may be argument 0
After: the same, if every read of the input comes before the first write of the result, or at the
same point of it; else the result is made in a buffer, and copied when nothing reads the input.

The caller decides at each call whether the memory is one, so both must be right.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from ted.gpu.bodies import work_of
from ted.gpu.strided_footprints import place_of
from ted.mlir import func, ir, memref
from ted.mlir.aliasing import VIEWS, root, touched
from ted.mlir.queries import functions

DONATED = "ted.donated"


@dataclass(frozen=True)
class TedResolveDonations:
    """Put a buffer in the place of each result that would overwrite what is still read."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            for source, result in donated_pairs(function):
                if not _is_safe(function.entry_block, source, result):
                    _buffer(function.entry_block, result)


def donated_pairs(function: func.FuncOp) -> list[tuple[ir.Value, ir.Value]]:
    """The arguments that may be one memory: an input and a result."""
    attributes = function.operation.attributes
    if DONATED not in attributes:
        return []
    arguments = list(function.entry_block.arguments)
    pairs = [list(ir.DenseI64ArrayAttr(a)) for a in ir.ArrayAttr(attributes[DONATED])]
    return [(arguments[source], arguments[result]) for source, result in pairs]


def taking_over(memory: Set[ir.Value], op: ir.Operation) -> set[ir.Value]:
    """The results that may be in some memory; of the function around an operation.

    Whoever moves a read of that memory behind other operations has to look for writes of these too.
    """
    while op.name != "func.func":
        parent = op.parent
        assert parent is not None, "work on memrefs is in a function"
        op = parent.operation
    function = op.opview
    assert isinstance(function, func.FuncOp)
    return {result for source, result in donated_pairs(function) if source in memory}


def _is_safe(block: ir.Block, source: ir.Value, result: ir.Value) -> bool:
    written = False
    for op in [o.operation for o in block.operations]:
        if op.name in VIEWS:
            continue
        reads, writes = touched(op)
        if source in reads | writes and (written or result in writes):
            return not written and _is_point_by_point(op, source, result) and not _later(op, source)
        written = written or result in writes
    return True


def _later(op: ir.Operation, source: ir.Value) -> bool:
    """Whether an operation behind this one touches the memory."""
    block = op.block
    behind = False
    for other in [o.operation for o in block.operations]:
        if behind and other.name not in VIEWS and source in set.union(*touched(other)):
            return True
        behind = behind or other == op
    return False


def _is_point_by_point(op: ir.Operation, source: ir.Value, result: ir.Value) -> bool:
    """Whether each point reads of the input only where it writes the result."""
    work = work_of(op) if op.name == "linalg.generic" else None
    if work is None or work.body is None or work.reductions:
        return False
    if any(source in touched(inner.operation)[0] for inner in work.body.operations):
        return False
    targets = [place_of(o, work.extents) for o in work.outputs if root(o.value) == result]
    sources = [o for o in work.inputs if o.amap is not None and root(o.value) == source]
    places = [place_of(o, work.extents) for o in sources]
    return all(a and b and a.keeps_apart(b) for a in targets for b in places)


def _buffer(block: ir.Block, result: ir.Value) -> None:
    end = block.operations[len(block.operations) - 1].operation
    with ir.InsertionPoint.at_block_begin(block), end.location:
        made = memref.AllocOp(ir.MemRefType(result.type), [], []).result
    result.replace_all_uses_with(made)
    with ir.InsertionPoint(end), end.location:
        memref.CopyOp(made, result)
