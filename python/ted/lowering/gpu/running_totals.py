"""Loops over time in which each point joins a total with a value: found in the code of a step.

Before: `for t { for p { h[t + 1, p] = h[t, p] + x[t + 1, p] } }`
After: a `RunningTotal`: what joins (+), the value x at a time and point, and the step as code that
takes the total from a register

Since what joins is associative, the totals of stretches of time can be made apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ted.lowering.gpu.addresses import Address, address_of
from ted.lowering.gpu.combining import Combiner, combiner_of_operation
from ted.lowering.gpu.nest_points import Counter, candidates, chain_of
from ted.lowering.loops import PARALLEL
from ted.mlir import arith, ir
from ted.schedules.memory_roots import VIEWS, root
from ted.schedules.walking import constant_of, defining

_PURE = ("arith.", "affine.", "math.")


@dataclass(frozen=True)
class _Product(Combiner):
    """Products of stretches of time, which may leave the range that the products from 0 on keep.

    So those of f32 are made in f64; and 0 times what is too large is 0.
    """

    def join(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Both products in one."""
        product = arith.MulFOp(left, right).result
        is_bad = arith.CmpFOp(arith.CmpFPredicate.UNO, product, product).result
        is_good = arith.CmpFOp(arith.CmpFPredicate.ORD, left, right).result
        zero = arith.ConstantOp(self.kind, 0.0).result
        return arith.SelectOp(arith.AndIOp(is_bad, is_good).result, zero, product).result


def _of_stretches(combiner: Combiner) -> Combiner:
    """What joins the totals of stretches, where `combiner` joins values one after the other."""
    if combiner.operation != "arith.mulf":
        return combiner
    is_single = isinstance(combiner.kind, ir.F32Type)
    return _Product("arith.mulf", ir.F64Type.get() if is_single else combiner.kind)


@dataclass(frozen=True)
class RunningTotal:
    """The loop over time, the loops over points, and the operations of a step in their order.

    `before` are the loads of the total of the step before, `known` are loads of what the step has
    stored, `joined` is the operation that makes the new total of it, `combiner` joins totals of
    stretches of time.
    """

    time: Counter
    points: tuple[Counter, ...]
    body: tuple[ir.Operation, ...]
    before: tuple[ir.Operation, ...]
    known: dict[ir.Value, ir.Value]
    joined: ir.Operation
    combiner: Combiner
    address: Address  # of the new total

    @property
    def steps(self) -> int:
        """Steps of time."""
        return self.time.extent

    @property
    def extents(self) -> list[int]:
        """Points, as a box."""
        return [c.extent for c in self.points]

    def start(self, dims: Sequence[ir.Value], first: ir.Value) -> ir.Value:
        """The total before the first step."""
        total = self.before[0].results[0]
        return self._wide(self._copied(self._needed([total]), dims, first, {})[total])

    def value(self, dims: Sequence[ir.Value], time: ir.Value) -> ir.Value:
        """What a step joins to the total, as a total of its own."""
        operands = list(self.joined.operands)
        mine = [o for o in operands if not self._is_total(o)]
        known = self._copied(self._needed(mine), dims, time, {})
        identity = replace(self.combiner, kind=self.joined.results[0].type).identity()
        copy = self.joined.clone().operation
        for k, operand in enumerate(operands):
            copy.operands[k] = identity if self._is_total(operand) else known.get(operand, operand)
        return self._wide(copy.results[0])

    def _wide(self, value: ir.Value) -> ir.Value:
        kind = self.combiner.kind
        return value if value.type == kind else arith.ExtFOp(kind, value).result

    def narrowed(self, value: ir.Value) -> ir.Value:
        """The total of a stretch as what a step takes."""
        kind = self.joined.results[0].type
        return value if value.type == kind else arith.TruncFOp(kind, value).result

    def step(self, dims: Sequence[ir.Value], time: ir.Value, total: ir.Value) -> ir.Value:
        """The step, with all that it stores; returns the new total."""
        given = {load.results[0]: total for load in self.before}
        return self._copied(self.body, dims, time, given)[self.joined.results[0]]

    def _is_total(self, value: ir.Value) -> bool:
        value = self.known.get(value, value)
        return value in [load.results[0] for load in self.before]

    def _needed(self, values: Sequence[ir.Value]) -> list[ir.Operation]:
        """The operations of the body that some values need, in order."""
        found: set[ir.Operation] = set()

        def need(value: ir.Value) -> None:
            op = defining(self.known.get(value, value))
            if op is not None and op in self.body and op not in found:
                found.add(op)
                for operand in op.operands:
                    need(operand)

        for value in values:
            need(value)
        return [op for op in self.body if op in found]

    def _copied(
        self,
        operations: Sequence[ir.Operation],
        dims: Sequence[ir.Value],
        time: ir.Value,
        given: dict[ir.Value, ir.Value],
    ) -> dict[ir.Value, ir.Value]:
        """Copy operations of the body here; what became of their values."""
        found = dict(given)
        found[self.time.value] = time
        found.update(zip((c.value for c in self.points), dims, strict=True))
        for op in operations:
            if len(op.results) and op.results[0] in given:
                continue
            if len(op.results) and op.results[0] in self.known:
                stored = self.known[op.results[0]]
                found[op.results[0]] = found.get(stored, stored)
                continue
            copy = op.clone().operation
            for k, operand in enumerate(op.operands):
                copy.operands[k] = found.get(operand, operand)
            found.update(zip(op.results, copy.results, strict=True))
        return found


