"""Conflicting lanes of a warp, which want one element, are serialised in the order of the lanes.

Before: 32 lanes, each with a key      After: rounds, in which the keys of those that go differ
"""

from __future__ import annotations

from collections.abc import Callable

from ted.gpu.launching import only_if
from ted.mlir import arith, ir, nvvm, scf


def in_turns(key: ir.Value, lane: ir.Value, make: Callable[[ir.Value], None]) -> None:
    """Call `make(key)` on each lane; lanes with the same key wait for the lower ones.

    All lanes of the warp come here; those with key -1 have nothing to do.  What a lane has written
    is there for those after it.
    """
    i32 = key.type
    everyone, zero, one = (arith.ConstantOp(i32, n).result for n in (-1, 0, 1))
    wants = arith.CmpIOp(arith.CmpIPredicate.ne, key, everyone).result
    peers = nvvm.match_sync(everyone, key, nvvm.MatchSyncKind.any, results=[i32])
    bit = arith.ShLIOp(one, arith.IndexCastOp(i32, lane).result).result
    lower = arith.AndIOp(peers, arith.SubIOp(bit, one).result).result
    loop = scf.WhileOp([i32], [_ballot(i32, everyone, wants)])
    before = loop.before.blocks.append(i32)
    with ir.InsertionPoint(before):
        left = before.arguments[0]
        more = arith.CmpIOp(arith.CmpIPredicate.ne, left, zero).result
        scf.ConditionOp(more, [left])
    after = loop.after.blocks.append(i32)
    with ir.InsertionPoint(after):
        left = after.arguments[0]
        ahead = arith.AndIOp(left, lower).result
        is_free = arith.CmpIOp(arith.CmpIPredicate.eq, ahead, zero).result
        is_left = arith.CmpIOp(arith.CmpIPredicate.ne, arith.AndIOp(left, bit).result, zero).result
        goes = arith.AndIOp(is_free, is_left).result
        with only_if(goes):
            make(arith.IndexCastOp(ir.IndexType.get(), key).result)
        nvvm.SyncWarpOp(everyone)
        gone = arith.XOrIOp(_ballot(i32, everyone, goes), everyone).result
        scf.YieldOp([arith.AndIOp(left, gone).result])


def _ballot(kind: ir.Type, mask: ir.Value, value: ir.Value) -> ir.Value:
    return nvvm.vote_sync(mask, value, nvvm.VoteSyncKind.ballot, results=[kind])
