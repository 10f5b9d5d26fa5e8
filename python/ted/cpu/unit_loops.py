"""Units of work: a loop over them around an operation, then functions of both.

Before: `linalg.generic` over 512 x 512 points
After: `func.call @main_5b…(%a, %b)`, which calls `@main_90…(%unit, %a, %b)` for 8 units, each
64 x 512 points; it carries `ted.units = 8`, by which `ted-fork-units` knows it
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from ted.cpu.partial_totals import join_totals, partial_totals, total_of_unit
from ted.cpu.repeated import repeated
from ted.cpu.ted_outline_kernels import Kernel
from ted.cpu.unit_slices import shift, slice_of, sliced, steps_along
from ted.cpu.units import Columns, Cut, Iterations, Site, counts_up, nested_loop, own_memory
from ted.cpu.work import most_trips, trips
from ted.mlir import arith, func, ir, memref, scf
from ted.mlir.building import Index, add, bounds_of_part, constant, scale
from ted.mlir.combining import combiners
from ted.mlir.filling import build_fill
from ted.mlir.generic import Generic
from ted.mlir.queries import copied_with, defining, is_inside

UNITS = "ted.units"
Values = list[ir.Value]


def outline(
    units: ir.Operation, count: int, module: ir.Module, function: func.FuncOp, known: dict[str, str]
) -> None:
    """Make a function of the body of a loop over units, and one of the loop.

    They are named after the function, as kernels may be compiled by themselves and linked; `known`
    has those of the function by their text.
    """
    prefix = function.name.value
    body = [o.operation for o in units.regions[0].blocks[0].operations]
    Kernel(body[:-1]).outline(module, function, known, prefix)
    number = ir.IntegerType.get_signless(64)
    marks = {UNITS: ir.IntegerAttr.get(number, count)}
    Kernel([units], marks).outline(module, function, known, prefix)


def _unit_loop(count: int, body: Callable[[ir.Value], None]) -> ir.Operation:
    made = scf.ForOp(constant(0), constant(count), constant(1))
    with ir.InsertionPoint(made.body):
        body(made.induction_variable)
        scf.YieldOp([])
    return made.operation


def emit_slices(site: Site, cut: Cut) -> None:
    """Each unit computes a part of the results, fills included."""
    if site.op.name == "linalg.fill":
        _emit_fill(site, cut)
        return

    def part(_: ir.Value, first: Index, size: int) -> None:
        if site.loop is not None:
            op = repeated(copied_with(site.loop, {}))
            assert op is not None, "a copy of the loop"
            with ir.InsertionPoint(op):
                sliced(op, _parts(Generic(op), cut.loop, first, size), {cut.loop: first})
            op.erase()
            return
        generic = Generic(site.op)
        operands = _parts(generic, cut.loop, first, size)
        outputs = dict(zip(generic.outputs, operands[generic.count_inputs :], strict=True))
        for fill in site.fills:
            build_fill(fill.operands[0], outputs[fill.operands[1]])
        sliced(site.op, operands, {cut.loop: first})

    site.outline(*_in_units(site, cut, part))
    for op in (*site.fills, site.outer):
        op.erase()


def _emit_fill(site: Site, cut: Cut) -> None:
    value, memory = site.op.operands
    amap, extent = ir.AffineMap.get_identity(len(site.extents)), site.extents[cut.loop]

    def part(_: ir.Value, first: Index, size: int) -> None:
        build_fill(value, slice_of(memory, amap, cut.loop, first, size, extent))

    site.outline(*_in_units(site, cut, part))
    site.op.erase()


def emit_partial_sums(site: Site, cut: Cut) -> None:
    """Each unit sums a part into memory of its own; behind them the parts are joined in order."""
    generic = Generic(site.op)
    joined = combiners(generic)
    assert joined is not None, "the row matched"
    extents = generic.extents or ()
    count = ceil(extents[cut.loop] / cut.size)
    partial = [partial_totals(out, count) for out in generic.outputs]

    def part(unit: ir.Value, first: Index, size: int) -> None:
        operands = _parts(generic, cut.loop, first, size)[: generic.count_inputs]
        for memory, combiner in zip(partial, joined, strict=True):
            mine = total_of_unit(memory, unit)
            build_fill(combiner.identity(), mine)
            operands.append(mine)
        sliced(site.op, operands, {cut.loop: first})

    made, units = _in_units(site, cut, part)
    for memory, out, combiner in zip(partial, generic.outputs, joined, strict=True):
        join_totals(memory, out, combiner)
        memref.DeallocOp(memory)
    site.outline(made, units)
    site.op.erase()


def emit_iterations(site: Site, plan: Iterations) -> None:
    """Each unit runs some iterations, with memory of its own for what only they use.

    Where bounds vary, units are those of the most iterations; the last ones may have none.
    """
    outer = site.op
    inner = nested_loop(outer) if plan.nested else None
    total = (most_trips(outer) or 0) * (trips(inner) if inner is not None else 1)
    count = ceil(total / plan.size)
    private = [op for op in own_memory(outer) if not len(op.operands) and _is_direct(op, outer)]

    def body(unit: ir.Value) -> None:
        first, last = bounds_of_part(unit, plan.size, total)
        if not counts_up(outer):
            first, last = (add(outer.operands[0], end) for end in (first, last))
            last = arith.MinSIOp(constant(last), outer.operands[1]).result
        known = {old.results[0]: copied_with(old, {}).results[0] for old in private}
        made = scf.ForOp(constant(first), constant(last), constant(1))
        with ir.InsertionPoint(made.body):
            _iteration(outer, inner, made.induction_variable, known)
            scf.YieldOp([])
        for memory in known.values():
            if defining(memory, "memref.alloc"):
                memref.DeallocOp(memory)

    made = _unit_loop(count, body)
    outer.erase()
    for old in private:
        _forget(old)
    site.outline(made, count)


def emit_columns(site: Site, plan: Columns) -> None:
    """Each unit runs the loop with a part of the iterations of the one inside."""
    inner = nested_loop(site.op)
    assert inner is not None, "the row matched"
    total = trips(inner)

    def body(unit: ir.Value) -> None:
        first, last = bounds_of_part(unit, plan.size, total)
        even = total % plan.size == 0  # then LLVM is told how often the loop runs
        ends = [constant(end) for end in ((0, plan.size) if even else (first, last))]
        part = nested_loop(copied_with(site.op, {}))
        assert part is not None, "a copy of the loop"
        part.operands[0], part.operands[1] = ends
        if even:
            block = part.regions[0].blocks[0]
            shift(block.arguments[0], ir.InsertionPoint.at_block_begin(block), first)

    count = ceil(total / plan.size)
    made = _unit_loop(count, body)
    site.op.erase()
    site.outline(made, count)


def _is_direct(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether no view outside is between memory and a loop; else it goes along with its views."""
    users = [use.owner.operation for use in op.results[0].uses]
    return all(is_inside(user, loop) or user.name == "memref.dealloc" for user in users)


