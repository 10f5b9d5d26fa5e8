"""What lowered loops run: the trips of a module at stage `linalg`, counted without running it.

A `linalg` operation runs its whole box; a loop nest runs from its `affine.max` to its `affine.min`,
a guard inside an innermost loop saves no trip. Zero fills do not count.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ted.cpu.pipeline import CPU_STAGES
from ted.frontend.tensors import Tensor
from ted.ir.affine_attributes import aff_from_mlir
from ted.ir.pass_driver import run_pipeline
from ted.ir.pipelines import run_stages
from ted.mlir import ir
from ted.testing.tracing import module_of, nodes
from ted.transforms.compute_sets import ComputeSets, computes
from ted.transforms.operation_count import point_count

Numbers = dict[ir.Value, int]


def trips_and_points(inputs: list[Tensor], outputs: list[Tensor]) -> tuple[int, int]:
    """The trips of the loops for some outputs, and the exact points of their equations."""
    module = module_of(nodes(inputs, "test"), nodes(outputs, "test"))
    with module.context:
        run_stages(module, CPU_STAGES, "ted")
        counts = [point_count(ComputeSets(op)) for op in computes(module)]
        assert all(c.exact for c in counts)
        run_stages(module, CPU_STAGES, "linalg", "ted")
        run_pipeline(module, "builtin.module(func.func(linalg-generalize-named-ops))")
        (function,) = module.body.operations
        return _block_trips(function.operation.regions[0].blocks[0], {}), sum(
            c.points for c in counts
        )


def _block_trips(block: ir.Block, known: Numbers) -> int:
    total = 0
    for view in block.operations:
        op = view.operation
        if op.name == "linalg.generic":
            total += 0 if _is_fill(op) else prod(_box(op))
        elif op.name == "scf.for":
            total += _loop_trips(op, known)
        elif op.name == "scf.if":
            branches = [r.blocks[0] for r in op.regions if len(r.blocks)]
            total += max(_block_trips(b, dict(known)) for b in branches)
        else:
            number = _number(op, known)
            if number is not None:
                known[op.results[0]] = number
    return total


def _loop_trips(op: ir.Operation, known: Numbers) -> int:
    begin, end, step = (known[v] for v in list(op.operands)[:3])
    body = op.regions[0].blocks[0]
    if not _has_loops(body):
        return len(range(begin, end, step))
    values = range(begin, end, step)
    if not _bounds_move(body):
        first = {**known, body.arguments[0]: begin}
        return len(values) * _block_trips(body, first) if values else 0
    return sum(_block_trips(body, {**known, body.arguments[0]: value}) for value in values)


def _bounds_move(body: ir.Block) -> bool:
    """Whether the bounds of a loop inside depend on the loop's own counter."""
    moving = {body.arguments[0]}
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        moves = any(v in moving for v in op.operands)
        found |= moves and op.name == "scf.for" and any(v in moving for v in [*op.operands][:3])
        if moves and not op.regions:
            moving.update(op.results)
        return ir.WalkResult.ADVANCE

    for view in body.operations:
        view.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _has_loops(block: ir.Block) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found |= op.name in ("scf.for", "linalg.generic")
        return ir.WalkResult.ADVANCE

    for view in block.operations:
        view.operation.walk(visit)
    return found


def _is_fill(op: ir.Operation) -> bool:
    (block,) = op.regions[0].blocks
    return len(block.operations) == 1 and not isinstance(op.operands[0].type, ir.ShapedType)


def _box(op: ir.Operation) -> list[int]:
    """The extents of the loops of a generic, read off operands that a dim indexes alone."""
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
    extents: dict[int, int] = {}
    for value, amap in zip(op.operands, maps, strict=True):
        for k, e in enumerate(amap.results):
            if isinstance(e, ir.AffineDimExpr):
                extents[e.position] = ir.ShapedType(value.type).shape[k]
    return [extents[k] for k in range(maps[0].n_dims)]


_ARITHMETIC = {
    "arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b, "arith.maxsi": max, "arith.minsi": min,
}  # fmt: skip


def _number(op: ir.Operation, known: Numbers) -> int | None:
    """The value of an index computation; None for everything else."""
    if op.name == "arith.constant" and str(op.results[0].type) == "index":
        return ir.IntegerAttr(op.attributes["value"]).value
    if any(v not in known for v in op.operands):
        return None
    operands = [known[v] for v in op.operands]
    if op.name in _ARITHMETIC:
        return _ARITHMETIC[op.name](*operands)
    if not op.name.startswith("affine."):
        return None
    amap: Any = ir.AffineMapAttr(op.attributes["map"]).value
    values = [aff_from_mlir(e).evaluate(operands) for e in amap.results]
    return {"affine.max": max, "affine.min": min}.get(op.name, lambda v: v[0])(values)
