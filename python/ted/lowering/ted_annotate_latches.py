"""Loops in the LLVM dialect -> loops that LLVM vectorises but does not unroll away.

With constant trip counts LLVM would unroll a vectorised reduction completely, and `reassoc` lets it
then be linearised into one chain of dependent additions.  The annotation must sit on the branch back
to the header: put on `scf.for` it is lost on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir

NO_UNROLL = "#llvm.loop_annotation<unroll = <disable = true>>"


@dataclass(frozen=True)
class TedAnnotateLatches:
    """Put `loop_annotation` on each backward branch: the pass `ted-annotate-latches`."""

    def run(self, module: ir.Module) -> None:
        annotation = ir.Attribute.parse(NO_UNROLL)
        for op in module.body.operations:
            if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
                _annotate(list(op.operation.regions[0].blocks), annotation)


def _annotate(blocks: list[ir.Block], annotation: ir.Attribute) -> None:
    seen: set[ir.Block] = set()
    for block in blocks:
        seen.add(block)
        branch = block.operations[len(block.operations) - 1].operation
        if branch.name in ("llvm.br", "llvm.cond_br") and seen.intersection(branch.successors):
            branch.attributes["loop_annotation"] = annotation