def _forget(old: ir.Operation) -> None:
    """Drop memory that nothing uses any more, and what frees it."""
    for use in list(old.results[0].uses):
        use.owner.operation.erase()
    old.erase()


def _iteration(
    outer: ir.Operation,
    inner: ir.Operation | None,
    number: ir.Value,
    known: dict[ir.Value, ir.Value],
) -> None:
    """The body of the loops at the insertion point, for one number of an iteration."""
    body = outer.regions[0].blocks[0]
    if inner is None:
        _copy_body(body, {**known, body.arguments[0]: number})
        return
    extent = constant(trips(inner))
    known = {**known, body.arguments[0]: arith.DivUIOp(number, extent).result}
    for op in (o.operation for o in body.operations):
        if op.name == "arith.constant":
            copied_with(op, known)
    block = inner.regions[0].blocks[0]
    known[block.arguments[0]] = arith.RemUIOp(number, extent).result
    _copy_body(block, known)


def _copy_body(block: ir.Block, known: dict[ir.Value, ir.Value]) -> None:
    """Copy what a block does, but for its end."""
    for op in [o.operation for o in block.operations][:-1]:
        copied_with(op, known)


def _in_units(
    site: Site, cut: Cut, part: Callable[[ir.Value, Index, int], None]
) -> tuple[ir.Operation, int]:
    """A loop over the units of a cut: full ones, and a last one that may be smaller."""
    full, rest = divmod(site.extents[cut.loop], cut.size)

    def body(unit: ir.Value) -> None:
        if not rest:
            part(unit, scale(unit, cut.size), cut.size)
            return
        is_full = arith.CmpIOp(arith.CmpIPredicate.ult, unit, constant(full)).result
        choice = scf.IfOp(is_full, has_else=True)
        with ir.InsertionPoint(choice.then_block):
            part(unit, scale(unit, cut.size), cut.size)
            scf.YieldOp([])
        with ir.InsertionPoint(choice.operation.regions[1].blocks[0]):
            part(unit, full * cut.size, rest)
            scf.YieldOp([])

    count = full + bool(rest)
    return _unit_loop(count, body), count


def _parts(generic: Generic, loop: int, first: Index, size: int) -> Values:
    """Of every operand; one that is read twice, along the loop alike, stays one."""
    extent = (generic.extents or ())[loop]
    operands = zip(generic.operands, generic.maps, strict=True)
    reads = [((v, steps_along(loop, m)), m) for v, m in operands]
    parts = {
        (v, steps): slice_of(v, m, loop, first, size, extent)
        for (v, steps), m in dict(reads).items()
    }
    return [parts[read] for read, _ in reads]
