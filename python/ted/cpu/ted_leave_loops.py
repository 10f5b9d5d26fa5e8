"""`ted-leave-loops`: a loop that says whether it goes on -> one that its condition ends.

Before: `scf.for %t = 0 to 100 { ...; func.call @ted_loop_goes_on(%going) }`
After: `scf.while { ...; scf.condition(%going and %t + 1 < 100) }`
"""

from __future__ import annotations

from ted.linalg.leaving import GOES_ON
from ted.mlir import arith, func, ir, scf
from ted.mlir.queries import constant_of, operations, symbol_name, terminator
from ted.records import dataclass

TURN = "ted_loop_turn"
MANY = 2**31 - 1024  # turns of a loop that nothing but its condition ends


@dataclass(frozen=True)
class TedLeaveLoops:
    """The steps of a loop that is left would change nothing, so that this is only faster."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        if not _declarations(module):
            return
        for call in operations(module.operation, "func.call"):
            if _callee(call) == GOES_ON:
                _leave(call)
        if any(_callee(call) == TURN for call in operations(module.operation, "func.call")):
            with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
                kind = ir.FunctionType.get([ir.IntegerType.get_signless(64)], [])
                func.FuncOp(TURN, kind, visibility="private")
        for function in _declarations(module):
            function.erase()


def _declarations(module: ir.Module) -> list[ir.Operation]:
    """What says that there are such loops."""
    tops = [one.operation for one in module.body.operations]
    return [op for op in tops if op.name == "func.func" and symbol_name(op) == GOES_ON]


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _leave(call: ir.Operation) -> None:
    (going,) = call.operands
    parent, body = call.parent, call.block
    assert parent is not None, "the call is in a function"
    loop = parent.operation
    if loop.name == "scf.for" and not loop.results:
        if (constant_of(loop.operands[1]) or 0) > MANY:
            _count_turns(loop, call)
        with ir.InsertionPoint(loop), loop.location:
            _while(loop, body, going)
        loop.erase()
    call.erase()


def _count_turns(loop: ir.Operation, place: ir.Operation) -> None:
    """Tell the runtime of each turn, which may leave the call."""
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(place), loop.location:
        turn = arith.IndexCastOp(i64, loop.regions[0].blocks[0].arguments[0]).result
        func.CallOp([], ir.FlatSymbolRefAttr.get(TURN), [turn])


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
