"""Sums over the same points -> one operation with several results: the pass `ted-merge-sums`.

Before: `dw[j] += dy[i, j] * x[i, j]`, and behind it `db[j] += dy[i, j]`
After: one `linalg.generic` with both results, so that what both read is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ted.lowering.gpu.bodies import Work, copied, work_of
from ted.mlir import ir, linalg
from ted.schedules.linalg_contraction import MARK
from ted.schedules.memory_roots import VIEWS, root, touched
from ted.schedules.walking import defining, functions

MOST_RESULTS = 4


@dataclass(frozen=True)
class TedMergeSums:
    """Merge each sum with the next one over the same points, if nothing between needs it."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the top level of every function."""
        for function in functions(module):
            operations = [o.operation for o in function.entry_block.operations]
            while operations:
                op, *operations = operations
                found = _partner(op, operations)
                if found is not None:
                    partner, place = found
                    merged = _merged(op, partner, place)
                    operations.remove(partner)
                    operations.insert(0, merged)
                    op.erase()
                    partner.erase()


def _partner(
    op: ir.Operation, later: Sequence[ir.Operation]
) -> tuple[ir.Operation, ir.Operation] | None:
    """A later sum over the same points, and at which of the two both may be."""
    work = _sum(op)
    if work is None:
        return None
    reads, writes = touched(op)
    read: set[ir.Value] = set()  # between the two
    written: set[ir.Value] = set()
    for other in later:
        if other.name in VIEWS or other.name == "memref.alloc":
            continue
        more_reads, more_writes = touched(other)
        found = _sum(other)
        if found is not None and _are_alike(work, found) and reads & more_reads:
            if not (reads | writes) & (written | more_writes) and not writes & (read | more_reads):
                return other, other
            is_known = all(_is_before(v, op) for v in other.operands)
            free = not written & (more_reads | more_writes) and not read & more_writes
            if is_known and free and not writes & more_reads and not reads & more_writes:
                return other, op
        read |= more_reads
        written |= more_writes
    return None


def _is_before(value: ir.Value, op: ir.Operation) -> bool:
    owner = defining(value)
    return owner is None or owner.block != op.block or owner.is_before_in_block(op)


def _sum(op: ir.Operation) -> Work | None:
    """A sum of rows, the operation as work; None for any other operation."""
    if op.name != "linalg.generic" or MARK in op.attributes:
        return None
    work = work_of(op)
    if work is None or not work.reductions or not work.outer or work.reductions[0] != 0:
        return None
    return work if all(isinstance(v.type, ir.MemRefType) for v in op.operands) else None


def _are_alike(left: Work, right: Work) -> bool:
    few = len(left.outputs) + len(right.outputs) <= MOST_RESULTS
    roots = {root(o.value) for o in left.outputs} & {root(o.value) for o in right.outputs}
    return few and not roots and (left.extents, left.parallel) == (right.extents, right.parallel)


def _merged(first: ir.Operation, second: ir.Operation, place: ir.Operation) -> ir.Operation:
    works = [w for w in (work_of(first), work_of(second)) if w is not None]
    inputs = [o for w in works for o in w.inputs]
    outputs = [o for w in works for o in w.outputs]
    maps = [o.amap for o in (*inputs, *outputs) if o.amap is not None]
    with ir.InsertionPoint(place), second.location:
        made = linalg.GenericOp(
            [],
            [o.value for o in inputs],
            [o.value for o in outputs],
            ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
            second.attributes["iterator_types"],
        )
        kinds = [o.element for o in (*inputs, *outputs)]
        block = made.regions[0].blocks.append(*kinds, arg_locs=[second.location] * len(kinds))
    ins, outs = list(block.arguments)[: len(inputs)], list(block.arguments)[len(inputs) :]
    with ir.InsertionPoint(block), second.location:
        values = [v for w in works for v in _body(w, ins, outs, works)]
        linalg.YieldOp(values)
    return made.operation


def _body(
    work: Work, ins: Sequence[ir.Value], outs: Sequence[ir.Value], works: Sequence[Work]
) -> list[ir.Value]:
    """The body of one of the works, on its share of the arguments."""
    before = list(works)[: list(works).index(work)]
    at_in, at_out = sum(len(w.inputs) for w in before), sum(len(w.outputs) for w in before)
    given = [*ins[at_in : at_in + len(work.inputs)], *outs[at_out : at_out + len(work.outputs)]]
    assert work.body is not None, "a generic has a body"
    known: dict[ir.Value, ir.Value] = {}
    known.update(zip(work.body.arguments, given, strict=True))
    dims = [linalg.IndexOp(k).result for k in range(len(work.extents))]
    values = copied(work.body, known, dims)
    for dim in dims:
        if not list(dim.uses):
            dim.owner.operation.erase()  # pyright: ignore[reportAttributeAccessIssue]
    return values
