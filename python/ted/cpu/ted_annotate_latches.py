"""Loops in LLVM -> loops that are vectorised but not unrolled: `ted-annotate-latches`.

Before: `llvm.br ^header(%next)`.  After: the same with `loop_annotation`.

With constant trip counts LLVM would unroll a vectorised reduction completely, and `reassoc` lets it
then be linearised into one chain of dependent additions. A long loop asks for four interleaved
vectors instead, which hides the latency of a running maximum; a short one would spend its trips in
the remainder. The annotation must sit on the branch back to the header: put on `scf.for` it is
lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir
from ted.mlir.queries import terminator

# From so many trips on a loop is long, and has so many vectors.
LONG_TRIPS, INTERLEAVED = 64, 4
_NO_UNROLL = "unroll = <disable = true>"
SHORT = f"#llvm.loop_annotation<{_NO_UNROLL}>"
LONG = f"#llvm.loop_annotation<interleave = <count = {INTERLEAVED} : i32>, {_NO_UNROLL}>"


@dataclass(frozen=True)
class TedAnnotateLatches:
    """Annotate each backward branch; a loop of at least `long` trips is interleaved."""

    long: int = LONG_TRIPS

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in module.body.operations:
            if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
                self._annotate(list(op.operation.regions[0].blocks))

    def _annotate(self, blocks: list[ir.Block]) -> None:
        short, long = ir.Attribute.parse(SHORT), ir.Attribute.parse(LONG)
        seen: set[ir.Block] = set()
        for block in blocks:
            seen.add(block)
            branch = terminator(block)
            if branch.name not in ("llvm.br", "llvm.cond_br"):
                continue
            headers = seen.intersection(branch.successors)
            if headers:
                is_long = _trips(headers.pop()) >= self.long
                branch.attributes["loop_annotation"] = long if is_long else short


def _trips(header: ir.Block) -> int:
    """The constant that a header compares its counter with; 0 when it is not constant."""
    branch = terminator(header)
    if branch.name != "llvm.cond_br":
        return 0
    condition = branch.operands[0].owner
    if isinstance(condition, ir.Block) or condition.operation.name != "llvm.icmp":
        return 0
    limit = condition.operation.operands[1].owner
    if isinstance(limit, ir.Block) or limit.operation.name != "llvm.mlir.constant":
        return 0
    return ir.IntegerAttr(limit.operation.attributes["value"]).value