def running_total_of(
    nest: Sequence[ir.Operation], temporaries: Sequence[ir.Value] = ()
) -> RunningTotal | None:
    """The running total that a nest is; None if it is, or does, something else.

    Nothing but the nest uses the `temporaries`, and no step those of another.
    """
    chain = chain_of(nest, is_marked=False)
    serial = [c for c in chain if PARALLEL not in c.loop.attributes]
    if len(serial) != 1 or len(chain) < len(candidates(nest, is_marked=False)):
        return None
    if any(constant_of(b) is None for c in chain for b in list(c.loop.operands)[:2]):
        return None
    body = _body(chain)
    if body is None:
        return None
    points = tuple(c for c in chain if c != serial[0])
    return _Step(serial[0], points, body, temporaries).found()


def _body(chain: Sequence[Counter]) -> list[ir.Operation] | None:
    """The operations of a step; None where they are not all made once a step."""
    loops, found = [c.loop for c in chain], []
    for loop in loops:
        for op in [o.operation for o in loop.regions[0].blocks[0].operations][:-1]:
            if op in loops:
                continue
            is_plain = op.name in ("memref.load", "memref.store", *VIEWS)
            if len(op.regions) or not (is_plain or op.name.startswith(_PURE)):
                return None
            found.append(op)
    return found


class _Step:
    """The operations of a step, and what is found out about them."""

    def __init__(
        self,
        time: Counter,
        points: tuple[Counter, ...],
        body: Sequence[ir.Operation],
        temporaries: Sequence[ir.Value],
    ) -> None:
        self.time, self.points, self.body = time, points, list(body)
        self.temporaries = temporaries
        self.loads = [op for op in body if op.name == "memref.load"]
        self.stores = [op for op in body if op.name == "memref.store"]
        self.places = {op: address_of(op) for op in (*self.loads, *self.stores)}
        self.written = {root(s.operands[1]) for s in self.stores}

    def found(self) -> RunningTotal | None:
        """The running total; None if the step is something else."""
        if any(self.places[s] is None for s in self.stores):
            return None
        kept = [s for s in self.stores if root(s.operands[1]) not in self.temporaries]
        for store in kept:
            place = self.places[store]
            assert place is not None, "tested above"
            if not place.step(self.time.value):  # each step stores it again
                return None
        known = self._known()
        totals = [self._total(store, known) for store in kept]
        return next((t for t in totals if t is not None), None)

    def _known(self) -> dict[ir.Value, ir.Value]:
        """What loads of elements that the step has stored give."""
        latest: dict[Address, ir.Value] = {}
        known: dict[ir.Value, ir.Value] = {}
        for op in self.body:
            place = self.places.get(op)
            if op.name == "memref.store" and place is not None:
                (stored, *_) = op.operands
                latest[place] = known.get(stored, stored)
            elif op.name == "memref.load" and place is not None and place in latest:
                known[op.results[0]] = latest[place]
        return known

    def _total(self, store: ir.Operation, known: dict[ir.Value, ir.Value]) -> RunningTotal | None:
        """The running total that a store keeps."""
        place = self.places[store]
        assert place is not None, "stores have known places"
        earlier = replace(place, constant=place.constant - place.step(self.time.value))
        before = [op for op in self.loads if self.places[op] == earlier]
        rest = [op for op in self.loads if op not in before and op.results[0] not in known]
        others = [s for s in self.stores if s != store and root(s.operands[1]) == place.memory]
        for load in rest:
            if root(load.operands[0]) in self.written and self.places[load] != place:
                return None
        if not before or others:
            return None
        joined = self._joined(store, {load.results[0] for load in before}, known)
        if joined is None:
            return None
        body = [
            op for op in self.body
            if op not in self.stores or root(op.operands[1]) not in self.temporaries
        ]  # fmt: skip
        op, combiner = joined
        return RunningTotal(
            self.time, self.points, tuple(body), tuple(before), known, op,
            _of_stretches(combiner), place,
        )  # fmt: skip

    def _joined(
        self, store: ir.Operation, totals: set[ir.Value], known: dict[ir.Value, ir.Value]
    ) -> tuple[ir.Operation, Combiner] | None:
        """The operation that joins a value to the total of the step before, and nothing else."""
        (stored, *_) = store.operands
        op = defining(known.get(stored, stored))
        if op is None or op not in self.body or len(op.operands) != 2:
            return None
        sides = [known.get(o, o) in totals for o in op.operands]
        if sum(sides) != 1 or self._depends(op.operands[sides.index(False)], totals, known):
            return None
        combiner = combiner_of_operation(op, is_left=sides[0])
        return None if combiner is None else (op, combiner)

    def _depends(
        self, value: ir.Value, totals: set[ir.Value], known: dict[ir.Value, ir.Value]
    ) -> bool:
        """Whether the total of the step before is needed for a value."""
        left, seen = [value], set[ir.Operation]()
        while left:
            last = left.pop()
            last = known.get(last, last)
            if last in totals:
                return True
            op = defining(last)
            if op is not None and op in self.body and op not in seen:
                seen.add(op)
                left += list(op.operands)
        return False
