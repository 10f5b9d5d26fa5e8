"""Which slices are kept of the histories of a scan inside of a step of another one.

Before: `%h: tensor<20x50x8xf64>`, 20 times 50 steps, of which the outer step reads the last one
After: `tensor<20x1x8xf64>`, a window along the inner time, which may be a slice of the outer one
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ted.linalg.generics import started, starts_alike
from ted.linalg.scan_bodies import ScanBody, equations_in, is_inside_scan, passes_on
from ted.linalg.storage_folding import (
    Window,
    history_loads,
    history_reads,
    load_ago,
    read_from_window,
    steps_ago,
    windows_within,
)
from ted.mlir import ir
from ted.mlir.scalars import shape_of

Windows = dict[int, Window]


def fold_nested(op: ir.Operation) -> dict[ir.Operation, Windows]:
    """The windows of the scans inside of the steps of one; its histories are made that small."""
    found: dict[ir.Operation, Windows] = {}
    for nested in _nested(op):
        outermost = ScanBody(op)
        values = _values(outermost)
        uses = {j: _uses_elsewhere(values[j], nested) for j in outermost.written(nested)}
        mixed = _read_at_other_times(nested, outermost)
        body = ScanBody(nested)
        around = [outermost.history[v] for v in nested.operands]
        windows = windows_within(body, [uses[j] for j in around])
        kept = {
            k: w
            for k, w in windows.items()
            if around[k] not in mixed and starts_alike(outermost.inits[around[k]])
        }
        for k, window in kept.items():
            _shrink(op, around[k], values[around[k]], window)
            read_from_window(uses[around[k]], window)
        found[nested] = kept
    return found


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    for view in op.regions[0].blocks[0].operations:
        if view.operation.name == "ted.scan":
            yield view.operation
            yield from _nested(view.operation)


def _values(body: ScanBody) -> dict[int, list[ir.Value]]:
    found: dict[int, list[ir.Value]] = {k: [r] for k, r in enumerate(body.op.results)}
    for value, k in body.history.items():
        found[k].append(value)
    return found


def _uses_elsewhere(values: list[ir.Value], nested: ir.Operation) -> list[Any]:
    """What reads a history outside of the scan that makes it."""
    own = set(equations_in(nested))
    uses = [use for value in values for use in value.uses]
    owners = [use.owner.operation for use in uses]
    return [u for u, o in zip(uses, owners, strict=True) if o not in own and not passes_on(o)]


def _read_at_other_times(nested: ir.Operation, outermost: ScanBody) -> set[int]:
    """The histories that a scan reads of other steps of one around it."""
    found: set[int] = set()
    around = nested
    while is_inside_scan(around) and around.parent is not None:
        around = around.parent.operation
        body = ScanBody(around)
        for op in equations_in(nested):
            equation, how = body.equations[op], (body.times, body.reverse)
            for read, source in history_reads(equation):
                if steps_ago(equation, read, source, *how) != 0:
                    found.add(outermost.history.get(read.tensor, -1))
            for load, source in history_loads(equation):
                if load_ago(equation, load, source, *how) != 0:
                    found.add(outermost.history.get(load.operands[0], -1))
    return found


def _shrink(op: ir.Operation, history: int, values: list[ir.Value], window: Window) -> None:
    """Give a history the extent of its window."""
    shape = list(shape_of(op.results[history]))
    shape[window.axis] = window.size
    init = op.operands[history]
    with ir.InsertionPoint(op), op.location:
        op.operands[history] = started(shape, init)
    for value in values:
        value.set_type(op.operands[history].type)
