"""Loops that move elements from where data say: one element after the other, without gathers.

Before: `for i: y[i] = T[idx[i]]` in LLVM, whose vectorisers would read T by gathers
After: the same with reads of T that are `unordered`, which they leave alone, and a count to unroll

A gather loads element by element, in more steps than loads take: on Zen 4 a take of columns needs
a third of the time without (Intel's CPUs were not measured; where gathers are kept from telling
what others loaded, they are slower still). Vectors pay where a loop does more with what it reads
than sums and products, which become vectors behind single loads as well.
"""

from __future__ import annotations

from ted.mlir import ir

TOGETHER = 8  # elements that a turn moves: no test of the counter, nor a jump, for each
# Operations on floats that do not ask for vectors. Measured on Zen 4: with 16 products and sums of
# them single loads still take 0.8 of the time of gathers, with a quotient or a root 3 times of it.
CHEAP = {"llvm.load", "llvm.mlir.constant", "llvm.fadd", "llvm.fsub", "llvm.fmul", "llvm.fneg",
         "llvm.intr.fma", "llvm.intr.fmuladd", "llvm.select"}  # fmt: skip
SCALAR = f"#llvm.loop_annotation<unroll = <count = {TOGETHER} : i32>>"
_UNORDERED = 1  # of LLVM's orderings of atomic accesses


def without_gathers(header: ir.Block, loop: list[ir.Block]) -> ir.Attribute | None:
    """How an innermost loop that moves elements at data is unrolled; its reads become unordered.

    None, and nothing changes, for other loops: a total that is carried has lanes of its own.
    """
    operations = [op.operation for block in loop for op in block.operations]
    if len(header.arguments) != 1 or not all(map(_is_cheap, operations)):
        return None
    found = [op for op in operations if op.name == "llvm.load" and _is_at_data(op, header, loop)]
    if not found or not all(_width(op) in (8, 16, 32, 64) for op in found):
        return None
    integer = ir.IntegerType.get_signless(64)
    for op in found:
        op.attributes["ordering"] = ir.IntegerAttr.get(integer, _UNORDERED)
        op.attributes["alignment"] = ir.IntegerAttr.get(integer, _width(op) // 8)
    return ir.Attribute.parse(SCALAR)


def _is_cheap(op: ir.Operation) -> bool:
    return op.name in CHEAP or not any(isinstance(r.type, ir.FloatType) for r in op.results)


def _width(load: ir.Operation) -> int:
    """Bits of what is read, 0 for what is no scalar."""
    kind = load.results[0].type
    return kind.width if isinstance(kind, ir.FloatType | ir.IntegerType) else 0


def _is_at_data(load: ir.Operation, header: ir.Block, loop: list[ir.Block]) -> bool:
    """Whether the address is computed from what another load reads, other ones in each turn."""
    waiting = [(value, False) for value in load.operands]
    seen = set(waiting)
    while waiting:
        value, is_read = waiting.pop()
        if isinstance(value.owner, ir.Block):
            if is_read and value.owner == header:
                return True
            continue
        op = value.owner.operation
        if op.block in loop:
            further = {(v, is_read or op.name == "llvm.load") for v in op.operands} - seen
            seen |= further
            waiting += further
    return False
