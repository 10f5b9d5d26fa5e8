"""The table of what becomes of the operand whose rows fill a contraction's register tiles.

Before: `C[i, j] += A[k, i] * B[k, j]`, where each step `k` of a tile is in another line of memory
After: `T[i, k] = A[k, i]`, and a contraction that reads T along its rows

Panels of columns read A again and again, and threads do so for themselves; the copy is made once,
by all of them. Lines that lie far apart are not prefetched, and where their distance divides the
caches they push each other out. (Source: K. Goto, R. van de Geijn, Anatomy of high-performance
matrix multiplication, ACM TOMS 2008, sections 4.2.3 and 5.)
"""

from __future__ import annotations

from math import ceil, prod
from typing import Any

from ted.cpu.contraction_plan import Plan
from ted.linalg.contractions import ELEMENT_BYTES, LinalgContraction, linear_map
from ted.machine import LINE_BYTES, PAGE_BYTES, Cpu
from ted.mlir import ir, linalg
from ted.mlir.generic import Generic, empty_generic, set_maps, written_by
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.storage import empty
from ted.mlir.strategies import Declined, Plain, Strategy, choose, forget
from ted.records import dataclass

LAYOUT = "ted.layout"  # asks for a row of the table
# What a step of a tile waits beside its arithmetic: for a line of the second cache, for one from
# behind it, and for the entry of a page that is in no table of the CPU.
SECOND_CACHE_CYCLES, MEMORY_CYCLES, PAGE_CYCLES = 2.0, 8.0, 15.0
# What of a cache one operand keeps beside the others.
SHARE = 0.75
# To transpose a byte, in the second cache and behind it, and to begin.
TRANSPOSE_CYCLES, FAR_TRANSPOSE_CYCLES, BEGIN_CYCLES = 0.45, 0.6, 3000.0


@dataclass(frozen=True, eq=False)
class Site:
    """A contraction with its plan; `copies` has what was transposed in each block."""

    op: ir.Operation
    contraction: LinalgContraction
    plan: Plan
    cpu: Cpu
    copies: dict[Any, ir.Value]


@dataclass(frozen=True)
class Transposed:
    """Operand `operand` with its dims in this order, the summed ones last."""

    operand: int
    order: tuple[int, ...]


def lay_out(site: Site) -> None:
    """Give a contraction the operands that its row of the table says.

    Raises: ScheduleError for a `ted.layout` that does not fit.
    """
    choice = choose(TABLE, site, LAYOUT)
    forget(site.op, LAYOUT)
    choice.row.emit(site, choice.plan)


def reading_cycles(plan: Plan, element_bytes: int, cpu: Cpu) -> float:
    """What tiles wait for A, whose rows are neighbours, beside their arithmetic."""
    step = plan.reduction[-1].a * element_bytes
    steps = prod(dim.extent for dim in plan.reduction)
    if step < LINE_BYTES:
        return 0.0
    fresh = plan.tile_rows * element_bytes / LINE_BYTES
    if steps > SHARE * cpu.second_cache.lines(step):
        waiting = (1 + fresh) * MEMORY_CYCLES
    else:
        missing = max(0.0, 1 - cpu.second_cache.size / (_elements(plan) * element_bytes))
        waiting = fresh * missing * MEMORY_CYCLES
        if steps > SHARE * cpu.first_cache.lines(step):
            waiting += SECOND_CACHE_CYCLES
    if step >= PAGE_BYTES and steps > cpu.pages:
        waiting += PAGE_CYCLES
    outer = (*plan.batch, *plan.reduction_blocks, *plan.columns, *plan.rows)
    panels = ceil(plan.lane_dim.extent / (plan.tile_vectors * plan.lanes))
    tiles = ceil(plan.row_dim.extent / plan.tile_rows)
    return prod(dim.extent for dim in outer) * panels * tiles * steps * waiting


def transposing_cycles(plan: Plan, element_bytes: int, cpu: Cpu) -> float:
    """What it costs to copy A, all batches of it."""
    size = _elements(plan) * prod(dim.extent for dim in plan.batch if dim.a) * element_bytes
    is_near = 2 * size <= cpu.second_cache.size
    return BEGIN_CYCLES + size * (TRANSPOSE_CYCLES if is_near else FAR_TRANSPOSE_CYCLES)


def _elements(plan: Plan) -> int:
    """Of A, in one batch."""
    dims = (plan.row_dim, *plan.rows, *plan.reduction_blocks, *plan.reduction)
    return prod(dim.extent for dim in dims)


def _transposed(site: Site) -> Any:
    generic, side = Generic(site.op), int(site.plan.swapped)
    operand = _operand(generic, site.contraction, side)
    dims = None if generic.dims is None else generic.dims[operand]
    if dims is None or len(set(dims)) < len(dims):
        return Declined("a subscript of what fills the rows is no loop by itself")
    order = tuple(sorted(range(len(dims)), key=lambda k: generic.reductions[dims[k]]))
    if order == tuple(range(len(dims))):
        return Declined("what is summed lies together")
    if site.plan.row_dim.a != 1:
        return Declined("the rows of a tile are no neighbours")
    plan = Transposed(operand, order)
    element_bytes = ELEMENT_BYTES[str(site.contraction.element)]
    waited = reading_cycles(site.plan, element_bytes, site.cpu)
    copied = transposing_cycles(site.plan, element_bytes, site.cpu)
    if waited <= copied:
        reason = f"tiles wait {waited:.0f} cycles for lines, a copy takes {copied:.0f}"
        return Declined(reason, plan)
    return plan


def _operand(generic: Generic, contraction: LinalgContraction, side: int) -> int:
    """Which operand is a side of the product; one tensor may be both."""
    wanted = contraction.values[side], contraction.maps[side]
    pairs = zip(generic.inputs, generic.maps, strict=False)
    return next(k for k, (value, m) in enumerate(pairs) if (value, linear_map(m)) == wanted)


def _emit_transposed(site: Site, plan: Transposed) -> None:
    generic, value = Generic(site.op), site.op.operands[plan.operand]
    key = site.op.block, value, plan.order
    if key not in site.copies:
        with ir.InsertionPoint(site.op), site.op.location:
            site.copies[key] = _copy(value, plan.order)
    maps = list(generic.maps)
    exprs = list(maps[plan.operand].results)
    maps[plan.operand] = ir.AffineMap.get(generic.rank, 0, [exprs[k] for k in plan.order])
    site.op.operands[plan.operand] = site.copies[key]
    set_maps(site.op, maps)


def _copy(value: ir.Value, order: tuple[int, ...]) -> ir.Value:
    """The tensor with its dims in another order."""
    shape = shape_of(value)
    room = empty([shape[k] for k in order], element_type(value), value)
    rank = len(order)
    read = [ir.AffineExpr.get_dim(order.index(k)) for k in range(rank)]
    maps = [ir.AffineMap.get(rank, 0, read), ir.AffineMap.get_identity(rank)]
    made = empty_generic([value], [room], maps, [False] * rank)
    body = made.regions[0].blocks[0]
    with ir.InsertionPoint(body):
        linalg.YieldOp([body.arguments[0]])
    return written_by(made)[0]


TABLE = (
    Strategy("transposed", _transposed, _emit_transposed,
             check=lambda *_: "its numbers follow from the operands"),
    Strategy("as_it_lies", lambda _: Plain(), lambda *_: None),
)  # fmt: skip
