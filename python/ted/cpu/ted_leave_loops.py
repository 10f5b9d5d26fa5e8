"""`ted-leave-loops`: a loop that says whether it goes on -> one that its condition ends.

Before: `scf.for %t = 0 to 100 { ...; func.call @ted_loop_goes_on(%going) }`
After: `scf.while { ...; scf.condition(%going and %t + 1 < 100) }`
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.linalg.leaving import GOES_ON
from ted.mlir import arith, ir, scf
from ted.mlir.queries import operations, symbol_name, terminator


@dataclass(frozen=True)
class TedLeaveLoops:
    """The steps of a loop that is left would change nothing, so that this is only faster."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for call in operations(module.operation, "func.call"):
            if ir.FlatSymbolRefAttr(call.attributes["callee"]).value == GOES_ON:
                _leave(call)
        for function in operations(module.operation, "func.func"):
            if symbol_name(function) == GOES_ON:
                function.erase()


def _leave(call: ir.Operation) -> None:
    (going,) = call.operands
    loop, body = call.block.owner.operation, call.block
    if loop.name == "scf.for" and not loop.results:
        with ir.InsertionPoint(loop), loop.location:
            _while(loop, body, going)
        call.erase()
        loop.erase()
    else:
        call.erase()


def _while(loop: ir.Operation, body: ir.Block, going: ir.Value) -> None:
    lower, upper, step = loop.operands
    made = scf.WhileOp([lower.type], [lower])
    before = made.regions[0].blocks.append(lower.type)
    after = made.regions[1].blocks.append(lower.type)
    with ir.InsertionPoint(before):
        now = before.arguments[0]
        end = scf.ConditionOp(going, [now]).operation
    body.arguments[0].replace_all_uses_with(now)
    for view in list(body.operations)[:-1]:
        view.operation.move_before(end)
    with ir.InsertionPoint(end):
        following = arith.AddIOp(now, step).result
        is_before = arith.CmpIOp(arith.CmpIPredicate.slt, following, upper).result
        end.operands[0] = arith.AndIOp(going, is_before).result
        end.operands[1] = following
    with ir.InsertionPoint(after):
        scf.YieldOp([after.arguments[0]])
    assert terminator(body).name == "scf.yield", "all else has moved"
