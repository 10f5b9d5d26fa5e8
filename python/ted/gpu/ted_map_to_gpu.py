"""Work on memrefs -> kernels: the pass `ted-map-to-gpu`.

Before: `linalg.generic ins(%a : memref<1024xf32>) outs(%b : memref<1024xf32>) {...}`
After: `gpu.launch blocks(%i) in (4) threads(%t) in (256)` around the code of one point.

Every operation of the host function that computes becomes one kernel or a few; loops over time
stay on the host. What is left there is allocations, loops with known bounds, launches and copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ted.errors import CompileError, PassFailed
from ted.gpu.bodies import work_of
from ted.gpu.collapsing import collapsed
from ted.gpu.conditions import settle_conditions
from ted.gpu.contractions import Contractions, claimed_readers
from ted.gpu.dead_fills import known_starts, structured
from ted.gpu.disjoint_store_kernels import map_pieces
from ted.gpu.disjoint_stores import pieces_from
from ted.gpu.epilogues import Finishing
from ted.gpu.flat_views import is_dense
from ted.gpu.launching import only_if, sink_into
from ted.gpu.loop_nests import has_steps, map_loops
from ted.gpu.maps import map_points
from ted.gpu.point_loops import is_point_loop, map_point_loop
from ted.gpu.reductions import map_reduction
from ted.gpu.rows import map_rows
from ted.gpu.transposes import map_turned, turn_of
from ted.machine import DEFAULT_GPU
from ted.mlir import arith, ir
from ted.mlir.aliasing import VIEWS
from ted.mlir.locations import source_location
from ted.mlir.queries import constant_of, defining, functions, operations

_HOST = ("memref.alloc", "memref.dealloc", "memref.get_global", "gpu.launch")
_ENDS = ("func.return", "scf.yield")
_STRUCTURED = ("linalg.generic", "linalg.fill", "linalg.copy", "memref.copy", "scf.forall")
_SCALARS = ("scf.for", "scf.if", "memref.load", "memref.store")
Starts = tuple["ir.Value | None", ...]


@dataclass(frozen=True)
class TedMapToGpu:
    """Turn everything that computes into kernels; `chip` chooses those of contractions.

    Writes at data are made in the order of the program, unless they need not be `deterministic`.
    With `tf32` contractions of f32 round their factors to tf32, for tensor cores.
    """

    chip: str = DEFAULT_GPU
    deterministic: bool = True
    tf32: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        contractions = Contractions(module, self.chip, self.tf32)
        for function in functions(module):
            settle_conditions(function)
            _map_block(function.entry_block, contractions, self.deterministic)


def _map_block(
    block: ir.Block,
    contractions: Contractions,
    deterministic: bool,
    is_conditional: bool = False,
) -> None:
    """Put kernels in front of what computes, and drop that."""
    found = [o.operation for o in block.operations if o.operation.name not in _ENDS]
    starts = known_starts(found)
    done: list[ir.Operation] = []
    # Mapped with an earlier one; in the list all the same, since nothing may pass their kernels.
    gone: set[ir.Operation] = set()
    known = None if is_conditional else contractions  # a template knows no condition
    while found:
        op, *found = found
        if op in gone:
            continue
        if op in starts.folded:
            done.append(op)
        elif parts := _mapped_pieces(op, found, starts.of, known, starts.folded | gone):
            gone.update(parts)
            done += parts
        elif _is_copy_of_the_host(op) and not is_conditional:
            if op.operands[0] == op.operands[1]:
                done.append(op)
        elif (pair := _finished(op, found, starts.of, known)) is not None:
            # Both are one kernel, and what was between them is gone.
            gone.add(pair.consumer)
            done = [pair.temporary, *done, op, pair.consumer]
        elif structured(op) or op.name == "scf.forall":
            with ir.InsertionPoint(op), op.location:
                _map(op, starts.of.get(op, ()), known)
            done.append(op)
        elif is_point_loop(op):
            with ir.InsertionPoint(op), op.location:
                map_point_loop(op)
            done.append(op)
        elif _is_around_kernels(op):
            _map_inside(op, contractions, deterministic, is_conditional)
        elif not _is_of_the_host(op):
            group = _group(op, found)
            found = found[len(group) - 1 :]
            # Behind the views that stand in between; these stay.
            with ir.InsertionPoint(group[-1]), op.location:
                group = [o for o in group if o not in gone and not _is_of_the_host(o)]
                map_loops(group, deterministic=deterministic)
            done += group
    for op in reversed(done):
        _check_is_unused(op)
        op.erase()


def _check_is_unused(op: ir.Operation) -> None:
    """What a kernel computes is in memory: the host has no values of it."""
    users = [use.owner.operation.name for result in op.results for use in result.uses]
    if users:
        raise PassFailed(
            f"ted-map-to-gpu: what is computed must go to memory, got {op.name}, whose result "
            f"{users[0]} uses",
            source_location(op.location),
        )


def _map_inside(
    op: ir.Operation, contractions: Contractions, deterministic: bool, is_conditional: bool
) -> None:
    """Map what a loop or a condition of the host is around."""
    is_inner = is_conditional or op.name == "scf.if"
    for block in [b for region in op.regions for b in region.blocks]:
        _map_block(block, contractions, deterministic, is_inner)
    if op.name == "scf.if":
        _open(op)


def _mapped_pieces(
    op: ir.Operation,
    later: Sequence[ir.Operation],
    starts: Mapping[ir.Operation, Starts],
    known: Contractions | None,
    others: set[ir.Operation],
) -> tuple[ir.Operation, ...]:
    """Build one kernel of operations that write pieces of the same memory; empty without them.

    `others` have a kernel already, or need none.
    """

    def is_other(other: ir.Operation) -> bool:
        return other in others or (known is not None and known.claims(other))

    group = pieces_from(op, later, starts, is_other)
    if group is not None and known is not None:
        others |= claimed_readers([op, *later])
        group = pieces_from(op, later, starts, is_other)
    if group is None or not map_pieces(group, lambda one, given: _map(one, given, None)):
        return ()
    return group.ops


def _finished(
    op: ir.Operation,
    later: Sequence[ir.Operation],
    starts: Mapping[ir.Operation, Starts],
    contractions: Contractions | None,
) -> Finishing | None:
    start = starts.get(op, (None,))[0]
    return None if contractions is None else contractions.launch_finished(op, start, later)


def _is_copy_of_the_host(op: ir.Operation) -> bool:
    return op.name == "memref.copy" and all(map(is_dense, op.operands))


def _is_around_kernels(op: ir.Operation) -> bool:
    """Whether a loop stays on the host, or a condition is only around kernels."""
    if op.name not in ("scf.for", "scf.if"):
        return False
    if op.name == "scf.if" and not _is_of_the_host(defining(op.operands[0])):
        return False
    if operations(op, *_STRUCTURED):
        return True
    is_loop = op.name == "scf.for" and None not in map(constant_of, list(op.operands)[:3])
    return is_loop and has_steps(op)


def _is_of_the_host(op: ir.Operation | None) -> bool:
    if op is None:
        return True
    if op.name in VIEWS or op.name in _HOST:
        return True
    if not op.name.startswith(("arith.", "affine.")):
        return False
    # Conditions and numbers of loops; arithmetic on elements belongs to its loads and stores.
    return all(isinstance(o.owner, ir.Block) or _is_pure(o.owner.operation) for o in op.operands)


def _is_pure(op: ir.Operation) -> bool:
    if not op.name.startswith(("arith.", "affine.")):
        return False
    owners = [o.owner for o in op.operands]
    return all(isinstance(o, ir.Block) or _is_pure(o.operation) for o in owners)


def _group(op: ir.Operation, later: Sequence[ir.Operation]) -> list[ir.Operation]:
    """An operation and all up to the last one that needs a scalar from one of them."""
    group = [op]
    end, k = _last_use([op], later), 0
    while k < end:
        group.append(later[k])
        k += 1
        end = max(end, _last_use([later[k - 1]], later))
    return group


def _last_use(ops: Sequence[ir.Operation], later: Sequence[ir.Operation]) -> int:
    """How many of the later operations there are up to the last that uses a scalar of these."""
    users: set[ir.Operation] = set()
    for op in ops:
        if op.name in VIEWS or op.name in _HOST:
            continue
        for result in op.results:
            users |= {_top(use.owner.operation, op.block) for use in result.uses}
    return max((k + 1 for k, o in enumerate(later) if o in users), default=0)


def _top(op: ir.Operation, block: ir.Block) -> ir.Operation:
    while op.block != block:
        parent = op.parent
        assert parent is not None, "a use is inside the block of the value"
        op = parent.operation
    return op


def _open(op: ir.Operation) -> None:
    """Put a condition into the kernels that it is around; a loop stays on the host."""
    blocks = [block for region in op.regions for block in region.blocks]
    condition = op.operands[0]
    for k, block in enumerate(blocks):
        if k:
            with ir.InsertionPoint(op), op.location:
                true = arith.ConstantOp(condition.type, 1).result
                condition = arith.XOrIOp(condition, true).result
        for inner in [o.operation for o in block.operations][:-1]:
            for kernel in operations(inner, "gpu.launch"):
                _guard(kernel, condition)
            inner.move_before(op)
    op.erase()


def _guard(kernel: ir.Operation, condition: ir.Value) -> None:
    """Run the body of a kernel only where a condition of the host holds."""
    block = kernel.regions[0].blocks[0]
    *body, end = [o.operation for o in block.operations]
    with ir.InsertionPoint(end), kernel.location, only_if(condition):
        pass
    branch = [o.operation for o in block.operations][-2]
    target = branch.regions[0].blocks[0].operations[0].operation
    for op in body:
        if op.name != "memref.alloca":  # a register, which belongs to the whole kernel
            op.move_before(target)
    sink_into(kernel)


def _map(op: ir.Operation, starts: Starts, contractions: Contractions | None) -> None:
    if op.name == "scf.forall":
        map_rows(op)
        return
    if contractions is not None and contractions.launch(op, starts[0] if starts else None):
        return
    work = work_of(op)
    if work is None:
        raise CompileError(f"gpu: no kernel for {op.name}, got {op}")
    work = collapsed(replace(work, starts=starts))
    turn = turn_of(work)
    if work.reductions:
        map_reduction(work)
    elif turn is not None:
        map_turned(work, turn)
    else:
        map_points(work)
