"""Loops in LLVM -> loops that are vectorised but not unrolled: `ted-annotate-latches`.

Before: `llvm.br ^header(%next)`.  After: the same with `loop_annotation`.

With constant trip counts LLVM would unroll a vectorised reduction completely, and `reassoc` lets it
then be linearised into one chain of dependent additions. A long loop asks for four interleaved
vectors instead, which hides the latency of a running maximum; a short one would spend its trips in
the remainder. Where it calls functions of vectors (`ted-outline-math`), each call takes some of
the four. A long loop that only moves elements from where data say is unrolled instead
(`gathers.py`). The annotation must sit on the branch back to the header: put on `scf.for` it is
lost.
"""

from __future__ import annotations

from ted.cpu.gathers import without_gathers
from ted.math.ted_outline_math import LONG_TRIPS, TOGETHER
from ted.mlir import ir
from ted.mlir.queries import symbol_name, terminator
from ted.records import dataclass

INTERLEAVED = 4  # vectors of a long loop
_NO_UNROLL = "unroll = <disable = true>"
SHORT = f"#llvm.loop_annotation<{_NO_UNROLL}>"
LONG = f"#llvm.loop_annotation<interleave = <count = {INTERLEAVED} : i32>, {_NO_UNROLL}>"


@dataclass(frozen=True)
class TedAnnotateLatches:
    """Annotate each backward branch; a loop of at least `long` trips is interleaved."""

    long: int = LONG_TRIPS

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        functions = {
            symbol_name(op.operation): op.operation
            for op in module.body.operations
            if op.operation.name == "llvm.func"
        }
        for function in functions.values():
            self._annotate(list(function.regions[0].blocks), functions)

    def _annotate(self, blocks: list[ir.Block], functions: dict[str, ir.Operation]) -> None:
        short, long = ir.Attribute.parse(SHORT), ir.Attribute.parse(LONG)
        seen: set[ir.Block] = set()
        inner: set[ir.Block] = set()
        for block in blocks:
            seen.add(block)
            branch = terminator(block)
            if branch.name not in ("llvm.br", "llvm.cond_br"):
                continue
            headers = seen.intersection(branch.successors)
            if headers:
                header = headers.pop()
                is_long = _trips(header) >= self.long
                loop = blocks[blocks.index(header) : len(seen)]
                annotation = (_of_calls(loop, functions) or long) if is_long else short
                if is_long and inner.isdisjoint(loop):
                    annotation = without_gathers(header, loop) or annotation
                branch.attributes["loop_annotation"] = annotation
                inner.add(header)


def _of_calls(loop: list[ir.Block], functions: dict[str, ir.Operation]) -> ir.Attribute | None:
    """What the functions that are called want, if it is the same."""
    called = {
        ir.FlatSymbolRefAttr(op.operation.attributes["callee"]).value
        for block in loop
        for op in block.operations
        if op.operation.name == "llvm.call" and "callee" in op.operation.attributes
    }
    wanted = {
        tuple(ir.DenseI64ArrayAttr(functions[name].attributes[TOGETHER]))
        for name in called
        if name in functions and TOGETHER in functions[name].attributes
    }
    if len(wanted) != 1:
        return None
    registers, lanes = wanted.pop()
    return ir.Attribute.parse(
        f"#llvm.loop_annotation<vectorize = <width = {lanes} : i32>, "
        f"interleave = <count = {max(1, INTERLEAVED // registers)} : i32>, {_NO_UNROLL}>"
    )


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
