"""Updates of many elements at data -> chains: a thread for each element that some update meets.

Before: `for s { for p { out[index[s], p] = out[index[s], p] + values[s, p] } }`
After: a kernel finds for each s the next one with the same index, and whether there is an earlier
one; another makes the updates: a thread for each (s, p) whose s is the first of its index goes
along the others in the order of the program. No two threads write one element, and each element
gets its terms in order. Where there are many updates, stretches of them come one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.gpu.cooperative_groups import Team
from ted.gpu.launching import launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.points import below, delinearized, linearized, plus, times
from ted.gpu.updates import Updates, make_update
from ted.mlir import arith, ir, memref, scf
from ted.mlir.building import carried_loop, constant
from ted.mlir.queries import copied_with, defining

LEAST = 256  # fewer updates are looked at by all threads faster than chains are made
STRETCH = 8192  # updates that are compared with each other
TILE = 64  # of them at once: many small blocks compare
_NONE = -1


def has_chains(updates: Updates) -> bool:
    """Whether the element of an update is known before it is made, for all columns at once."""
    place = list(updates.element.store.operands)[2:]
    known = all(_is_known(place[d], updates) for d in updates.bin_dims)
    return known and updates.count > LEAST and updates.width > 0


def _is_known(value: ir.Value, updates: Updates) -> bool:
    """Whether a value is a function of the rounds alone that can be computed at every round."""
    counters = {c.value for c in updates.chain}
    if value in counters:
        return value not in {c.value for c in updates.columns}
    op = defining(value)
    if op is None:
        return False
    if op.name == "memref.load" and op.parent is not None:
        parent = op.parent.operation
        if parent not in [c.loop for c in updates.chain]:
            return False
    elif not op.name.startswith(("arith.", "affine.")):
        return op.name == "memref.get_global" or _is_outside(op, updates)
    return all(_is_memory(o) or _is_known(o, updates) for o in op.operands)


def _is_outside(op: ir.Operation, updates: Updates) -> bool:
    return op.block == updates.nest[0].block


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)


def map_chains(updates: Updates) -> None:
    """Build the kernels at the insertion point."""
    i32 = ir.IntegerType.get_signless(32)
    stretch = min(STRETCH, -(-updates.count // THREADS) * THREADS)
    stretches = -(-updates.count // stretch)
    kind = ir.MemRefType.get([updates.count], i32)
    keys, following, is_later = (memref.AllocOp(kind, [], []).result for _ in range(3))
    _map_keys(updates, keys)
    _map_links(updates.count, stretch, keys, following, is_later)
    if stretches == 1:
        _map_walk(updates, stretch, constant(0), following, is_later)
        return
    loop = scf.ForOp(constant(0), constant(stretches), constant(1))
    with ir.InsertionPoint(loop.body):
        _map_walk(updates, stretch, loop.induction_variable, following, is_later)
        scf.YieldOp([])


def _map_keys(updates: Updates, keys: ir.Value) -> None:
    """A number for each update: equal for those that meet at one element."""
    blocks = -(-updates.count // THREADS)
    with launch(blocks, THREADS) as kernel:
        update = linear_thread(kernel)
        with only_if(below(update, updates.count)):
            rounds = delinearized(update, [c.extent for c in updates.rounds])
            known = {
                c.value: plus(v, c.range[0]) for v, c in zip(rounds, updates.rounds, strict=True)
            }
            place = list(updates.element.store.operands)[2:]
            bins = [_again(place[d], known, updates) for d in updates.bin_dims]
            number = linearized(bins, [updates.shape[d] for d in updates.bin_dims])
            # Indices out of range may share a number with others: then they share a thread.
            key = arith.IndexCastOp(ir.IntegerType.get_signless(32), number).result
            memref.StoreOp(key, keys, [update])


def _again(value: ir.Value, known: dict[ir.Value, ir.Value], updates: Updates) -> ir.Value:
    """A value computed again, here."""
    op = defining(value)
    if value in known or op is None or _is_memory(value):
        return known.get(value, value)
    known.update({o: _again(o, known, updates) for o in op.operands})
    copied_with(op, known)
    return known[value]


def _map_links(
    count: int, stretch: int, keys: ir.Value, following: ir.Value, is_later: ir.Value
) -> None:
    """For each update the next one with its key in the stretch, and whether there is an earlier."""
    i32 = ir.IntegerType.get_signless(32)
    with launch(-(-count // TILE), TILE) as kernel:
        tile = Team(kernel).shared([TILE], i32)
        update = linear_thread(kernel)
        begin = arith.DivUIOp(kernel.block, constant(stretch // TILE)).result
        begin = times(begin, stretch)
        key = memref.LoadOp(keys, [_at_most(update, count - 1)]).result
        mine = arith.IndexCastOp(i32, update).result
        none, zero = (arith.ConstantOp(i32, n).result for n in (_NONE, 0))

        def compared(k: ir.Value, base: ir.Value, found: Sequence[ir.Value]) -> list[ir.Value]:
            following, later = found
            other = arith.IndexCastOp(i32, plus(base, k)).result
            other_key = memref.LoadOp(tile, [k]).result
            is_equal = arith.CmpIOp(arith.CmpIPredicate.eq, other_key, key).result
            is_before = arith.CmpIOp(arith.CmpIPredicate.slt, other, mine).result
            is_behind = arith.CmpIOp(arith.CmpIPredicate.sgt, other, mine).result
            is_first = arith.CmpIOp(arith.CmpIPredicate.eq, following, none).result
            takes = arith.AndIOp(is_equal, arith.AndIOp(is_behind, is_first).result).result
            seen = arith.ExtUIOp(i32, arith.AndIOp(is_equal, is_before).result).result
            return [
                arith.SelectOp(takes, other, following).result,
                arith.OrIOp(later, seen).result,
            ]

        def tiles(base: ir.Value, found: Sequence[ir.Value]) -> Sequence[ir.Value]:
            place = plus(base, kernel.thread)
            value = memref.LoadOp(keys, [_at_most(place, count - 1)]).result
            memref.StoreOp(value, tile, [kernel.thread])
            Team(kernel).wait()
            size = arith.MinUIOp(constant(TILE), arith.SubIOp(constant(count), base).result).result
            found = carried_loop(0, size, 1, found, lambda k, f: compared(k, base, f))
            Team(kernel).wait()
            return found

        end = _at_most(plus(begin, stretch), count)
        result = carried_loop(begin, end, TILE, [none, zero], tiles)
        with only_if(below(update, count)):
            for value, memory in zip(result, (following, is_later), strict=True):
                memref.StoreOp(value, memory, [update])


def _at_most(value: ir.Value, bound: int) -> ir.Value:
    return arith.MinUIOp(value, constant(bound)).result


def _map_walk(
    updates: Updates, stretch: int, number: ir.Value, following: ir.Value, is_later: ir.Value
) -> None:
    """The updates of a stretch: a thread for each chain and column."""
    i32 = ir.IntegerType.get_signless(32)
    columns = [c.extent for c in updates.columns]
    total = stretch * prod(columns)
    blocks = -(-total // THREADS)
    with launch(blocks, THREADS) as kernel:
        first, *point = delinearized(linear_thread(kernel), [stretch, *columns])
        first = plus(times(number, stretch), first)
        inside = below(first, updates.count)
        if total < blocks * THREADS:
            inside = arith.AndIOp(inside, below(linear_thread(kernel), total)).result
        with only_if(inside):
            later = memref.LoadOp(is_later, [first]).result
            none, zero = (arith.ConstantOp(i32, n).result for n in (_NONE, 0))
            starts = arith.CmpIOp(arith.CmpIPredicate.eq, later, zero).result
            with only_if(starts):
                loop = scf.WhileOp([i32], [arith.IndexCastOp(i32, first).result])
                before = loop.before.blocks.append(i32)
                with ir.InsertionPoint(before):
                    (at,) = before.arguments
                    more = arith.CmpIOp(arith.CmpIPredicate.ne, at, none).result
                    scf.ConditionOp(more, [at])
                after = loop.after.blocks.append(i32)
                with ir.InsertionPoint(after):
                    update = arith.IndexCastOp(ir.IndexType.get(), after.arguments[0]).result
                    make_update(updates, update, point)
                    scf.YieldOp([memref.LoadOp(following, [update]).result])
