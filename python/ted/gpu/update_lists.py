"""Updates of many elements at data -> chains: a thread for each element that some update meets.

Before: `for s { for p { out[index[s], p] = out[index[s], p] + values[s, p] } }`
After: kernels sort the updates s by element, and by s where elements are equal: runs of a block
first, then as many kernels as it takes to join 4 runs at a time. Another one makes the updates: a
thread for each (s, p) whose s is the first of its element goes along the others, which follow it.
No two threads write one element, and each element gets its terms in the order of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.gpu.cooperative_groups import Team
from ted.gpu.launching import Launch, launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.points import below, delinearized, linearized, plus, times
from ted.gpu.updates import Updates, make_update
from ted.mlir import arith, ir, memref, scf
from ted.mlir.building import carried_loop, constant
from ted.mlir.queries import copied_with, defining

LEAST = 256  # fewer updates are looked at by all threads faster than chains are made
MOST = 1 << 29  # numbers of places in runs behind the last one are of 32 bits
WAYS = 4  # sorted runs that a kernel joins
PLACES = 8  # that a thread looks at, where there are many: most are no first one
MANY = 1 << 21  # places: 8 for each of the threads that a large GPU holds at once
_BITS = 32  # of an entry, for the update; those above are for its element


def has_chains(updates: Updates) -> bool:
    """Whether the element of an update is known before it is made, for all columns at once."""
    place = list(updates.element.store.operands)[2:]
    known = all(_is_known(place[d], updates) for d in updates.bin_dims)
    return known and LEAST < updates.count <= MOST and updates.width > 0


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
    kind = ir.MemRefType.get([updates.count], ir.IntegerType.get_signless(64))
    source, target = (memref.AllocOp(kind, [], []).result for _ in range(2))
    _map_runs(updates, source)
    run = THREADS
    while run < updates.count:
        _map_joins(updates.count, run, source, target)
        source, target, run = target, source, run * WAYS
    _map_walk(updates, source)


def _map_runs(updates: Updates, entries: ir.Value) -> None:
    """The updates of each block in order of their entries: the place is the number of lesser."""
    i64 = ir.IntegerType.get_signless(64)
    with launch(-(-updates.count // THREADS), THREADS) as kernel:
        tile = Team(kernel).shared([THREADS], i64)
        update = linear_thread(kernel)
        inside = below(update, updates.count)
        behind = arith.ConstantOp(i64, (1 << 63) - 1).result
        entry = arith.SelectOp(inside, _entry(_at_most(update, updates.count - 1), updates), behind)
        memref.StoreOp(entry.result, tile, [kernel.thread])
        Team(kernel).wait()

        def counted(k: ir.Value, found: Sequence[ir.Value]) -> list[ir.Value]:
            other = memref.LoadOp(tile, [k]).result
            lesser = arith.ExtUIOp(_number(0).type, _is_less(other, entry.result)).result
            return [arith.AddIOp(found[0], lesser).result]

        (lesser,) = carried_loop(0, THREADS, 1, [_number(0)], counted)
        place = arith.IndexCastOp(ir.IndexType.get(), lesser).result
        with only_if(inside):
            memref.StoreOp(entry.result, entries, [plus(times(kernel.block, THREADS), place)])


def _entry(update: ir.Value, updates: Updates) -> ir.Value:
    """A number that orders updates by their elements, and those of one element as they come."""
    i32, i64 = (ir.IntegerType.get_signless(width) for width in (32, 64))
    rounds = delinearized(update, [c.extent for c in updates.rounds])
    known = {c.value: plus(v, c.range[0]) for v, c in zip(rounds, updates.rounds, strict=True)}
    place = list(updates.element.store.operands)[2:]
    bins = [_again(place[d], known, updates) for d in updates.bin_dims]
    number = linearized(bins, [updates.shape[d] for d in updates.bin_dims])
    # Indices out of range may share a number with others: then they share a thread.
    key = arith.ExtSIOp(i64, arith.IndexCastOp(i32, number).result).result
    high = arith.ShLIOp(key, arith.ConstantOp(i64, _BITS).result).result
    return arith.OrIOp(high, arith.IndexCastOp(i64, update).result).result


def _again(value: ir.Value, known: dict[ir.Value, ir.Value], updates: Updates) -> ir.Value:
    """A value computed again, here."""
    op = defining(value)
    if value in known or op is None or _is_memory(value):
        return known.get(value, value)
    known.update({o: _again(o, known, updates) for o in op.operands})
    copied_with(op, known)
    return known[value]


def _map_joins(count: int, run: int, source: ir.Value, target: ir.Value) -> None:
    """Sorted runs from several: an entry comes behind the lesser ones of its run and the others."""
    with launch(-(-count // THREADS), THREADS) as kernel:
        item = linear_thread(kernel)
        with only_if(below(item, count)):
            entry = memref.LoadOp(source, [item]).result
            number = arith.DivUIOp(item, constant(run)).result
            own = arith.RemUIOp(number, constant(WAYS)).result
            base = times(arith.SubIOp(number, own).result, run)
            others = [
                plus(base, times(arith.RemUIOp(plus(own, way), constant(WAYS)).result, run))
                for way in range(1, WAYS)
            ]
            place = plus(base, arith.RemUIOp(item, constant(run)).result)
            for lesser in _lesser(entry, source, others, run, count):
                place = plus(place, lesser)
            memref.StoreOp(entry, target, [place])


def _lesser(
    entry: ir.Value, source: ir.Value, begins: Sequence[ir.Value], run: int, count: int
) -> list[ir.Value]:
    """How many entries of each run are less, by bisection of all of them at once."""
    firsts = [_short(begin) for begin in begins]
    ends = [_short(_at_most(plus(begin, run), count)) for begin in begins]

    def halved(level: ir.Value, found: Sequence[ir.Value]) -> list[ir.Value]:
        length = arith.ShRUIOp(_number(run), _short(level)).result
        return [next_of(*known, length) for known in zip(firsts, ends, found, strict=True)]

    def next_of(first: ir.Value, end: ir.Value, found: ir.Value, length: ir.Value) -> ir.Value:
        more = arith.AddIOp(found, length).result
        last = arith.SubIOp(arith.AddIOp(first, more).result, _number(1)).result
        place = arith.MinUIOp(last, _number(count - 1)).result
        known = memref.LoadOp(source, [arith.IndexCastOp(ir.IndexType.get(), place).result]).result
        inside = arith.CmpIOp(arith.CmpIPredicate.ult, last, end).result
        takes = arith.AndIOp(inside, _is_less(known, entry)).result
        return arith.SelectOp(takes, more, found).result

    found = carried_loop(0, run.bit_length(), 1, [_number(0)] * len(begins), halved)
    return [arith.IndexCastOp(ir.IndexType.get(), value).result for value in found]


def _number(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IntegerType.get_signless(32), value).result


def _short(value: ir.Value) -> ir.Value:
    return arith.IndexCastOp(ir.IntegerType.get_signless(32), value).result


def _is_less(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.CmpIOp(arith.CmpIPredicate.slt, left, right).result


def _at_most(value: ir.Value, bound: int) -> ir.Value:
    return arith.MinUIOp(value, constant(bound)).result


def _map_walk(updates: Updates, entries: ir.Value) -> None:
    """The updates: a thread for each chain and column."""
    columns = [c.extent for c in updates.columns]
    is_many = updates.count * prod(columns) >= MANY
    places = PLACES if is_many else 1
    items = -(-updates.count // places)
    total = items * prod(columns)
    with launch(-(-total // THREADS), THREADS) as kernel:
        item, *point = delinearized(linear_thread(kernel), [items, *columns])
        with only_if(_inside(kernel, total)):
            loop = scf.ForOp(item, constant(updates.count), constant(items))
            with ir.InsertionPoint(loop.body):
                _walk(updates, entries, loop.induction_variable, point)
                scf.YieldOp([])


def _inside(kernel: Launch, total: int) -> ir.Value | None:
    is_full = total == kernel.blocks * kernel.threads
    return None if is_full else below(linear_thread(kernel), total)


def _walk(updates: Updates, entries: ir.Value, place: ir.Value, point: Sequence[ir.Value]) -> None:
    """The updates of a column from a place on that follow one another, if it is the first."""
    index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)

    def entry_at(at: ir.Value) -> ir.Value:
        return memref.LoadOp(entries, [_at_most(at, updates.count - 1)]).result

    def key(entry: ir.Value) -> ir.Value:
        return arith.ShRSIOp(entry, arith.ConstantOp(i64, _BITS).result).result

    first = entry_at(place)
    before = arith.SubIOp(place, constant(1)).result  # of the first one: the last
    is_new = arith.CmpIOp(arith.CmpIPredicate.ne, key(entry_at(before)), key(first)).result
    is_begin = arith.CmpIOp(arith.CmpIPredicate.eq, place, constant(0)).result
    with only_if(arith.OrIOp(is_new, is_begin).result):
        loop = scf.WhileOp([index, i64], [place, first])
        test = loop.before.blocks.append(index, i64)
        with ir.InsertionPoint(test):
            at, entry = test.arguments
            same = arith.CmpIOp(arith.CmpIPredicate.eq, key(entry), key(first)).result
            more = arith.AndIOp(same, below(at, updates.count)).result
            scf.ConditionOp(more, [at, entry])
        body = loop.after.blocks.append(index, i64)
        with ir.InsertionPoint(body):
            at, entry = body.arguments
            following = plus(at, constant(1))
            known = entry_at(following)  # on its way while the update is made
            low = arith.ConstantOp(i64, (1 << _BITS) - 1).result
            update = arith.IndexCastOp(index, arith.AndIOp(entry, low).result).result
            make_update(updates, update, point)
            scf.YieldOp([following, known])
