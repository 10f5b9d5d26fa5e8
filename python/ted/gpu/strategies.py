"""The table of what becomes of work on memrefs: one row for each way to map it to a GPU.

Rows stand in the order in which they are tried; the first that has a plan is taken. A row declines
with the property that is missing. Where it could do the work all the same it says with which plan,
so an operation that asks for the row by `ted.strategy` gets it.

`decide` looks at all of a block before anything is built; `build` does what was decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ted.errors import PassFailed
from ted.gpu.box_strategies import BOXES, FINISHED
from ted.gpu.contractions import Contractions
from ted.gpu.dead_fills import known_starts
from ted.gpu.flat_views import is_dense
from ted.gpu.launching import only_if, sink_into
from ted.gpu.loop_strategies import NESTS, POINT_LOOPS
from ted.gpu.piece_strategies import PIECES
from ted.gpu.sites import Site, hoist_buffers, is_around_kernels, is_of_the_host
from ted.gpu.strided_footprints import footprints_of
from ted.mlir import arith, ir, memref
from ted.mlir.dependences import Dependences
from ted.mlir.generic import generic_of
from ted.mlir.locations import source_location
from ted.mlir.queries import functions, operations
from ted.mlir.strategies import (
    ATTRIBUTE,
    Decision,
    Declined,
    Plain,
    Strategy,
    asked_for,
    check_is_seen,
    choose,
    described,
    forget,
)
from ted.options import CompileOptions
from ted.records import dataclass

OF_THE_HOST = ("host", "host_loop")  # rows without a kernel of their own
_IN_LOOPS = frozenset(row.name for row in NESTS)  # whose kernels know no starts
_ENDS = ("func.return", "scf.yield")


@dataclass(frozen=True)
class Inside:
    """What becomes of the operations that a loop or a condition of the host is around."""

    blocks: list[list[Decision]]


def decide(
    block: ir.Block,
    contractions: Contractions,
    *,
    deterministic: bool,
    is_conditional: bool = False,
) -> list[Decision]:
    """The choice for every operation of a block that no other one stands for.

    Raises: ScheduleError for a `ted.strategy` that does not fit.
    """
    hoist_buffers(block)
    left = [o.operation for o in block.operations if o.operation.name not in _ENDS]
    found = Dependences(block, footprints_of)
    wishes = {op: wish for op in left if (wish := asked_for(op)) is not None}
    asking = set(wishes)
    starts = known_starts(found, {op for op in asking if wishes[op]["name"] in _IN_LOOPS})
    decisions: list[Decision] = []
    # In the list all the same, since nothing may pass their kernels.
    gone: set[ir.Operation] = set()
    templates = None if is_conditional else contractions  # a template knows no condition
    for k, op in enumerate(left):
        if op in gone:
            continue
        site = Site(
            op, left[k + 1 :], found, starts, gone | asking - {op}, contractions, templates,
            deterministic, is_conditional,
        )  # fmt: skip
        choice = choose(TABLE, site)
        gone.update(choice.row.removes(site, choice.plan))
        decisions.append(Decision(site, choice))
    return decisions


def decide_function(
    function: Any, contractions: Contractions, *, deterministic: bool
) -> list[Decision]:
    """The choices for a function, from which `every` and `build` go on.

    Raises: ScheduleError for a `ted.strategy` that does not fit, or where nothing is chosen.
    """
    decisions = decide(function.entry_block, contractions, deterministic=deterministic)
    check_is_seen(function.operation, {d.site.op for d in every(decisions)}, ATTRIBUTE)
    return decisions


def every(decisions: Sequence[Decision]) -> Iterator[Decision]:
    """All decisions, those inside of loops and conditions of the host behind them."""
    for decision in decisions:
        yield decision
        if isinstance(decision.choice.plan, Inside):
            for block in decision.choice.plan.blocks:
                yield from every(block)


def build(decisions: Sequence[Decision]) -> None:
    """Put the kernels in front of what computes, and drop that.

    Raises: PassFailed when the host uses a value, not memory, that a kernel computes.
    """
    block = decisions[0].site.op.block if decisions else ()  # some take their operation away
    done: set[ir.Operation] = set()
    for site, choice in ((d.site, d.choice) for d in decisions):
        forget(site.op)
        with ir.InsertionPoint(site.op), site.op.location:
            choice.row.emit(site, choice.plan)
        done.update(choice.row.removes(site, choice.plan))
    for op in reversed([o.operation for o in block if o.operation in done]):
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


# ---- what the host keeps -------------------------------------------------------------------------


def _start(site: Site) -> Any:
    is_start = site.op in site.starts.folded
    return Plain() if is_start else Declined("no fill that the next kernel starts from")


def _host_copy(site: Site) -> Any:
    is_copy = site.op.name == "memref.copy" or _yields_only(site.op)
    if not is_copy or not all(map(is_dense, site.op.operands)):
        return Declined("no copy of dense memory")
    return Declined("inside of a condition") if site.is_conditional else Plain()


def _yields_only(op: ir.Operation) -> bool:
    """Whether an operation puts the elements of one piece of memory into another, as they are."""
    generic = generic_of(op)
    is_memory = all(isinstance(v.type, ir.MemRefType) for v in op.operands)
    if generic is None or not is_memory or len(generic.inputs) != 1 or len(op.operands) != 2:
        return False
    is_first = list(generic.yielded) == [generic.body.arguments[0]]
    one, other = generic.maps
    return is_first and one == other == ir.AffineMap.get_identity(generic.rank)


def _copy(site: Site, _: Plain) -> None:
    source, target = site.op.operands
    if site.op.name != "memref.copy" and source != target:
        memref.CopyOp(source, target)


def _no_copy(site: Site, _: Plain) -> list[ir.Operation]:
    """What is no copy of the host: one to itself, or what became one."""
    is_own = site.op.operands[0] == site.op.operands[1]
    return [site.op] if is_own or site.op.name != "memref.copy" else []


def _host(site: Site) -> Any:
    return Plain() if is_of_the_host(site.op) else Declined("it computes")


def _host_loop(site: Site) -> Any:
    if not is_around_kernels(site.op):
        return Declined("no loop or condition around other kernels")
    is_inner = site.is_conditional or site.op.name == "scf.if"
    blocks = [b for region in site.op.regions for b in region.blocks]
    return Inside([
        decide(b, site.contractions, deterministic=site.deterministic, is_conditional=is_inner)
        for b in blocks
    ])  # fmt: skip


def _build_inside(site: Site, plan: Inside) -> None:
    for block in plan.blocks:
        build(block)
    if site.op.name == "scf.if":
        open_condition(site.op)


def _build_nothing(*_: Any) -> None:
    pass


def _stays(*_: Any) -> tuple[()]:
    return ()


TABLE = (
    Strategy("start", _start, _build_nothing),
    *PIECES,
    Strategy("host_copy", _host_copy, _copy, _no_copy),
    FINISHED,
    *BOXES,
    *POINT_LOOPS,
    Strategy("host_loop", _host_loop, _build_inside, _stays),
    Strategy("host", _host, _build_nothing, _stays),
    *NESTS,
)


# ------------------------------------------------------------------ conditions of the host


def open_condition(op: ir.Operation) -> None:
    """Put a condition into the kernels that it is around; a loop stays on the host.

    Before: `scf.if %c { gpu.launch ... { body } }`
    After:  `gpu.launch ... { scf.if %c { body } }`
    """
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


def explained(module: ir.Module, options: CompileOptions) -> str:
    """The strategy of everything that computes, and why no other; nothing is built."""
    contractions = Contractions(module, options.machine.name, options.tf32)
    lines: list[str] = []
    for function in functions(module):
        decisions = decide_function(function, contractions, deterministic=options.deterministic)
        for site, choice in ((d.site, d.choice) for d in every(decisions)):
            if choice.row.name not in OF_THE_HOST:
                lines += described(site.op, choice)
    return "\n".join(lines)
