"""`ted-convert-foralls`: `scf.forall` on memrefs -> nests of loops that say what may run at once.

Before: `scf.forall (%i, %j) in (8, 16) {...}`
After: `scf.for %i = 0 to 8 { scf.for %j = 0 to 16 {...} {ted.parallel} } {ted.parallel}`

As serial loops they let buffers out and take sums over rows in; the mark is what
`ted-parallelize-kernels` asks for. Source: upstream's scf-forall-to-for, which drops it.
"""

from __future__ import annotations

from ted.errors import PassFailed
from ted.linalg.loops import PARALLEL
from ted.mlir import ir, scf
from ted.mlir.locations import source_location
from ted.mlir.queries import operations, terminator
from ted.mlir.scalars import index
from ted.records import dataclass

_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")


@dataclass(frozen=True)
class TedConvertForalls:
    """The pass."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every loop.

        Raises: PassFailed for bounds that are no numbers.
        """
        with module.context:
            for op in operations(module.operation, "scf.forall"):
                _convert(op)


def _convert(op: ir.Operation) -> None:
    if len(op.operands) or len(op.results):
        raise PassFailed(
            f"ted-convert-foralls: a loop on memrefs with constant bounds, got {len(op.operands)} "
            f"operands and {len(op.results)} results",
            source_location(op.location),
        )
    bounds = [list(ir.DenseI64ArrayAttr(op.attributes[name])) for name in _BOUNDS]
    body = op.regions[0].blocks[0]
    place = ir.InsertionPoint(op)
    loops: list[scf.ForOp] = []
    for lower, upper, step in zip(*bounds, strict=True):
        with place, op.location:
            loops.append(scf.ForOp(index(lower), index(upper), index(step)))
            loops[-1].operation.attributes[PARALLEL] = ir.UnitAttr.get()
        with ir.InsertionPoint(loops[-1].body), op.location:
            place = ir.InsertionPoint(scf.YieldOp([]))
    for old, loop in zip(body.arguments, loops, strict=True):
        old.replace_all_uses_with(loop.induction_variable)
    last = terminator(loops[-1].body)
    ending = terminator(body)
    for inner in [o.operation for o in body.operations]:
        if inner != ending:
            inner.move_before(last)
    op.erase()
