"""Many updates of few elements -> copies of the result that warps have to themselves.

Before: `for s { out[index[s]] = out[index[s]] + g[s] }`
After: each warp takes a run of updates, and makes them in a copy of its own in shared memory; the
copies of a block are joined into a buffer, and those of all blocks into the result.

Lanes take updates that follow each other; those that meet at one element go one after the other.
Where the result has long rows, lanes take the columns of one update instead. So a copy gets its
terms in the order of the program, and how copies are joined depends on shapes only.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ted.gpu.bodies import Values, work_of
from ted.gpu.collapsing import collapsed
from ted.gpu.cooperative_groups import Team
from ted.gpu.launching import Launch, launch, only_if
from ted.gpu.points import below, delinearized, linearized, plus, times
from ted.gpu.reductions import map_reduction
from ted.gpu.updates import Updates, make_update
from ted.machine import FULL_WARPS, SHARED_BUDGET, WARP
from ted.mlir import arith, ir, linalg, memref, nvvm, scf
from ted.mlir.building import constant
from ted.mlir.combining import Combiner, combiner_of
from ted.mlir.generic import empty_generic
from ted.mlir.queries import defining
from ted.mlir.scalars import byte_width
from ted.records import dataclass

MOST_PARTS = 16  # of a copy that does not fit: each looks at every update
MOST_WARPS = 8  # of a block
WORKSPACE = 32 << 20  # bytes of all copies, unless twice the result is more
AT_ONCE = 4  # updates whose values are read before the first of them is made


@dataclass(frozen=True)
class Plan:
    """How a result is cut; a function of shapes."""

    combiner: Combiner
    is_wide: bool  # lanes are columns
    parts: int
    tile: int  # elements of a part in a column
    warps: int  # of a block
    segments: int
    run: int  # updates of a warp

    @property
    def lanes(self) -> int:
        """Columns of a copy."""
        return WARP if self.is_wide else 1

    @property
    def size(self) -> int:
        """Elements of a copy."""
        return self.tile * self.lanes


def plan_of(updates: Updates) -> Plan | None:
    """How to make copies; None where they are larger than what they save."""
    store, loads = updates.element.store, updates.element.loads
    combine = defining(store.operands[0])
    if len(loads) != 1 or combine is None or len(list(combine.results[0].uses)) != 1:
        return None
    combiner = combiner_of(loads[0].results[0], store.operands[0])
    count, bins = updates.count, updates.bins
    if combiner is None or getattr(updates.kind, "width", 8) < 8 or count < 2 * bins:
        return None
    last = len(updates.shape) - 1
    is_wide = last in updates.column_dims and updates.shape[last] >= WARP
    room = SHARED_BUDGET // (byte_width(updates.kind) * (WARP if is_wide else 1))
    parts = -(-bins // room)
    if parts > MOST_PARTS or not updates.width:
        return None
    tile = -(-bins // parts)
    least = WARP if is_wide else 4 * WARP
    warps = max(1, min(MOST_WARPS, room // tile, count // least))
    columns = updates.width * -(-updates.shape[last] // WARP) // updates.shape[last] \
        if is_wide else updates.width  # fmt: skip
    size = prod(updates.shape) * byte_width(updates.kind)
    segments = min(
        -(-FULL_WARPS // (parts * columns * warps)),
        count // (warps * least),
        max(2, WORKSPACE // size),
    )
    run = -(-count // (max(1, segments) * warps))
    return Plan(combiner, is_wide, parts, tile, warps, -(-count // (run * warps)), run)


def map_copies(updates: Updates, plan: Plan) -> None:
    """Build the kernels at the insertion point."""
    extents = [updates.shape[d] for d in (*updates.bin_dims, *updates.column_dims)]
    kind = ir.MemRefType.get([plan.segments, *extents], updates.kind)
    memory = memref.AllocOp(kind, [], []).result if plan.segments > 1 else None
    columns = [updates.shape[d] for d in updates.column_dims]
    if plan.is_wide:
        columns[-1] = -(-columns[-1] // WARP)
    counts = [plan.segments, plan.parts, *columns]
    with launch(prod(counts), plan.warps * WARP) as kernel:
        _Block(updates, plan, kernel, memory).build(delinearized(kernel.block, counts))
    if memory is not None:
        _join(updates, plan.combiner, memory)


@dataclass
class _Block:
    updates: Updates
    plan: Plan
    kernel: Launch
    memory: ir.Value | None  # of the copies of all blocks

    def build(self, numbers: Values) -> None:
        plan, team = self.plan, Team(self.kernel)
        self.segment, part, *self.columns = numbers
        self.lane = arith.RemUIOp(self.kernel.thread, constant(WARP)).result
        self.warp = arith.DivUIOp(self.kernel.thread, constant(WARP)).result
        self.first = times(part, plan.tile)
        copies = team.shared([plan.warps * plan.size], self.updates.kind)
        self._each(plan.warps * plan.size, lambda k: _set(copies, k, plan.combiner.identity()))
        team.wait()
        self._run(copies)
        team.wait()
        self._each(plan.size, lambda k: self._put(copies, k))

    def _each(self, count: int, body: Callable[[ir.Value], None]) -> None:
        loop = scf.ForOp(self.kernel.thread, constant(count), constant(self.kernel.threads))
        with ir.InsertionPoint(loop.body):
            body(loop.induction_variable)
            scf.YieldOp([])

    def _run(self, copies: ir.Value) -> None:
        """The updates of the warp; all its lanes come along to the end."""
        plan, count = self.plan, self.updates.count
        number = plus(times(self.segment, plan.warps), self.warp)
        begin = times(number, plan.run)
        end = arith.MinUIOp(plus(begin, plan.run), constant(count)).result
        offset = times(self.warp, plan.size)
        together = AT_ONCE if plan.is_wide else 1
        slots = [_Slot(self.updates.kind) for _ in range(together)]
        step = together if plan.is_wide else WARP
        loop = scf.ForOp(begin, end, constant(step))
        with ir.InsertionPoint(loop.body):
            for k, slot in enumerate(slots):
                ahead = k if plan.is_wide else self.lane
                self._look(plus(loop.induction_variable, ahead), end, slot)
            for slot in slots:
                self._update(copies, offset, slot)
            scf.YieldOp([])

    def _look(self, update: ir.Value, end: ir.Value, slot: _Slot) -> None:
        """Where an update goes in this copy, and its value."""
        slot.clear(self.plan.combiner)
        inside = arith.CmpIOp(arith.CmpIPredicate.ult, update, end).result
        columns = list(self.columns)
        if self.plan.is_wide:
            columns[-1] = plus(times(columns[-1], WARP), self.lane)
            is_column = below(columns[-1], self.updates.columns[-1].extent)
            inside = arith.AndIOp(inside, is_column).result
        with only_if(inside):
            make_update(self.updates, update, columns, lambda here: self._redirect(here, slot))

    def _redirect(self, here: Updates, slot: _Slot) -> None:
        """What is to be combined goes to a slot, and nothing to the result."""
        store, (load,) = here.element.store, here.element.loads
        combine = _combine(here)
        value = next(v for v in combine.operands if v != load.results[0])
        with ir.InsertionPoint(store), store.location:
            place = list(store.operands)[2:]
            bins = linearized([place[d] for d in here.bin_dims], self._extents())
            at = arith.SubIOp(bins, self.first).result
            with only_if(below(at, self.plan.tile)):
                slot.fill(at, value)
        for op in (store, combine, load):
            op.erase()

    def _update(self, copies: ir.Value, offset: ir.Value, slot: _Slot) -> None:
        key, value = slot.read()

        def make(at: ir.Value) -> None:
            place = plus(times(at, self.plan.lanes), offset)
            if self.plan.is_wide:
                place = plus(place, self.lane)
            old = memref.LoadOp(copies, [place]).result
            memref.StoreOp(self._combined(old, value), copies, [place])

        if self.plan.is_wide:
            none = arith.ConstantOp(key.type, -1).result
            with only_if(arith.CmpIOp(arith.CmpIPredicate.ne, key, none).result):
                make(arith.IndexCastOp(ir.IndexType.get(), key).result)
            return
        in_turns(key, self.lane, make)

    def _combined(self, old: ir.Value, value: ir.Value) -> ir.Value:
        (load,) = self.updates.element.loads
        combine = _combine(self.updates)
        copy = combine.clone().operation
        for k, operand in enumerate(combine.operands):
            copy.operands[k] = old if operand == load.results[0] else value
        return copy.results[0]

    def _put(self, copies: ir.Value, number: ir.Value) -> None:
        """The copies of the block joined at an element of them."""
        plan, columns = self.plan, list(self.columns)
        combiner, total = plan.combiner, memref.LoadOp(copies, [number]).result
        for k in range(1, plan.warps):
            place = plus(number, k * plan.size)
            total = combiner.join(total, memref.LoadOp(copies, [place]).result)
        at, lane = delinearized(number, [plan.tile, plan.lanes])
        at = plus(self.first, at)
        inside = below(at, self.updates.bins)
        if plan.is_wide:
            columns[-1] = plus(times(columns[-1], WARP), lane)
            is_column = below(columns[-1], self.updates.columns[-1].extent)
            inside = arith.AndIOp(inside, is_column).result
        with only_if(inside):
            bins = delinearized(at, self._extents())
            if self.memory is not None:
                memref.StoreOp(total, self.memory, [self.segment, *bins, *columns])
                return
            dims = (*self.updates.bin_dims, *self.updates.column_dims)
            known = dict(zip(dims, [*bins, *columns], strict=True))
            place = [known[d] for d in range(len(known))]
            old = memref.LoadOp(self.updates.target, place).result
            memref.StoreOp(combiner.join(old, total), self.updates.target, place)

    def _extents(self) -> list[int]:
        return [self.updates.shape[d] for d in self.updates.bin_dims]


def _combine(updates: Updates) -> ir.Operation:
    """The operation that makes the new value of the element."""
    combine = defining(updates.element.store.operands[0])
    assert combine is not None, "planned for"
    return combine


class _Slot:
    """A register of each lane for an element (-1: none) and what to combine it with."""

    def __init__(self, kind: ir.Type) -> None:
        i32 = ir.IntegerType.get_signless(32)
        self.key, self.value = (
            memref.AllocaOp(ir.MemRefType.get([1], k), [], []).result for k in (i32, kind)
        )

    def clear(self, combiner: Combiner) -> None:
        none = arith.ConstantOp(ir.IntegerType.get_signless(32), -1).result
        _set(self.key, constant(0), none)
        _set(self.value, constant(0), combiner.identity())

    def fill(self, at: ir.Value, value: ir.Value) -> None:
        _set(self.key, constant(0), arith.IndexCastOp(ir.IntegerType.get_signless(32), at).result)
        _set(self.value, constant(0), value)

    def read(self) -> tuple[ir.Value, ir.Value]:
        key, value = (memref.LoadOp(m, [constant(0)]).result for m in (self.key, self.value))
        return key, value


def _set(memory: ir.Value, place: ir.Value, value: ir.Value) -> None:
    memref.StoreOp(value, memory, [place])


def _join(updates: Updates, combiner: Combiner, memory: ir.Value) -> None:
    """Join the copies of all blocks, and what the result held."""
    rank = len(updates.shape)
    order = [*updates.bin_dims, *updates.column_dims]
    place = [ir.AffineExpr.get_dim(1 + order.index(d)) for d in range(rank)]
    maps = [ir.AffineMap.get_identity(rank + 1), ir.AffineMap.get(rank + 1, 0, place)]
    made = empty_generic([memory], [updates.target], maps, [True, *[False] * rank])
    block = made.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        value, total = block.arguments
        linalg.YieldOp([combiner.join(total, value)])
    work = work_of(made)
    assert work is not None, "a generic over memory"
    map_reduction(collapsed(work))
    made.erase()


# ------------------------------------------------------------------ conflicts


def in_turns(key: ir.Value, lane: ir.Value, make: Callable[[ir.Value], None]) -> None:
    """Call `make(key)` on each lane; lanes with the same key wait for the lower ones.

    All lanes of the warp come here; those with key -1 have nothing to do.  There are rounds, in
    which the keys of the lanes that go differ; what a lane has written is there for those after it.
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
