"""Contractions of padded or reversed copies -> contractions of what was copied.

Before: `%p` filled with zeros, `%x` copied into its inner part, a contraction of `%p` and `%w`
After: the contraction reads `%x`, through a view that says where `%p` is zero (`ted.padded`)

So a convolution reads its input once, from where it is, and its gradient needs no weights in
reverse. A copy stays where its kernel would be read faster: if runs of elements would be shorter,
if a template takes the copy only, or if something else reads it as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ted.gpu.contractions import Contractions
from ted.gpu.copied_buffers import Copied, copied
from ted.gpu.templates.schedule import Plan
from ted.linalg.contractions import MARK
from ted.machine import DEFAULT_GPU
from ted.mlir import ir
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.dependences import Dependences
from ted.mlir.queries import functions, is_zero, operations
from ted.records import dataclass


@dataclass(frozen=True)
class TedForwardCopies:
    """Forward what is copied to the contractions of a chip that alone read the copy."""

    chip: str = DEFAULT_GPU
    tf32: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        contractions = Contractions(module, self.chip, self.tf32)
        with module.context, ir.Location.unknown(module.context):
            for function in functions(module):
                for alloc in operations(function, "memref.alloc"):
                    found = copied(alloc)
                    if found is not None and _is_kept(found):
                        _forward(alloc, found, contractions)


def _is_kept(found: Copied) -> bool:
    """Whether all readers find in the source what was copied."""
    block = found.writers[0].block
    if block.owner.operation.name == "scf.if" or _conditional(block):
        return False
    known = Dependences(block)
    *earlier, first = found.writers
    at = known.numbers[first]
    readers = sorted(found.readers, key=known.numbers.__getitem__)
    if not readers or any(known.numbers[op] > at for op in earlier):  # what was copied is lost
        return False
    return known.numbers[readers[0]] > at and known.keeps([found.view.source], first, readers[-1])


def _conditional(block: ir.Block) -> bool:
    """Whether a block is, at any depth, under a condition, which no template knows."""
    owner = cast(ir.OpView, block.owner).operation
    while owner.name != "func.func":
        if owner.name == "scf.if":
            return True
        parent = owner.parent
        assert parent is not None, "work on memrefs is in a function"
        owner = parent.operation
    return False


def _forward(alloc: ir.Operation, found: Copied, contractions: Contractions) -> None:
    """Let the readers read the view if all of their kernels are as good; drop the copy."""
    buffer = alloc.results[0]
    if not found.readers or not all(_reads(op, buffer) for op in found.readers):
        return
    before = [contractions.planned(op) for op in found.readers]
    with ir.InsertionPoint(found.writers[-1]):
        view = found.view.build()
    _exchange(found.readers, buffer, view)
    after = [contractions.planned(op) for op in found.readers]
    if not all(_as_good(*pair) for pair in zip(before, after, strict=True)):
        _exchange(found.readers, view, buffer)
        cast(ir.OpResult, view).owner.erase()
        return
    for op in found.writers:
        op.erase()
    for op in [use.owner.operation for use in buffer.uses]:
        op.erase()
    alloc.erase()


def _exchange(readers: tuple[ir.Operation, ...], old: ir.Value, new: ir.Value) -> None:
    for op in readers:
        for k, operand in enumerate(op.operands):
            if operand == old:
                op.operands[k] = new


def _reads(op: ir.Operation, buffer: ir.Value) -> bool:
    """Whether an operation is a claimed contraction of a buffer, to zeros or what was elsewhere."""
    if MARK not in op.attributes or op.operands[-1] == buffer:
        return False
    return all(is_zero(fill.operands[0]) for fill in _fills(root(op.operands[-1])))


def _fills(memory: ir.Value) -> Iterator[ir.Operation]:
    """Fills of memory or of a view of it."""
    for use in memory.uses:
        op = use.owner.operation
        if op.name == "linalg.fill":
            yield op
        elif op.name in VIEWS:
            yield from _fills(op.results[0])


def _as_good(before: Plan | str, after: Plan | str) -> bool:
    """Whether a kernel moves its factors in runs as long as before."""
    if isinstance(before, str) or isinstance(after, str) or before.template != after.template:
        return False
    return all(x >= y for x, y in zip(_widths(after), _widths(before), strict=True))


def _widths(plan: Plan) -> list[int]:
    sides = "ba" if plan.gemm.swapped else "ab"
    return [plan.gemm.best_width(side)[0] for side in sides]
