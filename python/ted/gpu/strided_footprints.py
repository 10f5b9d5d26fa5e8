"""Which elements of memory the points of a box meet, whatever the views and dims they go through.

Before: a view of memory, and a map from the points of a box
After: a `Footprint`: the first element, and the steps from a point to the next ones. Boxes of
(32, 64) and of (2048) points have the same numbers for the same elements.
"""

from __future__ import annotations

from ted.gpu.bodies import Operand, work_of
from ted.gpu.flat_views import flat_view_of
from ted.mlir import ir
from ted.mlir.dependences import Met
from ted.mlir.footprints import Footprint, Sides


def footprint_of(operand: Operand, extents: tuple[int, ...]) -> Footprint | None:
    """Where the points of a box meet the memory of an operand; None if no steps say it."""
    flat = flat_view_of(operand.value) if operand.amap is not None else None
    address = None if flat is None else operand.address
    if flat is None or address is None:
        return None
    sides = _joined([(e, address[dim]) for dim, e in enumerate(extents) if e != 1])
    return Footprint(flat.value, flat.start + address.constant, sides)


def footprints_of(op: ir.Operation) -> tuple[Met, Met] | None:
    """Where the points of an operation read memory, and where they write it."""
    work = work_of(op)
    if work is None:
        return None
    inputs = (o for k, o in enumerate(work.inputs) if o.amap is not None and work.uses(k))
    reads, writes = (
        [(o.value, footprint_of(o, work.extents)) for o in operands]
        for operands in (inputs, work.outputs)
    )
    return reads, writes


def _joined(sides: list[tuple[int, int]]) -> Sides:
    """Sides that go on where the next one ends are one with it."""
    found: list[tuple[int, int]] = []
    for extent, step in reversed(sides):
        if found and step == found[-1][0] * found[-1][1]:
            extent, step = extent * found[-1][0], found[-1][1]
            found.pop()
        found.append((extent, step))
    return tuple(reversed(found))
