"""Recurrences whose points do not meet -> one kernel, a thread for each point, time inside it.

Before: `scf.for %t { h[t, :] = h[t - 1, :] + x[t, :] }`, a launch for each step
After: a thread for each j, in which the loop over time runs over `h[t, j]`

A running sum is like that, or a linear recurrence: every operation of a step has the same points,
and what the loop writes is only met at the thread's own point, at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod

from ted.domain import intervals
from ted.domain.intervals import Interval
from ted.gpu.bodies import Operand, Work, work_of
from ted.gpu.dead_fills import structured
from ted.gpu.flat_views import FlatView, flat_view_of
from ted.gpu.launching import launch, only_if
from ted.gpu.maps import THREADS, linear_thread, run_points
from ted.gpu.points import below, delinearized
from ted.gpu.prefix_scans import prefix_scan_of
from ted.gpu.scan_kernels import Plan, map_prefix_scan
from ted.gpu.scan_kernels import plan_of as plan_of_scan
from ted.linalg.contractions import element_strides
from ted.linalg.loops import PARALLEL
from ted.machine import WARP
from ted.mlir import ir, scf
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.building import constant, scratch
from ted.mlir.effects import effects_of
from ted.mlir.index_values import range_of
from ted.mlir.queries import constant_of, copied_with, operations

_PURE = ("arith.", "affine.")


def is_point_loop(op: ir.Operation) -> bool:
    """Whether a loop of the host can run inside the threads of one kernel."""
    if op.name != "scf.for" or len(op.results) or None in map(constant_of, list(op.operands)[:3]):
        return False
    works: list[Work] = []
    for inner in _body(op):
        if inner.name in (*VIEWS, "memref.alloc") or inner.name.startswith(_PURE):
            continue
        work = work_of(inner) if structured(inner) else None
        if work is None or work.reductions or _loads_inside(inner):
            return False
        works.append(work)
    if not works or any(_points(w) != _points(works[0]) for w in works):
        return False
    written = effects_of(op).writes
    met = [
        o for w in works for o in (*w.inputs, *w.outputs)
        if o.amap is not None and root(o.value) in written
    ]  # fmt: skip
    return all(_is_own_point(o) for o in met) and all(
        _are_apart([o for o in met if root(o.value) == memory]) for memory in written
    )


def _body(op: ir.Operation) -> list[ir.Operation]:
    return [o.operation for o in op.regions[0].blocks[0].operations][:-1]


def _points(work: Work) -> list[int]:
    """The box of points, without dims of one point."""
    return [e for e in work.extents if e != 1]


def _loads_inside(op: ir.Operation) -> bool:
    return bool(operations(op, "memref.load", "memref.store", "scf.for"))


def _is_own_point(operand: Operand) -> bool:
    amap = operand.amap
    return amap is not None and amap == ir.AffineMap.get_identity(amap.n_dims)


def _are_apart(views: list[Operand]) -> bool:
    """Whether two points never meet the same element, each at any time, through these views."""
    flat = [flat_view_of(o.value) for o in views]
    known = [view for view in flat if view is not None]
    steps = [_steps_of(o.value) for o in views]
    first = steps[0]
    if len(known) < len(flat) or first is None or any(s != first for s in steps):
        return False
    moving = [s for s, _ in first]
    span = sum(s * (e - 1) for s, e in first) + 1
    step = gcd(*(view.start.constant - known[0].start.constant for view in known), *_factors(known))
    if step == 0 or step >= span:  # slices are the same or lie behind each other
        return True
    bounds = [_bounds(view) for view in known]
    ends = [b for b in bounds if b is not None]
    if len(ends) < len(bounds):
        return False
    # Slices lie inside each other: they move by less than their points are apart.
    return max(high for _, high in ends) - min(low for low, _ in ends) < min(moving, default=1)


def _steps_of(view: ir.Value) -> list[tuple[int, int]] | None:
    """Stride and extent of each dim of more than one element."""
    strides, shape = element_strides(view.type), ir.MemRefType(view.type).shape
    return None if strides is None else [
        (s, e) for s, e in zip(strides, shape, strict=True) if e != 1
    ]  # fmt: skip


def _factors(views: list[FlatView]) -> list[int]:
    return [factor for view in views for _, factor in view.start.terms]


def _bounds(view: FlatView) -> Interval | None:
    found = {value: range_of(value) for value, _ in view.start.terms}
    known = {value: ends for value, ends in found.items() if ends is not None}
    return None if len(known) < len(found) else intervals.of_form(view.start, known)


def plan_of(op: ir.Operation) -> Plan | None:
    """How threads share the time of a point; None where the loop is no prefix scan."""
    with scratch():
        buffers = _hoisted(op)
        scan = prefix_scan_of([_nest(op, buffers)], list(buffers.values()))
        return None if scan is None else plan_of_scan(scan)


def map_shared_time(op: ir.Operation, plan: Plan) -> None:
    """Build the kernels of a prefix scan at the insertion point."""
    buffers = _hoisted(op)
    nest = _nest(op, buffers)
    scan = prefix_scan_of([nest], list(buffers.values()))
    assert scan is not None, "the plan is of a prefix scan"
    map_prefix_scan(scan, plan)
    nest.erase()


def map_point_loop(op: ir.Operation) -> None:
    """Build the kernel at the insertion point, the loop's buffers in front of it."""
    buffers, extents = _hoisted(op), _extents(op)
    total = prod(extents)
    threads = min(THREADS, max(WARP, -(-total // WARP) * WARP))
    blocks = -(-total // threads)
    with launch(blocks, threads) as kernel:
        point = linear_thread(kernel)
        with only_if(None if total == blocks * threads else below(point, total)):
            dims = delinearized(point, extents)
            start, stop, step = (constant(constant_of(v) or 0) for v in list(op.operands)[:3])
            loop = scf.ForOp(start, stop, step)
            with ir.InsertionPoint(loop.body):
                _steps(op, loop.induction_variable, dims, buffers)
                scf.YieldOp([])


def _extents(op: ir.Operation) -> list[int]:
    return next(_points(w) for w in map(work_of, _body(op)) if w is not None)


def _hoisted(op: ir.Operation) -> dict[ir.Value, ir.Value]:
    """Buffers here for those that a loop makes in each step."""
    known: dict[ir.Value, ir.Value] = {}
    for buffer in operations(op, "memref.alloc"):
        copied_with(buffer, known)
    return known


def _nest(op: ir.Operation, buffers: Mapping[ir.Value, ir.Value]) -> ir.Operation:
    """The loop as one over scalars, with parallel loops over the points inside."""
    extents = _extents(op)
    start, stop, step = list(op.operands)[:3]
    loop = scf.ForOp(start, stop, step)

    def over(dims: list[ir.Value]) -> None:
        if len(dims) == len(extents):
            _steps(op, loop.induction_variable, dims, buffers)
            return
        inner = scf.ForOp(constant(0), constant(extents[len(dims)]), constant(1))
        inner.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        with ir.InsertionPoint(inner.body):
            over([*dims, inner.induction_variable])
            scf.YieldOp([])

    with ir.InsertionPoint(loop.body):
        over([])
        scf.YieldOp([])
    return loop.operation


def _steps(
    op: ir.Operation, time: ir.Value, dims: list[ir.Value], buffers: Mapping[ir.Value, ir.Value]
) -> None:
    known = {op.regions[0].blocks[0].arguments[0]: time, **buffers}
    for inner in _body(op):
        if inner.name == "memref.alloc":
            continue
        copy = copied_with(inner, known)
        work = work_of(copy)
        if work is None:
            continue
        place = iter(dims)
        run_points(work, [next(place) if e != 1 else constant(0) for e in work.extents])
        copy.erase()
